import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createUnreadOutput } from '../../../src/effects/process/unread-output.ts'

it('hands out everything once, whatever the pieces and the readings: no character is split', () => {
  const pieces = fc.array(fc.tuple(fc.string({ unit: 'grapheme' }), fc.nat(7), fc.boolean()), {
    maxLength: 20,
  })
  fc.assert(
    fc.property(pieces, (all) => {
      const output = createUnreadOutput(1_000_000)
      let read = ''
      for (const [text, at, reads] of all) {
        const bytes = Buffer.from(text)
        output.push(bytes.subarray(0, at))
        if (reads) read += output.take().text
        output.push(bytes.subarray(at))
      }
      output.end()
      read += output.take().text
      expect(read).toBe(all.map(([text]) => Buffer.from(text).toString()).join(''))
      expect(output.take()).toEqual({ text: '', omittedBytes: 0 })
    }),
    { numRuns: 100 },
  )
})

it('loses the middle of what nobody reads, and says how much; the next reading is whole again', () => {
  const output = createUnreadOutput(10)
  output.push(Buffer.from('a'.repeat(100)))
  output.push(Buffer.from('b'.repeat(100)))
  const { text, omittedBytes } = output.take()
  expect(omittedBytes).toBe(190)
  expect(text).toMatch(/^a{5}[\s\S]*190 bytes[\s\S]*b{5}$/)
  output.push(Buffer.from('next'))
  expect(output.take()).toEqual({ text: 'next', omittedBytes: 0 })
})
