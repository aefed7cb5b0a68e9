import { describe, expect, it } from 'vitest'
import type { Angle } from '../../../../src/effects/model/offline/angle.ts'
import { candidateAt, seenText } from '../../../../src/effects/model/offline/context.ts'
import { judge } from '../../../../src/effects/model/offline/findings.ts'
import { rank, type Sight, spread } from '../../../../src/effects/model/offline/rank.ts'
import { grepLines } from '../../../../src/effects/model/offline/tool-text.ts'
import { tellingWords } from '../../../../src/effects/model/offline/words.ts'

/** Lines as Grep prints them, in the order in which they are ranked. */
function ranked(question: string, lines: readonly string[], more: Partial<Sight> = {}): readonly string[] {
  const sight: Sight = { words: tellingWords(question), angle: 'definitions', ...more }
  const candidates = grepLines(lines.join('\n')).map((line) => ({ ...line, comment: [], body: [] }))
  return rank(candidates, sight).map((hit) => `${hit.path}:${hit.line}:${hit.text}`)
}

describe('the ranking', () => {
  it.each<[rule: string, question: string, lines: readonly string[], angle?: Angle]>([
    [
      'puts definitions before uses, and uses before imports',
      'where is takeOver',
      [
        'a.ts:1:export function takeOver() {',
        'a.ts:9:  const x = takeOver()',
        "a.ts:2:import { takeOver } from './b'",
      ],
    ],
    [
      'puts several words together before the same words apart',
      'where is the session lock',
      ['a.ts:1:class SessionLock {', 'a.ts:2:class FileLock {'],
    ],
    [
      'puts the exact name before its relatives',
      'where is `foldAgent`',
      ['a.ts:3:function foldAgent() {', 'a.ts:2:function foldAgents() {', 'a.ts:1:function unfoldAgent() {'],
    ],
    [
      'puts sources before tests, and tests before generated files',
      'lock',
      ['src/a.ts:1:const lock = 1', 'test/a.spec.ts:1:const lock = 1', 'dist/a.js:1:const lock = 1'],
    ],
    [
      'puts documents before sources for the third angle',
      'lock',
      ['docs/a.md:1:# The lock', 'test/a.spec.ts:1:it("takes the lock", () => {', 'src/a.ts:1:  lock: 1,'],
      'docs-and-tests',
    ],
    [
      'puts the shorter name before the one that has the word among others',
      'lock',
      ['a.ts:2:function lock() {', 'a.ts:1:function lockTheWholeFolder() {'],
    ],
    [
      'puts an entry that uses a name before a test that does, and both before an entry of that name',
      'who calls openStore',
      [
        'src/a.ts:3:  store: openStore(path),',
        'test/a.spec.ts:3:  const a = openStore(b)',
        'test/a.spec.ts:4:  openStore: 1,',
      ],
      'usages',
    ],
    [
      'takes the file into account',
      'the delay of the gate',
      ['src/gate.ts:7:const delay = 1', 'src/other.ts:7:const delay = 1'],
    ],
  ])('%s', (_, question, lines, angle = 'definitions') => {
    expect(ranked(question, lines, { angle })).toEqual(lines)
    expect(ranked(question, lines.toReversed(), { angle })).toEqual(lines)
  })

  it('trusts rare words more than common ones', () => {
    const lines = ['a.ts:1:function gate() {', 'a.ts:2:function agent() {']
    expect(ranked('agent gate', lines, { counts: new Map([['agent', 200]]) })[0]).toBe(lines[0])
    expect(ranked('agent gate', lines, { counts: new Map([['gate', 200]]) })[0]).toBe(lines[1])
  })

  it('prefers what does something where the question asks for that', () => {
    const lines = ['a.ts:1:interface Retry {', 'a.ts:2:function retry() {']
    expect(ranked('retry', lines, { wanted: 'behaviour' })[0]).toBe(lines[1])
    expect(ranked('retry', lines, { wanted: 'shape' })[0]).toBe(lines[0])
  })

  it('leaves out what carries none of the words', () => {
    expect(ranked('lock', ['a.ts:1:const block = 1'])).toEqual([])
  })

  it('spreads over files, each line once', () => {
    const hits = grepLines('a:1:x\na:1:x\na:2:x\na:3:x\nb:1:x\nc:1:x')
    expect(spread(hits, 4, 2).map((hit) => `${hit.path}${hit.line}`)).toEqual(['a1', 'a2', 'b1', 'c1'])
  })
})

const FILE = [
  'import { x } from "y"',
  '',
  'export interface Tool {',
  '  /** May stand beside its neighbours. */',
  '  isSafe(input: I): boolean',
  '}',
  '',
  '/**',
  ' * Ends what survived.',
  ' */',
  'export function finish(): void {',
  '  sweep("the floor")',
  '}',
].map((text, index) => ({ path: 'src/a.ts', line: index + 1, text }))

const at = (line: number) => ({ path: 'src/a.ts', line, text: FILE[line - 1]?.text ?? '' })

describe('what stands around a line', () => {
  it('a comment speaks for the declaration below it', () => {
    expect(candidateAt(seenText(FILE), at(4))).toMatchObject({
      line: 5,
      comment: [{ text: 'May stand beside its neighbours.' }],
    })
    expect(candidateAt(seenText(FILE), at(9))).toMatchObject({
      line: 11,
      body: ['  sweep("the floor")', '}'],
    })
  })

  it('a comment is itself where the declaration was not seen', () => {
    expect(candidateAt(seenText(FILE.slice(0, 4)), at(4))).toMatchObject({ line: 4, comment: [] })
  })

  it('makes a declaration findable by the words of its comment', () => {
    const task = {
      angle: 'definitions',
      words: tellingWords('what may stand beside its neighbours?'),
    } as const
    expect(judge(task, FILE, []).hits.definitions[0]).toMatchObject({
      line: 5,
      declared: { name: 'isSafe' },
      note: { line: 4, text: 'May stand beside its neighbours.' },
    })
  })
})
