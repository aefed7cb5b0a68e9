/**
 * `Notification` hooks: something waits for a person.
 *
 * They tell and decide nothing, so nobody waits for them: not the question, nor its answer. They are effects of the
 * agent all the same: its end waits until they have ended, and when what they tell of is over they have a short time left.
 */
import type { Agent } from '../agent.ts'
import type { EngineCore } from '../core.ts'
import { messageOf } from '../errors.ts'

/** What is waited for, in the words of hooks for Claude Code where there are any. */
type NotificationType = 'permission_prompt' | 'elicitation_dialog' | 'shell_input_wait'

export interface Notice {
  readonly type: NotificationType
  /** Tells it from other notices of its kind in the run; ends with a blank and the id of the call that it is about. */
  readonly which: string
  readonly message: string
}

/** Milliseconds that a hook has when what it tells of is over. */
const GRACE_MS = 5_000

/** Runs the hooks. Call the result when nobody is waited for any more. */
export function notifyPerson(
  core: EngineCore,
  agent: Agent,
  { type, which, message }: Notice,
  signal: AbortSignal,
): () => void {
  const moment = {
    event: 'Notification',
    which,
    facts: { message: core.mask.text(message), notification_type: type },
  } as const
  if (!core.hooks.has(agent, moment)) return () => {}
  const abort = agent.scope.start(
    'notification',
    async (own) => {
      await core.hooks.decide(agent, moment, () => own.signal)
    },
    () => Promise.resolve(),
    (error) =>
      core.diagnose('hook-notice', `a notification of agent ${agent.id} failed: ${messageOf(error)}`),
  )
  signal.addEventListener('abort', abort, { once: true })
  return () => void core.clock.setTimer(GRACE_MS, abort)
}
