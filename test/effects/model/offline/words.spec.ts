import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MOST_WORDS, partsOf, tellingWords } from '../../../../src/effects/model/offline/words.ts'

/** Names are marked by a dollar, quotes and paths by their own marks, weak words by a tilde. */
const shown = (question: string): readonly string[] =>
  tellingWords(question).map(({ kind, text, weak }) => {
    if (kind === 'name') return `$${text}`
    if (kind === 'quote') return `"${text}"`
    return kind === 'path' ? `/${text}` : `${weak ? '~' : ''}${text}`
  })

describe('the telling words of a question', () => {
  it.each([
    ["where is the journal's lock taken over?", ['journal', 'lock', 'taken over']],
    [
      'Which function decides whether a call may run beside its neighbours?',
      ['~decides', '~call', '~run', 'beside', 'neighbours'],
    ],
    ['How does resume end surviving processes?', ['resume', '~end', 'surviving', '~processes']],
    ['where is `foldAgent` defined', ['$foldAgent']],
    ['What does createEngine do', ['$createEngine']],
    ['What does run do?', ['$run', '~run']],
    ['where are limits defined?', ['$limits', 'limits']],
    ['where is add?', ['$add', '~add']],
    ['Where is the lock', ['lock']],
    ['where is it?', []],
    ['who calls sleep?', ['$sleep', 'sleep']],
    ['What does it do?', []],
    ['How does it work?', []],
    ['warum wird der Lock übernommen?', ['warum', 'wird', 'der', 'lock', 'übernommen']],
    ['où est défini le journal', ['où', 'est', 'défini', 'le', 'journal']],
    ['Where does "no match found" come from', ['"no match found"']],
    ["what prints 'lock is held' and why", ['"lock is held"', 'prints']],
    ['explain src/journal/lock.ts please', ['/src/journal/lock.ts']],
    ['what is in lock.ts?', ['/lock.ts']],
    ['where is max_turns checked', ['$max_turns', '~checked']],
    ['Where is `run.started` emitted?', ['$run.started', 'emitted']],
    ['where is MAX_WAIT_MS used', ['$MAX_WAIT_MS']],
    ['how is --output-format parsed', ['$output-format', 'parsed']],
    ['What handles HTTPError in the client?', ['$HTTPError', '~handles', 'client']],
    ['does fetchAll() retry?', ['$fetchAll', 'retry']],
    ['Is locking the lock of locks tested?', ['locking', '~tested']],
    ['read-only tools', ['read-only', 'tools']],
    ["don't you think it's 42?", ['think']],
    ['', []],
    ['?!', []],
  ])('%j → %j', (question, words) => {
    expect(shown(question)).toEqual(words)
  })

  it('are few: the common ones leave first, the precise ones last', () => {
    const many = 'call alpha run beta gamma get delta set epsilon zeta `exactName` eta'
    const words = tellingWords(many)
    expect(words).toHaveLength(MOST_WORDS)
    expect(words[0]?.text).toBe('exactName')
    expect(words.some((word) => word.weak)).toBe(false)
  })

  it('come from the beginning of a text that is too long', () => {
    expect(shown(`where is the gate? ${'x '.repeat(3000)} zebra`)).toEqual(['gate'])
  })

  it('are never empty, never repeated and always the same, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (text) => {
        const words = tellingWords(text)
        expect(words).toEqual(tellingWords(text))
        expect(words.length).toBeLessThanOrEqual(MOST_WORDS)
        for (const word of words)
          expect(word.keys.every((key) => key !== '') && word.keys.length > 0).toBe(true)
        const spelled = words.map((word) => `${word.kind} ${word.text}`)
        expect(new Set(spelled).size).toBe(spelled.length)
      }),
      { numRuns: 200 },
    )
  })
})

describe('the parts of a name', () => {
  it.each([
    ['parseDate', ['parse', 'date']],
    ['parse_date', ['parse', 'date']],
    ['HTTPServer2', ['http', 'server2']],
    ['end-survivors.ts', ['end', 'survivors', 'ts']],
    ['ÜberLock', ['über', 'lock']],
  ])('%s → %j', (name, parts) => {
    expect(partsOf(name)).toEqual(parts)
  })
})
