import { describe, expect, it } from 'vitest'
import { EffectScope as Scope } from '../../src/engine/effect-scope.ts'

/** A scope whose effects report nothing. */
class EffectScope extends Scope {
  run(
    label: string,
    body: (signal: AbortSignal, self: symbol) => Promise<void>,
    onFault: (error: unknown) => void,
  ): () => void {
    return this.start(
      label,
      (abort, self) => body(abort.signal, self),
      async () => {},
      onFault,
    )
  }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('effect scope', () => {
  it('is settled only when every effect has really ended, not when it was aborted', async () => {
    const scope = new EffectScope()
    let finish = () => {}
    const abort = scope.run(
      'slow to die',
      () =>
        new Promise<void>((resolve) => {
          finish = resolve
        }),
      () => {},
    )
    let isSettled = false
    const settled = scope.settled().then(() => {
      isSettled = true
    })
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
    scope.run(
      'call',
      () =>
        new Promise<void>((resolve) => {
          finish = () => {
            order.push('call ended')
            resolve()
          }
        }),
      () => {},
    )
    scope.run(
      'drain',
      async (_, self) => {
        await scope.settled(self)
        order.push('drained')
      },
      () => {},
    )
    await turn()
    finish()
    await scope.settled()
    expect(order).toEqual(['call ended', 'drained'])
  })

  it.each([
    [
      'before its first await',
      () => {
        throw new Error('boom')
      },
    ],
    [
      'after it',
      async () => {
        await turn()
        throw new Error('boom')
      },
    ],
  ])('tells what an effect throws %s, once', async (_, body) => {
    const scope = new EffectScope()
    const faults: unknown[] = []
    scope.run(
      'broken',
      async () => body(),
      (error) => faults.push(error),
    )
    await scope.settled()
    expect(faults).toEqual([new Error('boom')])
  })

  it('does not take the abort for a fault', async () => {
    const scope = new EffectScope()
    const faults: unknown[] = []
    const abort = scope.run(
      'aborted',
      (signal) =>
        new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
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
    scope.run(
      'left hanging',
      () => Promise.reject(alien),
      (error) => faults.push(String(error)),
    )
    await scope.settled()
    expect(faults).toEqual(['AbortError: a library gave up'])
  })

  it('does not abort an effect that is already reporting', async () => {
    const scope = new Scope()
    const reported: string[] = []
    let seen: AbortSignal | undefined
    let abort = () => {}
    abort = scope.start(
      'done',
      async ({ signal }) => {
        seen = signal
        return 'outcome'
      },
      async (outcome) => {
        abort()
        reported.push(outcome)
      },
      () => {},
    )
    await scope.settled()
    expect(reported).toEqual(['outcome'])
    expect(seen?.aborted).toBe(false)
  })
})
