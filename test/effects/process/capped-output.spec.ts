import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createCappedOutput, omissionMarker } from '../../../src/effects/process/capped-output.ts'

const collect = (maxBytes: number, chunks: readonly (string | Buffer)[]) => {
  const output = createCappedOutput(maxBytes)
  for (const chunk of chunks) output.push(Buffer.from(chunk))
  return output.text()
}

it('keeps everything up to the last byte that fits', () => {
  expect(collect(10, ['01234', '56789'])).toEqual({ text: '0123456789', omittedBytes: 0 })
})

it('keeps head and tail and counts what is left out between them', () => {
  expect(collect(6, ['abcdefgh', 'ij'])).toEqual({ text: `abc${omissionMarker(4)}hij`, omittedBytes: 4 })
})

it('cuts no character in two, at neither edge', () => {
  const { text, omittedBytes } = collect(10, ['ä'.repeat(10)])
  expect(text).toBe(`ää${omissionMarker(12)}ää`)
  expect(omittedBytes).toBe(12)
})

it('joins a character whose bytes came in two chunks', () => {
  const euro = Buffer.from('€')
  expect(collect(100, [euro.subarray(0, 1), euro.subarray(1)]).text).toBe('€')
})

it('whatever the chunks: what is kept and what is counted make up the whole, within the cap', () => {
  const property = fc.property(
    fc.array(fc.string({ unit: 'grapheme', maxLength: 12 }), { maxLength: 20 }),
    fc.integer({ min: 1, max: 80 }),
    (texts, maxBytes) => {
      const whole = texts.join('')
      const { text, omittedBytes } = collect(maxBytes, texts)
      if (omittedBytes === 0) return text === whole
      const marker = omissionMarker(omittedBytes)
      const [head = '', tail = ''] = [
        text.slice(0, text.indexOf(marker)),
        text.slice(text.indexOf(marker) + marker.length),
      ]
      const kept = Buffer.byteLength(head) + Buffer.byteLength(tail)
      expect(whole.startsWith(head) && whole.endsWith(tail)).toBe(true)
      expect(kept + omittedBytes).toBe(Buffer.byteLength(whole))
      expect(kept).toBeLessThanOrEqual(maxBytes)
      return true
    },
  )
  fc.assert(property, { numRuns: 200 })
})
