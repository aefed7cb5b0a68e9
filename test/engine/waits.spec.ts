import { describe, expect, it } from 'vitest'
import { orAborted } from '../../src/engine/waits.ts'

const never = new Promise<void>(() => {})

describe('waiting for a promise or an abort', () => {
  it('ends with the reason of a signal that was aborted before, whatever becomes of the promise', async () => {
    await expect(orAborted(never, AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late')
  })

  it('ends with the reason of an abort in between', async () => {
    const controller = new AbortController()
    const waiting = orAborted(never, controller.signal)
    controller.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
  })

  it('ends as the promise does', async () => {
    const { signal } = new AbortController()
    await expect(orAborted(Promise.resolve(1), signal)).resolves.toBeUndefined()
    await expect(orAborted(Promise.reject(new Error('it broke')), signal)).rejects.toThrow('it broke')
  })
})
