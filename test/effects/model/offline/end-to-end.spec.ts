import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { converse, EXPLORER, type Outcome } from './loop.ts'

const FILES: Readonly<Record<string, string>> = {
  'src/store/lock.ts': `/** The lock of a store: one writer at a time. */
import { open } from './open.ts'

export interface Lock {
  readonly owner: string
}

/** Waits until the store is free. */
export async function acquireLock(path: string): Promise<Lock> {
  return open(path)
}

/** Seizes the lock of a process that is gone. */
export async function takeOver(lock: Lock): Promise<Lock> {
  return { owner: lock.owner }
}
`,
  'src/store/open.ts': `import { acquireLock, takeOver } from './lock.ts'

export async function openStore(path: string): Promise<void> {
  const lock = await acquireLock(path)
  if (isStale(lock)) await takeOver(lock)
}
`,
  'src/tool.ts': `export interface Tool {
  /** May run beside its neighbours of the same turn. */
  isParallel(input: string): boolean
}
`,
  'lib/clock.py': `MAX_WAIT = 30

def advance_clock(seconds):
    """Moves the clock forward."""
    return seconds
`,
  'test/lock.spec.ts': `it('takes a lock over when its owner is gone', () => {
  takeOver(lock)
})
`,
  'docs/locks.md': `# Locks

A stale lock is taken over by the next process.
`,
  'package-lock.json': '{ "lock": "acquireLock takeOver" }\n',
  '.gitignore': 'dist\n',
  'dist/lock.js': 'export function takeOver() {}\n',
}

let folder = ''

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'offline-model-'))
  // ripgrep honours .gitignore only inside a repository.
  mkdirSync(path.join(folder, '.git'))
  for (const [name, text] of Object.entries(FILES)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    writeFileSync(path.join(folder, name), text)
  }
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const citations = (text: string): readonly (readonly [file: string, line: number, text: string])[] =>
  [...text.matchAll(/^- (\S+?):(\d+): (.*)$/gm)].map((match) => [
    match[1] ?? '',
    Number(match[2]),
    match[3] ?? '',
  ])

/** Each citation is the very line of the file, cut at most at its end. */
function expectTrue(root: string, outcome: Outcome): void {
  for (const [file, line, text] of citations(outcome.text)) {
    const actual = readFileSync(path.join(root, file), 'utf8').split('\n')[line - 1]?.trim() ?? 'no such line'
    if (text.endsWith('…')) expect(actual.startsWith(text.slice(0, -1))).toBe(true)
    else expect(text).toBe(actual)
  }
}

describe('a question about a code base', () => {
  it.each([
    ["where is the store's lock taken over?", 'src/store/lock.ts:14', 3],
    ['Which function decides whether a call may run beside its neighbours?', 'src/tool.ts:3', 1],
    ['where is `acquireLock` defined', 'src/store/lock.ts:9', 3],
    ['What does openStore do', 'src/store/open.ts:3', 1],
    ['how is the clock advanced?', 'lib/clock.py:3', 1],
    ['who calls takeOver?', 'src/store/open.ts:5', 3],
    ['where is the taking over of a lock tested?', 'test/lock.spec.ts:1', 3],
    ['what is said of stale locks in the docs?', 'docs/locks.md:3', 3],
  ])('%j is answered with %s first and %d or more true citations', async (question, first, least) => {
    const outcome = await converse(folder, question)
    const cited = citations(outcome.text)
    expect(`${cited[0]?.[0]}:${cited[0]?.[1]}`).toBe(first)
    expect(outcome.text.split('\n')[0]).toContain(first.replace(/^(.*):(\d+)$/, '`$1`, line $2'))
    expect(cited.length).toBeGreaterThanOrEqual(least)
    expectTrue(folder, outcome)
    expect(outcome.text).not.toContain('dist/')
    expect(cited[0]?.[0]).not.toBe('package-lock.json')
  })

  it('is explored by three agents side by side, each of which searches and reads', async () => {
    const { calls, messages } = await converse(folder, 'where is the lock taken over?')
    expect(calls.filter((call) => call.startsWith('Agent '))).toEqual([
      'Agent Find names and definitions',
      'Agent Find usages',
      'Agent Find docs and tests',
    ])
    expect(calls.filter((call) => call.startsWith('Read ')).length).toBeGreaterThanOrEqual(3)
    expect(messages).toHaveLength(4)
  })

  it('is answered by an agent alone where it has no agents to ask', async () => {
    const outcome = await converse(folder, 'where is the lock taken over?', { tools: EXPLORER })
    expect(outcome.text).toMatch(/^Most likely it is `takeOver`, in `src\/store\/lock.ts`, line 14/)
    expect(citations(outcome.text).length).toBeGreaterThanOrEqual(3)
    expectTrue(folder, outcome)
  })

  it('that nothing answers is answered honestly', async () => {
    const { text } = await converse(folder, 'where is the zeppelin refuelled?')
    expect(text).toMatch(/^I found no place in this code base for zeppelin, refuelled/)
    expect(citations(text)).toEqual([])
  })

  it('names the words that no place carries', async () => {
    const { text } = await converse(folder, 'where does the zeppelin takeOver?')
    expect(text.split('\n')[0]).toContain('No place found carries zeppelin.')
  })

  it('is answered in spite of tools that fail, and the answer says so', async () => {
    const outcome = await converse(folder, 'where is the lock taken over?', {
      sabotage: (call) => (call.name === 'Read' ? { error: 'The disk is on fire.' } : undefined),
    })
    expect(citations(outcome.text).length).toBeGreaterThanOrEqual(3)
    expectTrue(folder, outcome)
    expect(outcome.text).toContain('Note: Read failed: The disk is on fire.')
  })

  it('gives the same conversation every time', async () => {
    const [one, other] = await Promise.all(
      [1, 2].map(() => converse(folder, 'where is the lock taken over?')),
    )
    expect(other).toEqual(one)
  })
})

describe('a question about this very repository', () => {
  const root = path.resolve(import.meta.dirname, '../../../..')

  it.each([
    ['where is `foldAgent` defined', 'src/machines/agent/fold.ts'],
    ['What does systemClock do', 'src/effects/clock.ts'],
    ['How are lone surrogates handled?', 'src/'],
  ])('%j is answered from %s, with true citations', async (question, file) => {
    const outcome = await converse(root, question)
    expect(citations(outcome.text)[0]?.[0]).toContain(file)
    expect(citations(outcome.text).length).toBeGreaterThanOrEqual(3)
    expectTrue(root, outcome)
  })
})
