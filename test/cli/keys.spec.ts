/** Which bytes of a terminal are keys that mean something, however they are cut. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createKeyReader, ESCAPE_MS, type Key } from '../../src/cli/keys.ts'
import { groupsInStat, setRawMode } from '../../src/cli/raw-terminal.ts'
import { createVirtualClock } from '../../src/effects/virtual-clock.ts'

function keysOf(...chunks: string[]): Key[] {
  const clock = createVirtualClock()
  const keys: Key[] = []
  const reader = createKeyReader(clock, (key) => keys.push(key))
  for (const chunk of chunks) reader.take(chunk)
  clock.advance(ESCAPE_MS)
  return keys
}

describe('keys', () => {
  it.each<[string, string[], Key[]]>([
    ['ctrl+b', ['\x02'], ['ctrl-b']],
    ['several at once', ['\x02\x03\x1a\x1c'], ['ctrl-b', 'ctrl-c', 'ctrl-z', 'ctrl-backslash']],
    ['letters', ['yes\r\n'], []],
    ['escape', ['\x1b'], ['escape']],
    ['escape, twice and fast', ['\x1b\x1b'], ['escape', 'escape']],
    ['an arrow', ['\x1b[A'], []],
    ['an arrow in two pieces', ['\x1b', '[A'], []],
    ['an arrow with Shift in three', ['\x1b[1', ';2', 'D\x02'], ['ctrl-b']],
    ['F1', ['\x1bOP'], []],
    ['Alt and a letter', ['\x1bb'], []],
    ['a mouse', ['\x1b[<0;10;5M'], []],
    ['Ctrl-C in the middle of a sequence', ['\x1b[12\x03'], ['ctrl-c']],
    ['Ctrl-C right behind escape', ['\x1b', '\x03'], ['escape', 'ctrl-c']],
    ['half a sequence and then nothing', ['\x1b[1;'], []],
  ])('%s', (_, chunks, keys) => {
    expect(keysOf(...chunks)).toEqual(keys)
  })

  it('are the same in whatever pieces they come', () => {
    const piece = fc.constantFrom('\x02', '\x03', 'a', '\x1b[A', '\x1bOP', '\x1b[1;2D', '\x1bb', 'ü')
    fc.assert(
      fc.property(fc.array(piece), fc.array(fc.nat(30)), (pieces, cuts) => {
        const text = pieces.join('')
        const places = [...new Set(cuts)].filter((cut) => cut < text.length).sort((a, b) => a - b)
        const chunks = [0, ...places].map((from, i) => text.slice(from, places[i]))
        expect(keysOf(...chunks)).toEqual(keysOf(text))
      }),
      { numRuns: 200 },
    )
  })

  it('never lose a Ctrl-C, and never hold back more than a key can send', () => {
    const noise = fc.string({ unit: fc.constantFrom('\x1b', '[', 'O', '1', ';', '?', 'x') })
    fc.assert(
      fc.property(fc.array(noise), (chunks) => {
        expect(keysOf(...chunks, '\x03').filter((key) => key === 'ctrl-c')).toHaveLength(1)
      }),
      { numRuns: 200 },
    )
    expect(keysOf(`\x1b[${'1'.repeat(100_000)}`)).toEqual([])
  })
})

describe('a raw terminal', () => {
  it('is set only while the process has it', () => {
    const set: boolean[] = []
    const stdin = { setRawMode: (isRaw: boolean) => set.push(isRaw) } as never
    expect(setRawMode(stdin, true, () => true)).toBe(true)
    expect(setRawMode(stdin, false, () => true)).toBe(false)
    expect(setRawMode(stdin, true, () => false)).toBe(false)
    expect(set).toEqual([true, false])
  })

  it('that went away is none', () => {
    const stdin = {
      setRawMode: () => {
        throw new Error('EIO')
      },
    } as never
    expect(setRawMode(stdin, true, () => true)).toBe(false)
  })

  it('tells its groups, whatever the program is called', () => {
    expect(groupsInStat('42 (no) (de) S 1 40 39 34816 41 4194304 1 2')).toEqual(['40', '41'])
  })
})
