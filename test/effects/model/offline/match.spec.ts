import { describe, expect, it } from 'vitest'
import { carries, matchable } from '../../../../src/effects/model/offline/match.ts'
import { tellingWord } from '../../../../src/effects/model/offline/words.ts'

type Kind = Parameters<typeof tellingWord>[0]

function match(text: string, kind: Kind, word: string): number {
  const telling = tellingWord(kind, word)
  if (telling === undefined) throw new Error(`${word} is no word`)
  return carries(matchable(text), telling)
}

describe('how well a text carries a word', () => {
  it.each<[text: string, kind: Kind, word: string, expected: number]>([
    ['acquireSessionLock(path)', 'word', 'locks', 1],
    ['a block of text', 'word', 'lock', 0],
    ['takeOver: boolean', 'word', 'taken over', 1],
    ['it was taken over by b', 'word', 'taken over', 1],
    ['the takeover', 'word', 'take over', 1],
    ['take it and hand it over', 'word', 'taken over', 0.5],
    ['take it', 'word', 'taken over', 0.15],
    ['foldAgent(state)', 'name', 'foldAgent', 1.5],
    ['FOLDAGENT', 'name', 'foldAgent', 1.2],
    ['refoldAgents()', 'name', 'foldAgent', 0.105],
    ['fold_agent', 'name', 'foldAgent', 0.7],
    ['rerun()', 'name', 'run', 0],
    ["type: 'run.started'", 'name', 'run.started', 1.5],
    ['events$.subscribe', 'name', 'events$', 1.5],
    ['throw Error("the lock is held")', 'quote', 'lock is held', 1.5],
    ['The Lock Is Held', 'quote', 'lock is held', 1.2],
    ['src/journal/lock.ts', 'path', 'journal/lock.ts', 1.5],
  ])('%s, %s %s: %d', (text, kind, word, expected) => {
    expect(match(text, kind, word)).toBeCloseTo(expected)
  })
})
