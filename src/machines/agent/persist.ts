/**
 * A run as JSON, and back, for snapshots of a log. Pure; starts nothing.
 *
 * XState restores softly: a state that it does not know gives an actor in `error`, a child whose source it does not
 * know is dropped without a word. So what comes back is compared with what was asked for.
 */
import { createActor } from 'xstate'
import * as z from 'zod'
import { AgentId } from '../ids.ts'
import { initialContext } from './context.ts'
import type { RunSnapshot } from './fold.ts'
import { agentMachine } from './machine.ts'

/** The states that a run can rest in. */
const StateValue = z.union([
  z.strictObject({ resolving: z.enum(['awaitingPrompt', 'preparing']) }),
  z.strictObject({
    running: z.strictObject({
      turn: z.enum(['requesting', 'compacting', 'acting', 'checking', 'waiting']),
      placement: z.enum(['foreground', 'backgrounded']),
    }),
  }),
  z.strictObject({ settling: z.enum(['draining', 'stopping', 'reviewing']) }),
  z.enum(['completed', 'failed', 'killed']),
]) satisfies z.ZodType<RunSnapshot['value']>

/** What a persisted run must at least be. The rest is XState's and versioned with the program. */
const PersistedRun = z.looseObject({
  status: z.enum(['active', 'done']),
  value: StateValue,
  context: z.looseObject({ agentId: AgentId, run: z.number().int().positive(), calls: z.array(z.unknown()) }),
  children: z.record(z.string(), z.looseObject({ src: z.string(), snapshot: z.looseObject({}) })),
})

/** The run as a value that JSON can hold: its state, its context, and the effects that it wants. */
export function persistRun(run: RunSnapshot): unknown {
  return agentMachine.getPersistedSnapshot(run)
}

/** The run that {@link persistRun} made this of. Throws a `TypeError` for anything else. */
export function reviveRun(persisted: unknown): RunSnapshot {
  const parsed = PersistedRun.safeParse(persisted)
  if (!parsed.success) throw new TypeError(`it is no run of this machine: ${z.prettifyError(parsed.error)}`)
  const { agentId, run } = parsed.data.context
  const stored = persisted as ReturnType<typeof agentMachine.getPersistedSnapshot> // The schema has just said so.
  // JSON drops members that are undefined; a folded context has them all.
  const context = { ...initialContext({ input: { agentId, run } }), ...parsed.data.context }
  const revived = restore({ ...stored, context })
  const children = Object.keys(revived.children)
  if (revived.status !== parsed.data.status || children.length !== Object.keys(parsed.data.children).length) {
    throw new TypeError(
      `it has effects that this machine does not know: it restores only ${children.join(', ')}`,
    )
  }
  return revived
}

function restore(
  snapshot: ReturnType<typeof agentMachine.getPersistedSnapshot> & { readonly context: object },
): RunSnapshot {
  try {
    // Never started: an unstarted actor is the one way to a whole snapshot with its children.
    return createActor(agentMachine, { input: { agentId: '' as AgentId, run: 0 }, snapshot }).getSnapshot()
  } catch (error) {
    throw new TypeError('the machine does not take it back', { cause: error })
  }
}
