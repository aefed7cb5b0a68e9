import { expect, it } from 'vitest'
import { GraceOver, withGrace } from '../../../src/effects/process/with-grace.ts'
import { createVirtualClock } from '../../../src/effects/virtual-clock.ts'

const never = new Promise<never>(() => {})

it('settles as the work does when nothing is aborted, and leaves no timer', async () => {
  const clock = createVirtualClock()
  const { signal } = new AbortController()
  expect(await withGrace(Promise.resolve(1), signal, clock, 10)).toBe(1)
  await expect(withGrace(Promise.reject(new Error('mine')), signal, clock, 10)).rejects.toThrow('mine')
  expect(clock.pending).toBe(0)
})

it('waits for work that honours its signal within the grace', async () => {
  const clock = createVirtualClock()
  const abort = new AbortController()
  let finish = (_: string): void => {}
  const work = withGrace(new Promise<string>((resolve) => (finish = resolve)), abort.signal, clock, 10)
  abort.abort()
  clock.advance(9)
  finish('ended properly')
  expect(await work).toBe('ended properly')
  expect(clock.pending).toBe(0)
})

it('leaves work behind that ignores its signal, and not a moment before', async () => {
  const clock = createVirtualClock()
  const abort = new AbortController()
  let settled = false
  const work = withGrace(never, abort.signal, clock, 10)
  const outcome = work.catch((error: unknown) => {
    settled = true
    return error
  })
  clock.advance(1_000)
  abort.abort()
  await clock.advanceAsync(9)
  expect(settled).toBe(false)
  await clock.advanceAsync(1)
  expect(GraceOver.is(await outcome)).toBe(true)
})

it('ignores what becomes of work that was left behind, and begins its grace at once when aborted already', async () => {
  const clock = createVirtualClock()
  let fail = (_: Error): void => {}
  const late = new Promise<never>((_, reject) => (fail = reject))
  const work = withGrace(late, AbortSignal.abort(), clock, 5)
  clock.advance(5)
  await expect(work).rejects.toThrow('left behind after 5 ms')
  // Would be an unhandled rejection, and the end of the test run.
  fail(new Error('too late'))
  await clock.advanceAsync(0)
})
