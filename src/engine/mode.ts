/**
 * The permission mode of an agent, live.
 *
 *   M1  What the person or host says when the engine is made is the mode of the root, whatever its log says: a session
 *       that is continued under a narrower mode is narrower from then on.
 *   M2  An approved plan changes it, as an event. The change holds for the rest of that run, over restarts too, and for
 *       later runs as long as the session stays open in the engine that saw it. Whoever opens the session again says
 *       anew how it goes on; under a mode other than the one that the plan was approved under it does not hold at all.
 *   M3  So does what the host says later (`engine.setMode`), also between two runs.
 *       A plan of another agent is approved by whoever started it (`plan-approval.ts`): that holds for the one run.
 *   M4  Every decision reads it here, of the agent itself and of each ancestor: what changes above holds below at once,
 *       also when a message begins another run of an agent above, in the mode that it starts with.
 */
import type { PermissionMode } from '../definitions/permission-mode.ts'
import type { AgentEventOf } from '../machines/agent/events.ts'
import type { Agent } from './agent.ts'
import type { EngineCore } from './core.ts'
import { ROOT_TYPE } from './root.ts'

/** The mode that is in force for an agent's own calls, ancestors apart. */
export function modeOf(core: EngineCore, agent: Agent): PermissionMode {
  return changeInForce(core, agent)?.mode ?? modeAtStart(core, agent)
}

/** The mode before any change of it. */
export function modeAtStart(core: EngineCore, agent: Agent): PermissionMode {
  const { agentType, mode } = agent.birth.plan
  return agentType === ROOT_TYPE ? core.root.mode : mode.value
}

/** The widest that the person or host gives the agents of a session. */
export function modeOfSession(core: EngineCore, { session }: Agent): PermissionMode {
  return changeInForce(core, session.root)?.mode ?? core.root.mode
}

function changeInForce(core: EngineCore, agent: Agent): AgentEventOf<'mode.changed'> | undefined {
  const change = agent.digest.modeChange
  if (change === undefined || change.event.given !== core.root.mode) return undefined
  if (agent.parent !== undefined) return change.run === agent.runNumber ? change.event : undefined
  return change.run === agent.runNumber || agent.notes.hasSeenModeChange ? change.event : undefined
}

/**
 * Whether a plan is approved and the mode that follows from it is not in the log: both are one write, and a crash can
 * leave the first line of it. Then the mode is said now.
 */
export function lacksMode(agent: Agent, { answer, by }: AgentEventOf<'question.answered'>): boolean {
  if (answer.kind !== 'plan' || answer['approved'] !== true || agent.mode !== 'plan') return false
  const change = agent.digest.modeChange
  return change?.run !== agent.runNumber || change.event.by !== by || change.event.mode === 'plan'
}

/**
 * What the host says of a session's root now, as an event. Nobody bypasses permissions where settings forbid it: then
 * the mode is `default`, and that is told.
 */
export function modeSaid(
  core: EngineCore,
  root: Agent,
  mode: PermissionMode,
  by: string,
): AgentEventOf<'mode.changed'> {
  const isForbidden = mode === 'bypassPermissions' && core.project?.permissions?.isBypassDisabled === true
  if (isForbidden) core.diagnose('bypass-disabled', BYPASS_DISABLED)
  return {
    type: 'mode.changed',
    from: root.mode,
    mode: isForbidden ? 'default' : mode,
    given: core.root.mode,
    by,
  }
}

const BYPASS_DISABLED =
  'The permission mode "bypassPermissions" was asked for in a session that runs, and a settings file disables it (permissions.disableBypassPermissionsMode); the mode is "default".'
