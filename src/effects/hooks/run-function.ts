/** Runs a hook that is a function of the host. */
import type { HookInput } from '../../definitions/hooks/hook-input.ts'
import { type HookFaultCode, type HookOutcome, shortText } from '../../definitions/hooks/hook-outcome.ts'
import { readHookOutput } from '../../definitions/hooks/read-output.ts'
import { messageOf } from '../../definitions/message-of.ts'
import type { Clock } from '../clock.ts'
import type { AnyHostHook, HookReply } from './hook.ts'

/** What a run of a function needs. */
export interface FunctionRun {
  /** The function's own copy. */
  readonly input: HookInput
  /** In milliseconds. */
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly clock: Clock
}

type Ending =
  | { readonly kind: 'returned'; readonly reply: HookReply }
  | { readonly kind: 'threw'; readonly error: unknown }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'aborted' }

/**
 * Runs the function to its end, its time limit or the abort, whatever comes first. Never rejects. Code in this process
 * cannot be ended: one that goes on after its signal is on its own, and what it returns then counts for nothing.
 */
export async function runFunction(hook: AnyHostHook, run: FunctionRun): Promise<HookOutcome> {
  const ending = await firstOf(hook, run)
  switch (ending.kind) {
    case 'returned':
      return ending.reply === undefined
        ? { kind: 'answered', answer: {}, problems: [] }
        : { kind: 'answered', ...readHookOutput(ending.reply, hook.event) }
    case 'threw':
      return failed('hook-threw', shownMessageOf(ending.error))
    case 'timeout':
      return failed('hook-timed-out', 'it took longer than its `timeout`; it was told to stop.')
    case 'aborted':
      return { kind: 'aborted' }
  }
}

function firstOf(hook: AnyHostHook, { input, timeoutMs, signal, clock }: FunctionRun): Promise<Ending> {
  const own = new AbortController()
  return new Promise((resolve) => {
    const settle = (ending: Ending): void => {
      cancelTimeout()
      signal.removeEventListener('abort', onAbort)
      resolve(ending)
    }
    const onAbort = (): void => {
      settle({ kind: 'aborted' })
      own.abort(signal.reason)
    }
    const cancelTimeout = clock.setTimer(timeoutMs, () => {
      settle({ kind: 'timeout' })
      own.abort(new Error('the time of the hook is over'))
    })
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) return onAbort()
    const act = async (): Promise<HookReply> => hook.run(input, { signal: own.signal })
    act().then(
      (reply) => settle({ kind: 'returned', reply }),
      (error: unknown) => settle({ kind: 'threw', error }),
    )
  })
}

function failed(code: HookFaultCode, message: string): HookOutcome {
  return { kind: 'failed', fault: { code, message } }
}

/** Of anything that was thrown, which may have no text. */
function shownMessageOf(error: unknown): string {
  try {
    return shortText(messageOf(error), 1_000)
  } catch {
    return 'it threw something that cannot be shown'
  }
}
