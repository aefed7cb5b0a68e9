/**
 * How a run is stopped from outside: signals, Ctrl-C, Escape.
 *
 *   S1  A signal suspends: the engine lets go of everything, and the session can be resumed. The next one ends the process
 *       at once.
 *   S2  Where a person can be asked, Ctrl-C asks first, once, when agents are at work in the background. Meanwhile they
 *       go on; another Ctrl-C suspends. Other signals ask nothing.
 *   S3  Escape ends the turn of the main agent, with the agents that it waits for, and nobody else.
 */
import type { Engine } from '../engine/api.ts'
import { rootsAtWork } from './at-work.ts'
import { EXIT_CODE_OF, type Host, type StopSignal } from './host.ts'
import type { Leaving } from './leave.ts'

export interface Stop {
  /** The first signal that suspends, once it came. */
  readonly signal: StopSignal | undefined
  /** Resolves when it came and the engine has begun to close. */
  readonly heard: Promise<'stopped'>
  /** Settles with the closing that it began. */
  readonly closed: Promise<void>
  /** The person has ended the run: it ends as killed, which is no failure of it. */
  readonly isInterrupted: boolean
  /** As if the signal had come. */
  hear(signal: StopSignal): void
  /** Ends the turn of the main agent (S3). */
  interrupt(): void
  /** Asks the person, who is not asked again by Ctrl-C then. Undefined: they need or can not be asked. */
  howToLeave(): Promise<Leaving | undefined>
  ignore(): void
}

export interface StopOptions {
  readonly engine: Pick<Engine, 'agents' | 'close' | 'interrupt' | 'killAll'>
  readonly host: Pick<Host, 'onStopSignal' | 'exitNow'>
  /** Asks how to leave; undefined where there is nothing to ask, or nobody. */
  readonly howToLeave: () => Promise<Leaving | undefined> | undefined
}

/** Listens until it is told to ignore. */
export function listenForStop({ engine, host, howToLeave }: StopOptions): Stop {
  let first: StopSignal | undefined
  let tell: (value: 'stopped') => void = () => {}
  let closed: Promise<void> = Promise.resolve()
  let hasAsked = false
  let isInterrupted = false
  const heard = new Promise<'stopped'>((resolve) => {
    tell = resolve
  })

  const suspend = (signal: StopSignal): void => {
    if (first !== undefined) return
    first = signal
    closed = engine.close()
    // Whoever waits for it hears of a failure; nobody else must.
    closed.catch(() => {})
    tell('stopped')
  }

  const leave = async (asked: Promise<Leaving | undefined>): Promise<void> => {
    const choice = await asked.catch(() => undefined)
    if (first !== undefined || choice === 'wait') return
    if (choice !== 'kill') return suspend('SIGINT')
    isInterrupted = true
    await engine.killAll('the person has left').catch(() => suspend('SIGINT'))
  }

  const askOnce = (): Promise<Leaving | undefined> | undefined => {
    const asked = howToLeave()
    if (asked !== undefined) hasAsked = true
    return asked
  }

  const hear = (signal: StopSignal): void => {
    if (first !== undefined) {
      host.exitNow(EXIT_CODE_OF[signal])
      return
    }
    const asked = signal === 'SIGINT' && !hasAsked ? askOnce() : undefined
    if (asked === undefined) suspend(signal)
    else void leave(asked)
  }

  const ignore = host.onStopSignal(hear)
  return {
    get signal() {
      return first
    },
    heard,
    get closed() {
      return closed
    },
    get isInterrupted() {
      return isInterrupted
    },
    hear,
    howToLeave: async () => askOnce(),
    interrupt() {
      for (const { sessionId } of rootsAtWork(engine.agents)) {
        isInterrupted = true
        engine.interrupt(sessionId, 'interrupted at the terminal').catch(() => {})
      }
    },
    ignore,
  }
}

/** What a promise comes to, unless a signal comes first: then its outcome, mostly a rejection, means nothing. */
export async function unlessStopped<T>(work: Promise<T>, stop: Stop): Promise<T | 'stopped'> {
  try {
    const outcome = await Promise.race([work, stop.heard])
    return outcome
  } catch (error) {
    if (stop.signal !== undefined) return 'stopped'
    throw error
  } finally {
    work.catch(() => {})
  }
}
