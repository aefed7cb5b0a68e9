/**
 * The open calls of a turn, and which of them may start next. Pure.
 */
import type { CallId } from '../ids.ts'
import { callId } from '../ids.ts'
import type { CallRequest } from './events.ts'
import type { Reply } from './messages.ts'
import { isToolUse } from './messages.ts'

/** Concurrency-safe calls of one turn that run at once; more wait. */
export const MAX_CONCURRENT_CALLS = 10

/**
 * A call without a result yet. `waiting`: its turn has not come. `requested`: its effect may run. `started`: its
 * body may have run, so a resume follows the tool's rule instead of just calling it.
 */
export interface OpenCall {
  readonly callId: CallId
  readonly name: string
  readonly concurrencySafe: boolean
  readonly phase: 'waiting' | 'requested' | 'started'
}

/** The calls of a reply whose first line is at `seq`: one line per block, so block `i` is line `seq + i`. */
export function callsOf(
  reply: Reply,
  run: number,
  seq: number,
  concurrencySafe: readonly boolean[],
): CallRequest[] {
  return reply.content.flatMap((block, i) =>
    isToolUse(block)
      ? [
          {
            callId: callId(run, seq + i, 0),
            toolUseId: block.id,
            name: block.name,
            concurrencySafe: concurrencySafe[i] ?? false,
          },
        ]
      : [],
  )
}

/**
 * The waiting calls that may start now. Calls start in order: safe ones side by side up to
 * {@link MAX_CONCURRENT_CALLS}, any other alone.
 */
export function startable(calls: readonly OpenCall[]): OpenCall[] {
  const running = calls.filter((call) => call.phase !== 'waiting')
  if (running.some((call) => !call.concurrencySafe)) return []
  const starting: OpenCall[] = []
  for (const call of calls) {
    if (call.phase !== 'waiting') continue
    const beside = running.length + starting.length
    if (call.concurrencySafe ? beside >= MAX_CONCURRENT_CALLS : beside > 0) break
    starting.push(call)
    if (!call.concurrencySafe) break
  }
  return starting
}
