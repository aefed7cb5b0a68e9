/** What hooks can do at each event, as one table: the rest of the code asks here and has no branches by event. */
import type { HookEvent } from '../hook-declaration.ts'

/**
 * What a block (exit 2, or `decision: "block"`) does.
 *
 * - `denies`: the tool call is refused; the reason goes to the agent.
 * - `continues`: the agent does not stop but goes on working; the reason goes to the agent.
 * - `refuses`: what was about to happen does not; the reason goes to whoever asked for it.
 * - `advises`: it has happened already; the reason goes to the agent as context.
 * - `nothing`: nothing can be blocked; the reason goes to the person.
 */
export type BlockEffect = 'denies' | 'continues' | 'refuses' | 'advises' | 'nothing'

/** What hooks can do at an event. */
export interface HookEventTraits {
  /** The field of the input that matchers are compared with. Absent: there is nothing to match, all hooks run. */
  readonly subject?: 'tool_name' | 'agent_type' | 'source' | 'reason' | 'trigger' | 'notification_type'
  readonly block: BlockEffect
  /** What plain text on standard output is: shown to the agent, the path of a new folder, or of no meaning. */
  readonly plainText: 'for-agent' | 'path' | 'nothing'
  /** `additionalContext` reaches an agent. */
  readonly takesContext: boolean
}

const traits = (
  block: BlockEffect,
  subject?: HookEventTraits['subject'],
  more: Partial<HookEventTraits> = {},
): HookEventTraits => ({
  block,
  ...(subject !== undefined && { subject }),
  plainText: 'nothing',
  takesContext: false,
  ...more,
})

const FOR_AGENT = { plainText: 'for-agent', takesContext: true } as const
const WITH_CONTEXT = { takesContext: true } as const

/** What hooks can do at each event. */
export const HOOK_EVENT_TRAITS: Readonly<Record<HookEvent, HookEventTraits>> = {
  SubagentStart: traits('nothing', 'agent_type', FOR_AGENT),
  SubagentStop: traits('continues', 'agent_type'),
  TaskCreated: traits('refuses'),
  TaskCompleted: traits('refuses'),
  TeammateIdle: traits('continues'),
  PreToolUse: traits('denies', 'tool_name', WITH_CONTEXT),
  PostToolUse: traits('advises', 'tool_name', WITH_CONTEXT),
  PostToolUseFailure: traits('advises', 'tool_name', WITH_CONTEXT),
  PermissionRequest: traits('denies', 'tool_name'),
  UserPromptSubmit: traits('refuses', undefined, FOR_AGENT),
  SessionStart: traits('nothing', 'source', FOR_AGENT),
  SessionEnd: traits('nothing', 'reason'),
  Stop: traits('continues'),
  Notification: traits('nothing', 'notification_type'),
  PreCompact: traits('refuses', 'trigger'),
  WorktreeCreate: traits('refuses', undefined, { plainText: 'path' }),
  WorktreeRemove: traits('refuses'),
}

/** Hooks of this event have a say in whether a tool call may run. */
export function decidesPermission(event: HookEvent): event is 'PreToolUse' | 'PermissionRequest' {
  return HOOK_EVENT_TRAITS[event].block === 'denies'
}
