/** How long a run has been running: time that it was switched off does not count. */
import type { Recorded } from '../machines/agent/events.ts'

export interface RunClock {
  /** Milliseconds of finished stretches. */
  readonly before: number
  /** Start of the stretch that is on, milliseconds since the epoch; undefined while suspended. */
  readonly since: number | undefined
  /** When the last event happened: where a crash cut the stretch off, as far as anyone knows. */
  readonly last: number
}

export const STOPPED_CLOCK: RunClock = { before: 0, since: undefined, last: 0 }

/** The clock after one more event of the run's log. */
export function tick(clock: RunClock, { at, event }: Pick<Recorded, 'at' | 'event'>): RunClock {
  switch (event.type) {
    case 'run.started':
      return { before: 0, since: at, last: at }
    case 'run.suspended':
      return {
        before: elapsed(clock, event.reason === 'crashed' ? clock.last : at),
        since: undefined,
        last: at,
      }
    case 'run.resumed':
      return { before: clock.before, since: at, last: at }
    default:
      return { before: clock.before, since: clock.since, last: at }
  }
}

/** Milliseconds of running time at the given moment. */
export function elapsed(clock: RunClock, now: number): number {
  return clock.before + (clock.since === undefined ? 0 : Math.max(0, now - clock.since))
}
