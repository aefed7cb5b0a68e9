import { writeSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { type OutputPipe, openOutputPipe } from '../../../src/effects/process/output-pipe.ts'

/** The process does nothing at all meanwhile, as on a machine that has no time for it. */
const standStill = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

async function written(text: string): Promise<{ readonly pipe: OutputPipe; readonly read: () => string }> {
  let read = ''
  const pipe = await openOutputPipe((chunk) => {
    read += chunk.toString()
  })
  writeSync(pipe.writingEnd, text)
  return { pipe, read: () => read }
}

describe('the last words of a process', () => {
  it('are read although the time for them passed while nobody could read', async () => {
    const { pipe, read } = await written('why I refuse')
    const drained = pipe.drain(5)
    standStill(50)
    await drained
    expect(read()).toBe('why I refuse')
  })

  it('are read to their end, however many turns that takes', async () => {
    const { pipe, read } = await written('a'.repeat(60_000))
    const drained = pipe.drain(0)
    standStill(20)
    await drained
    expect(read()).toHaveLength(60_000)
  })
})
