/** A hook as settings and agent files declare it, in one normal form. */

/** The moments at which hooks run. */
export const HOOK_EVENTS = [
  'SubagentStart',
  'SubagentStop',
  'TaskCreated',
  'TaskCompleted',
  'TeammateIdle',
  'PreToolUse',
  'PostToolUse',
  'PostToolUseFailure',
  'PermissionRequest',
  'UserPromptSubmit',
  'SessionStart',
  'SessionEnd',
  'Stop',
  'Notification',
  'PreCompact',
  'WorktreeCreate',
  'WorktreeRemove',
] as const

/** A moment at which hooks run. */
export type HookEvent = (typeof HOOK_EVENTS)[number]

/** A command that runs at a moment. */
export interface HookDeclaration {
  readonly event: HookEvent
  /** Name, `a|b`, or regular expression of what it is about; absent: all. */
  readonly matcher?: string
  /** For the shell. */
  readonly command: string
  /** In seconds. */
  readonly timeout?: number
}
