import { describe, expect, it } from 'vitest'
import { EffectScope } from '../../src/engine/effect-scope.ts'

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('effect scope', () => {
  it('is settled only when every effect has really ended, not when it was aborted', async () => {
    const scope = new EffectScope()
    let finish = () => {}
    const abort = scope.start(
      'slow to die',
      () => new Promise<void>((resolve) => { finish = resolve }),
      () => {},
    )
    let isSettled = false
    const settled = scope.settled().then(() => { isSettled = true })
    abort()
    await turn()
    expect(isSettled).toBe(false)
    expect(scope.running).toEqual(['slow to die'])
    finish()
    await settled
    expect(scope.running).toEqual([])
  })

  it('lets an effect wait for all others but itself', async () => {
    const scope = new EffectScope()
    const order: string[] = []
    let finish = () => {}
    scope.start(
      'call',
      () => new Promise<void>((resolve) => { finish = () => { order.push('call ended'); resolve() } }),
      () => {},
    )
    scope.start('drain', async (_, self) => { await scope.settled(self); order.push('drained') }, () => {})
    await turn()
    finish()
    await scope.settled()
    expect(order).toEqual(['call ended', 'drained'])
  })

  it.each([
    ['before its first await', () => { throw new Error('boom') }],
    ['after it', async () => { await turn(); throw new Error('boom') }],
  ])('tells what an effect throws %s, once', async (_, body) => {
    const scope = new EffectScope()
    const faults: unknown[] = []
    scope.start('broken', async () => body(), (error) => faults.push(error))
    await scope.settled()
    expect(faults).toEqual([new Error('boom')])
  })

  it('does not take the abort for a fault', async () => {
    const scope = new EffectScope()
    const faults: unknown[] = []
    const abort = scope.start(
      'aborted',
      (signal) => new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      (error) => faults.push(error),
    )
    abort()
    await scope.settled()
    expect(faults).toEqual([])
  })

  it('takes an abort that nobody asked for as the fault that it is', async () => {
    const scope = new EffectScope()
    const faults: string[] = []
    const alien = Object.assign(new Error('a library gave up'), { name: 'AbortError' })
    scope.start('left hanging', () => Promise.reject(alien), (error) => faults.push(String(error)))
    await scope.settled()
    expect(faults).toEqual(['AbortError: a library gave up'])
  })
})
