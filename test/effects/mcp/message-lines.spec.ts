import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLineCutter } from '../../../src/effects/mcp/message-lines.ts'

function cut(bytes: Buffer, chunkSize: number, maxBytes: number): { lines: string[]; isWithin: boolean } {
  const lines: string[] = []
  const cutter = createLineCutter(maxBytes, (line) => lines.push(line))
  for (let at = 0; at < bytes.length; at += chunkSize) {
    if (!cutter.push(bytes.subarray(at, at + chunkSize))) return { lines, isWithin: false }
  }
  return { lines, isWithin: true }
}

describe('the lines of a server', () => {
  it('are the same however they are cut into chunks, inside of characters too', () => {
    const line = fc.string({ unit: 'binary', maxLength: 30 }).filter((text) => !/[\r\n]/.test(text))
    fc.assert(
      fc.property(
        fc.array(line),
        fc.constantFrom('\n', '\r\n'),
        fc.integer({ min: 1, max: 9 }),
        (lines, end, size) => {
          const bytes = Buffer.from(lines.map((each) => each + end).join(''))
          expect(cut(bytes, size, 1000)).toEqual({ lines, isWithin: true })
        },
      ),
    )
  })

  it('are given up as soon as one is longer than it may be', () => {
    expect(cut(Buffer.from('12345\n123456'), 3, 5)).toEqual({ lines: ['12345'], isWithin: false })
    expect(cut(Buffer.from('12345\n12345\n12'), 14, 5)).toEqual({ lines: ['12345', '12345'], isWithin: true })
  })
})
