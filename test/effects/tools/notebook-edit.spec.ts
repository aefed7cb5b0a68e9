import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { hashOf } from '../../../src/effects/tools/file-access.ts'
import { elementSpans, memberSpan } from '../../../src/effects/tools/json-spans.ts'
import { type NotebookEditInput, notebookEditTool } from '../../../src/effects/tools/notebook-edit.ts'
import { type CellChange, changeCell } from '../../../src/effects/tools/notebook-text.ts'
import { readTool } from '../../../src/effects/tools/read.ts'
import { createWorkbench, type Workbench } from './workbench.ts'

let bench: Workbench
beforeEach(async () => {
  bench = await createWorkbench()
})
afterEach(() => bench.dispose())

/** As Jupyter saves it: one blank per level, keys in order, odd members kept by whoever wrote them. */
const NOTEBOOK = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": [
    "# Title\\n",
    "text"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 7,
   "id": "work",
   "metadata": {"tags":   ["odd  spacing"]},
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "] } \\" out\\n"
     ]
    }
   ],
   "source": [
    "print(1)"
   ]
  }
 ],
 "metadata": {"kernelspec": {"name":"python3"} , "x": 1.50e+2},
 "nbformat": 4,
 "nbformat_minor": 5
}
`

async function edit(input: Omit<NotebookEditInput, 'notebook_path'>, text = NOTEBOOK) {
  await bench.put('n.ipynb', text)
  await bench.call(readTool, { file_path: 'n.ipynb' })
  const output = await bench.call(notebookEditTool, { notebook_path: 'n.ipynb', ...input })
  return { output, text: await bench.get('n.ipynb') }
}

describe('replacing a cell', () => {
  it('changes its source, drops what it had put out, and keeps every other byte', async () => {
    const { output, text } = await edit({ cell_id: 'work', new_source: 'a = 1\nprint(a)\n' })
    const expected = NOTEBOOK.replace('"execution_count": 7', '"execution_count": null')
      .replace(/"outputs": \[\n {4}\{[\s\S]*?\n {4}\}\n {3}\]/, '"outputs": []')
      .replace('[\n    "print(1)"\n   ]', '[\n    "a = 1\\n",\n    "print(a)\\n"\n   ]')
    expect(text).toBe(expected)
    expect(output).toEqual({
      content: `Replaced cell 1 (work) in ${join(bench.cwd, 'n.ipynb')}.`,
      structured: {
        ...{
          notebook_path: join(bench.cwd, 'n.ipynb'),
          new_source: 'a = 1\nprint(a)\n',
          edit_mode: 'replace',
        },
        ...{ cell_id: 'work', cell_type: 'code', cell_number: 1 },
      },
      files: [{ path: join(bench.cwd, 'n.ipynb'), hash: hashOf(Buffer.from(expected)) }],
    })
  })

  it('keeps the way in which the source and the file are written', async () => {
    const compact = '{"nbformat":4,"cells":[{"source":"x","cell_type":"raw","metadata":{}}],"metadata":{}}'
    const { text } = await edit({ cell_number: 0, new_source: 'y\nz' }, compact)
    expect(text).toBe(compact.replace('"x"', '"y\\nz"'))
    const crlf = NOTEBOOK.replaceAll('\n', '\r\n')
    const changed = (await edit({ cell_number: 0, new_source: 'a\nb' }, crlf)).text
    expect(changed).toBe(crlf.replace('"# Title\\n"', '"a\\n"').replace('"text"', '"b"'))
  })

  it('makes another type of it, with the members of that type', async () => {
    const { text } = await edit({ cell_id: 'work', new_source: '# now text', cell_type: 'markdown' })
    const [, cell] = JSON.parse(text).cells
    expect(cell).toEqual({
      ...{ cell_type: 'markdown', id: 'work', metadata: { tags: ['odd  spacing'] }, source: ['# now text'] },
    })
    expect(text.slice(0, text.indexOf('"id": "work"') - 60)).toBe(
      NOTEBOOK.slice(0, text.indexOf('"id": "work"') - 60),
    )
    const back = await edit({ cell_id: 'intro', new_source: 'x', cell_type: 'code' })
    expect(JSON.parse(back.text).cells[0]).toMatchObject({
      outputs: [],
      execution_count: null,
      source: ['x'],
    })
  })
})

describe('inserting and deleting', () => {
  it('puts a new cell behind the one named, in the form of its neighbours', async () => {
    const { text, output } = await edit({
      edit_mode: 'insert',
      cell_id: 'intro',
      cell_type: 'code',
      new_source: 'x\ny',
    })
    const at = NOTEBOOK.indexOf(',\n  {\n   "cell_type": "code"')
    expect(text.startsWith(NOTEBOOK.slice(0, at))).toBe(true)
    expect(text.endsWith(NOTEBOOK.slice(at))).toBe(true)
    const [id] = /[0-9a-f]{8}/.exec(String(output.content)) ?? []
    expect(text.slice(at, text.length - NOTEBOOK.length + at)).toBe(
      `,
  {
   "cell_type": "code",
   "execution_count": null,
   "id": "${id}",
   "metadata": {},
   "outputs": [],
   "source": [
    "x\\n",
    "y"
   ]
  }`,
    )
  })

  it('puts it first when none is named, also into a notebook without cells', async () => {
    const first = await edit({ edit_mode: 'insert', cell_type: 'markdown', new_source: '# New' })
    expect(JSON.parse(first.text).cells).toHaveLength(3)
    expect(JSON.parse(first.text).cells[0].source).toEqual(['# New'])
    const empty = '{\n "cells": [],\n "metadata": {},\n "nbformat": 4,\n "nbformat_minor": 2\n}\n'
    const { text } = await edit({ edit_mode: 'insert', cell_type: 'raw', new_source: 'x' }, empty)
    expect(JSON.parse(text).cells).toEqual([{ cell_type: 'raw', metadata: {}, source: ['x'] }])
    expect(text).toContain('[\n  {\n   "cell_type"')
    expect(text.endsWith(empty.slice(empty.indexOf('],')))).toBe(true)
  })

  it.each([
    ['the first', 0],
    ['the last', 1],
  ])('takes %s out with its comma', async (_, cell_number) => {
    const { text } = await edit({ edit_mode: 'delete', cell_number })
    const { cells, ...rest } = JSON.parse(NOTEBOOK)
    expect(JSON.parse(text)).toEqual({ cells: cells.toSpliced(cell_number, 1), ...rest })
    expect(text.endsWith(NOTEBOOK.slice(NOTEBOOK.indexOf('\n ],\n "metadata"')))).toBe(true)
  })

  it('of all cells leaves an empty list', async () => {
    const one = '{"cells":[ {"cell_type":"raw","metadata":{},"source":""} ],"nbformat":4,"metadata":{}}'
    expect((await edit({ edit_mode: 'delete', cell_number: 0 }, one)).text).toBe(
      '{"cells":[],"nbformat":4,"metadata":{}}',
    )
  })
})

describe('a call that cannot be done', () => {
  it.each<[string, Omit<NotebookEditInput, 'notebook_path'>, string | undefined, RegExp]>([
    ['no such id', { cell_id: 'nope', new_source: '' }, undefined, /no cell with id "nope"/],
    ['no such number', { cell_number: 2, new_source: '' }, undefined, /no cell 2: the notebook has 2/],
    ['no cell named', { new_source: '' }, undefined, /Name the cell/],
    ['two names', { cell_id: 'work', cell_number: 1, new_source: '' }, undefined, /not both/],
    ['no source', { cell_id: 'work' }, undefined, /new_source is missing/],
    ['a new cell of no type', { edit_mode: 'insert', new_source: '' }, undefined, /needs cell_type/],
    ['a file that is no JSON', { cell_number: 0, new_source: '' }, '{"cells": [', /not valid JSON/],
    ['a file that is no notebook', { cell_number: 0, new_source: '' }, '[1]', /no Jupyter notebook/],
    ['an old format', { cell_number: 0, new_source: '' }, '{"cells":[],"nbformat":3}', /has format 3/],
    ['bytes that are no text', { cell_number: 0, new_source: '' }, '\ud800', /not valid JSON|not UTF-8/],
  ])('is refused in words and changes nothing: %s', async (_, input, text, message) => {
    const { output, text: after } = await edit(input, text)
    expect(output.isError).toBe(true)
    expect(output.content).toMatch(message)
    expect(Buffer.from(after)).toEqual(Buffer.from(text ?? NOTEBOOK))
  })

  it('is refused for other files, for none, and for one that was not read', async () => {
    await bench.put('a.json', NOTEBOOK)
    await bench.put('n.ipynb', NOTEBOOK)
    const call = (notebook_path: string) =>
      bench.call(notebookEditTool, { notebook_path, cell_number: 0, new_source: 'x' })
    await bench.call(readTool, { file_path: 'a.json' })
    expect((await call('a.json')).content).toMatch(/no notebook/)
    expect((await call('m.ipynb')).content).toMatch(/does not exist/)
    expect((await call('n.ipynb')).content).toMatch(/have not read it/)
    expect((await call('../outside/n.ipynb')).content).toMatch(/is outside/)
  })
})

it('does its work once by its intent, also when a crash came in between', async () => {
  await bench.put('n.ipynb', NOTEBOOK)
  await bench.call(readTool, { file_path: 'n.ipynb' })
  const input = { notebook_path: 'n.ipynb', edit_mode: 'insert', cell_type: 'raw', new_source: 'x' } as const
  const intent = await notebookEditTool.intend?.(input, bench.context())
  await notebookEditTool.run(input, bench.context({ intent }))
  const once = await bench.get('n.ipynb')
  const again = await notebookEditTool.run(input, bench.context({ intent, isRepeat: true }))
  expect(again.content).toMatch(/^Inserted the cell in /)
  expect(await bench.get('n.ipynb')).toBe(once)
})

describe('properties', () => {
  const cell = fc.record(
    {
      cell_type: fc.constantFrom('code', 'markdown', 'raw'),
      id: fc.uuid(),
      metadata: fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 2 }),
      source: fc.oneof(fc.string(), fc.array(fc.string(), { maxLength: 3 })),
      outputs: fc.array(fc.jsonValue({ maxDepth: 2 }), { maxLength: 2 }),
    },
    { requiredKeys: ['cell_type', 'metadata', 'source', 'id'] },
  )
  const notebook = fc.record({
    metadata: fc.jsonValue({ maxDepth: 2 }),
    cells: fc.array(cell, { minLength: 1, maxLength: 4 }),
    nbformat: fc.constant(4),
    nbformat_minor: fc.constantFrom(4, 5),
    'ce"lls': fc.jsonValue({ maxDepth: 2 }),
  })
  const change = { cellId: undefined, cellType: 'code', seed: 's' } as const

  it('a replacement changes the one cell only, in any notebook and any layout', () => {
    const layout = fc.constantFrom(undefined, 1, 2, '\t')
    fc.assert(
      fc.property(notebook, layout, fc.nat(), fc.string(), (data, indent, number, source) => {
        const text = JSON.stringify(data, null, indent)
        const cellNumber = number % data.cells.length
        const wanted: CellChange = { ...change, mode: 'replace', cellNumber, source, cellType: undefined }
        const changed = changeCell(text, wanted).text
        const parsed = JSON.parse(changed)
        const { source: now } = parsed.cells[cellNumber]
        expect([now].flat().join('')).toBe(source)
        const spans = (of: string) => elementSpans(of, memberSpan(of, 0, 'cells')?.start ?? 0)
        const [before, after] = [spans(text)[cellNumber], spans(changed)[cellNumber]]
        expect(changed.slice(0, after?.start)).toBe(text.slice(0, before?.start))
        expect(changed.slice(after?.end)).toBe(text.slice(before?.end))
      }),
      { numRuns: 150 },
    )
  })

  it('what is inserted and deleted again leaves the data as it was', () => {
    fc.assert(
      fc.property(notebook, fc.nat(), (data, number) => {
        const text = JSON.stringify(data, null, 1)
        const cellNumber = number % data.cells.length
        const inserted = changeCell(text, { ...change, mode: 'insert', cellNumber, source: 'x' })
        const deleted = changeCell(inserted.text, {
          ...{ ...change, mode: 'delete', cellNumber: inserted.at, source: '' },
        })
        expect(JSON.parse(inserted.text).cells).toHaveLength(data.cells.length + 1)
        expect(deleted.text).toBe(text)
      }),
      { numRuns: 100 },
    )
  })

  it('a notebook nested without end is changed or refused, never a fault', () => {
    const deep = `{"cells":[{"cell_type":"raw","metadata":${'['.repeat(5000)}${']'.repeat(5000)},"source":""}],"nbformat":4}`
    const wanted = { ...change, mode: 'replace', cellNumber: 0, source: 'x', cellType: undefined } as const
    expect(changeCell(deep, wanted).text).toBe(deep.replace('"source":""', '"source":"x"'))
  })
})
