/** Each law sees what breaks it, in a log that is otherwise as an engine wrote it. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkLog } from '../../../src/journal/check/check-log.ts'
import { checkTree } from '../../../src/journal/check/check-tree.ts'
import { createMemoryStorage } from '../../../src/journal/memory-storage.ts'
import { readEntries } from '../../../src/journal/read-entries.ts'

const FOLDER = path.resolve(import.meta.dirname, '../../replay/histories')
const textOf = (name: string): string => readFileSync(path.join(FOLDER, name), 'utf8')
const LEFT = 'parallel-children/subagents/agent-a0000000000000006.jsonl'

const entriesOf = (text: string) =>
  readEntries(createMemoryStorage({ files: new Map([['/log.jsonl', text]]) }), '/log.jsonl')

const tree = (root: string, child: string) =>
  checkTree([
    { path: 'root', entries: entriesOf(root) },
    { path: 'child', entries: entriesOf(child) },
  ])

describe('one log', () => {
  it.each([
    [
      'order',
      'one-answer.jsonl',
      (text: string) => text.replace('"run":1,"machine"', '"run":2,"machine"'),
      /run 2 starts where run 1 is next/,
    ],
    ['ends', 'one-answer.jsonl', (text: string) => text.replace('"turns":1', '"turns":2'), /says turns 2/],
    [
      'ends',
      'one-answer.jsonl',
      (text: string) => text.replace(/("totalUsage":\{"input_tokens":)\d+/, '$177'),
      /says totalUsage/,
    ],
    [
      'ends',
      'one-answer.jsonl',
      (text: string) => text.replace(/("type":"agent.prepared",)/, '$1"review":true,'),
      /without the review/,
    ],
    [
      'pairing',
      'a-tool-call.jsonl',
      (text: string) => text.replace(/"tool_use_id":"[^"]+"/, '"tool_use_id":"other"'),
      /names other/,
    ],
    [
      'chain',
      'a-tool-call.jsonl',
      (text: string) => text.replace(/("parentUuid":")[^"]+"/, '$1elsewhere"'),
      /hangs on elsewhere/,
    ],
    [
      'told once',
      'parallel-children.jsonl',
      (text: string) => text.replace(/("delivered":\{"agentId":"a000000000000000)7/, '$16'),
      /told twice|tells the end of/,
    ],
  ])('breaks the law of %s: %s', async (law, name, edit, reason) => {
    const text = textOf(name)
    const edited = edit(text)
    expect(edited).not.toBe(text)
    expect((await checkLog(entriesOf(text))).violation).toBeUndefined()
    const { violation } = await checkLog(entriesOf(edited))
    expect(violation).toMatchObject({ law })
    expect(violation?.reason).toMatch(reason)
  })
})

describe('a run that ends from a later step of settling', () => {
  const logOf = (...lines: readonly object[]): string => {
    const text = textOf('one-answer.jsonl').trimEnd().split('\n')
    const end = JSON.parse(text.at(-1) ?? '')
    const all = [
      ...text.slice(0, -1).map((line) => JSON.parse(line)),
      ...lines.map((event) => ({ ...end, event })),
      end,
    ]
    let seq = -1
    return all.map((line) => `${JSON.stringify({ ...line, seq: ++seq })}\n`).join('')
  }

  it.each<[string, readonly object[]]>([
    ['its stop hooks', [{ type: 'run.drained' }]],
    ['its stop hooks, which were left', [{ type: 'run.drained' }, { type: 'kill.requested', by: 'x' }]],
  ])('%s, is lawful', async (_, lines) => {
    expect((await checkLog(entriesOf(logOf(...lines)))).violation).toBeUndefined()
  })

  it('behind its review is lawful', async () => {
    const text = textOf('reviewed-children.jsonl')
    expect((await checkLog(entriesOf(text))).violation).toBeUndefined()
  })

  it('in front of the review that it owes is lawful, and neither without its word nor reviewed twice', async () => {
    const text = textOf('deferred-reviews/subagents/agent-a0000000000000006.jsonl')
    const lines = text.trimEnd().split('\n')
    const verdict = JSON.parse(lines.at(-1) ?? '')
    const violationOf = async (log: string) => (await checkLog(entriesOf(log))).violation?.reason
    expect(await violationOf(text)).toBeUndefined()
    expect(await violationOf(`${lines.slice(0, -1).join('\n')}\n`)).toBeUndefined()
    expect(await violationOf(text.replace(',"review":"owed"', ''))).toMatch(/says review undefined/)
    const twice = `${text}${JSON.stringify({ ...verdict, seq: verdict.seq + 1 })}\n`
    expect(await violationOf(twice)).toMatch(/recorded already/)
  })
})

describe('two logs of a session', () => {
  it('are lawful as an engine wrote them', async () => {
    const logs = await tree(textOf('parallel-children.jsonl'), textOf(LEFT))
    expect(logs.map(({ violation }) => violation)).toEqual([undefined, undefined])
  })

  it.each([
    [
      'a child that its parent does not name',
      (text: string) => text.replaceAll('a0000000000000006', 'a0000000000000009'),
      /does not name it/,
    ],
    [
      'a child that is born too early',
      (text: string) => text.replace('2026-11-30', '2026-11-29'),
      /born before/,
    ],
    [
      'an end that has not come',
      (text: string) => `${text.trimEnd().split('\n').slice(0, -1).join('\n')}\n`,
      /which has none/,
    ],
  ])('show %s', async (_, edit, reason) => {
    const logs = await tree(textOf('parallel-children.jsonl'), edit(textOf(LEFT)))
    const found = logs.flatMap(({ violation }) => violation ?? [])
    expect(found.map(({ law }) => law)).toContain('tree')
    expect(found.map(({ reason: said }) => said).join('; ')).toMatch(reason)
  })
})
