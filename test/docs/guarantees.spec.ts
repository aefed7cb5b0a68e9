/** `docs/guarantees.md` names tests and faults. What it names must be there, and each law must be held by something. */
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { FAULTS } from '../simulation/faults/index.ts'
import { LAWS } from '../simulation/laws/index.ts'

const root = path.resolve(import.meta.dirname, '../..')
const guide = readFileSync(path.join(root, 'docs/guarantees.md'), 'utf8')

interface Section {
  readonly law: number
  readonly title: string
  readonly text: string
}

const sections: readonly Section[] = guide.split(/^(?=## )/m).flatMap((text) => {
  const heading = /^## (\d+)\. (.+)$/m.exec(text)
  return heading === null ? [] : [{ law: Number(heading[1]), title: heading[2] ?? '', text }]
})

/** The lines «- `test/….spec.ts`: «title», «title»» of a text. */
function testsIn(text: string): readonly { readonly file: string; readonly titles: readonly string[] }[] {
  return [...text.matchAll(/^- `(test\/[^`]+\.spec\.ts)`: (.+)$/gm)].map(([, file = '', rest = '']) => ({
    file,
    titles: [...rest.matchAll(/«([^»]+)»/g)].map(([, title]) => title ?? ''),
  }))
}

/** The titles of a file's tests: every text that a call takes as its first argument. Placeholders stay as they are written. */
function titlesOf(source: string): ReadonlySet<string> {
  const file = ts.createSourceFile('test.ts', source, ts.ScriptTarget.Latest)
  const titles = new Set<string>()
  const visit = (node: ts.Node): void => {
    const first = ts.isCallExpression(node) ? node.arguments[0] : undefined
    if (first !== undefined && ts.isStringLiteral(first)) titles.add(first.text)
    else if (
      first !== undefined &&
      (ts.isTemplateExpression(first) || ts.isNoSubstitutionTemplateLiteral(first))
    )
      titles.add(first.getText(file).slice(1, -1))
    ts.forEachChild(node, visit)
  }
  visit(file)
  return titles
}

describe('the guarantees', () => {
  const named = testsIn(guide)

  it('are the laws that the simulation watches, by number and name', () => {
    // A law that is watched in two parts has one section, under the name of the first.
    const laws = LAWS.filter(
      ({ number }, i) => number > 0 && LAWS.findIndex((law) => law.number === number) === i,
    )
    expect(sections.map(({ law, title }) => [law, title.toLowerCase()])).toEqual(
      laws.map(({ number, name }) => [number, name]),
    )
  })

  it('name tests that are there, by file and title', () => {
    const gone = named.flatMap(({ file, titles }) => {
      if (!existsSync(path.join(root, file))) return [file]
      const there = titlesOf(readFileSync(path.join(root, file), 'utf8'))
      return titles.filter((title) => !there.has(title)).map((title) => `${file}: ${title}`)
    })
    expect(gone).toEqual([])
  })

  it.each(sections)('say of law $law what is promised, what is not, and by which tests', ({ text }) => {
    for (const part of ['**Promised.**', '**Not promised.**', '**Tests.**', '**Faults.**'])
      expect(text).toContain(part)
    expect(testsIn(text).flatMap(({ titles }) => titles).length).toBeGreaterThan(1)
  })

  it('leave no line of a test unread', () => {
    const lines = guide.split('\n').filter((line) => /^\s*- .*\.spec\.ts/.test(line))
    expect(named.length).toBe(lines.length)
    expect(named.filter(({ titles }) => titles.length === 0)).toEqual([])
  })

  it('name the faults that each law must find, all of them', () => {
    const byLaw = sections.map(({ law, text }) => {
      const line = /^\*\*Faults\.\*\* (.+)$/m.exec(text)?.[1] ?? ''
      return [law, [...line.matchAll(/`([^`]+)`/g)].map(([, name]) => name).toSorted()]
    })
    expect(byLaw).toEqual(
      sections.map(({ law }) => [
        law,
        FAULTS.filter((fault) => fault.law === law)
          .map(({ name }) => name)
          .toSorted(),
      ]),
    )
  })
})

describe('the reader of titles', () => {
  it('knows a title from a text, and leaves placeholders as they are written', () => {
    const placeholder = '${'.concat('N}')
    const source = [
      "it('plain', () => f(x, 'no title'))",
      "it.each([1])('of %s', () => {})",
      `it(\`${placeholder} kills\`, () => {})`,
    ]
    expect([...titlesOf(source.join('\n'))]).toEqual(['plain', 'of %s', `${placeholder} kills`])
  })
})
