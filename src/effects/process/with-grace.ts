/** Waiting for work that was told to stop, but not for ever. */
import type { Clock } from '../clock.ts'

/** The work did not end in time after its signal; it may still be running. */
export class GraceOver extends Error {
  override readonly name = 'GraceOver'
  readonly graceMs: number

  constructor(graceMs: number) {
    super(`the work ignored its signal and was left behind after ${graceMs} ms`)
    this.graceMs = graceMs
  }

  static is(value: unknown): value is GraceOver {
    return value instanceof Error && value.name === 'GraceOver'
  }
}

/**
 * Settles as `work` does. Once `signal` aborts, the work has `graceMs` milliseconds of `clock` left: if it has not
 * settled by then, this rejects with {@link GraceOver} and whatever becomes of the work later is ignored.
 *
 * JavaScript cannot end work that does not end itself: a body that ignores its signal goes on without anyone waiting
 * for it. Give it a grace that is longer than ending a process takes (TERM, grace, KILL), so that whoever honours the
 * signal is always waited for.
 *
 * @example
 * const output = await withGrace(tool.run(input, context), context.signal, clock, 10_000)
 */
export function withGrace<T>(
  work: Promise<T>,
  signal: AbortSignal,
  clock: Clock,
  graceMs: number,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let cancelGrace = (): void => {}
    const startGrace = (): void => {
      cancelGrace = clock.setTimer(graceMs, () => reject(new GraceOver(graceMs)))
    }
    const release = (): void => {
      cancelGrace()
      signal.removeEventListener('abort', startGrace)
    }
    if (signal.aborted) startGrace()
    else signal.addEventListener('abort', startGrace, { once: true })
    work.then(
      (value) => {
        release()
        resolve(value)
      },
      (error: unknown) => {
        release()
        reject(error)
      },
    )
  })
}
