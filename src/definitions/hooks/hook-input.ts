/**
 * What a hook is told: one JSON object, on standard input of a command or as the argument of a function.
 *
 * Field names are those that hooks written for Claude Code read. Absent facts are left out, never null.
 */
import * as z from 'zod'
import type { HookEvent } from '../hook-declaration.ts'
import { PermissionMode } from '../permission-mode.ts'
import { HOOK_EVENT_TRAITS } from './event-traits.ts'

const common = {
  session_id: z.string(),
  /** The log of the root agent, absolute; a child's own is only in `agent_transcript_path`. */
  transcript_path: z.string(),
  cwd: z.string(),
  permission_mode: PermissionMode.optional(),
}
/** Who, where the event may be one of a child. Both are absent for the root. */
const within = { agent_id: z.string().optional(), agent_type: z.string().optional() }
const child = { agent_id: z.string(), agent_type: z.string() }
const tool = {
  ...within,
  tool_name: z.string(),
  tool_input: z.unknown(),
  tool_use_id: z.string(),
}
const member = { teammate_name: z.string().optional(), team_name: z.string().optional() }
const task = {
  ...within,
  ...member,
  task_id: z.string(),
  task_subject: z.string(),
  task_description: z.string().optional(),
}

const on = <E extends HookEvent, S extends z.ZodRawShape>(event: E, fields: S) =>
  z.object({ ...common, hook_event_name: z.literal(event), ...fields })

/** The input of hooks, by `hook_event_name`. */
export const HookInput = z.discriminatedUnion('hook_event_name', [
  on('SubagentStart', child),
  on('SubagentStop', {
    ...child,
    /** The child's own log. */
    agent_transcript_path: z.string(),
    last_assistant_message: z.string().optional(),
    /** It goes on already because a stop hook wanted it to. */
    stop_hook_active: z.boolean(),
  }),
  on('TaskCreated', task),
  on('TaskCompleted', task),
  on('TeammateIdle', { ...within, teammate_name: z.string(), team_name: z.string() }),
  on('PreToolUse', tool),
  on('PostToolUse', { ...tool, tool_response: z.unknown() }),
  on('PostToolUseFailure', { ...tool, error: z.string(), is_interrupt: z.boolean().optional() }),
  on('PermissionRequest', { ...tool, tool_use_id: z.string().optional() }),
  on('UserPromptSubmit', { ...within, prompt: z.string() }),
  on('SessionStart', {
    source: z.enum(['startup', 'resume', 'clear', 'compact']),
    model: z.string().optional(),
    agent_type: z.string().optional(),
  }),
  on('SessionEnd', { reason: z.enum(['clear', 'logout', 'prompt_input_exit', 'other']) }),
  on('Stop', { last_assistant_message: z.string().optional(), stop_hook_active: z.boolean() }),
  on('Notification', {
    ...within,
    message: z.string(),
    title: z.string().optional(),
    notification_type: z.string().optional(),
  }),
  on('PreCompact', {
    ...within,
    trigger: z.enum(['manual', 'auto']),
    custom_instructions: z.string().optional(),
  }),
  on('WorktreeCreate', { ...within, name: z.string() }),
  on('WorktreeRemove', { ...within, worktree_path: z.string() }),
])
export type HookInput = z.infer<typeof HookInput>

/** The input at one event. */
export type HookInputOf<E extends HookEvent> = Extract<HookInput, { hook_event_name: E }>

/** The facts that make it: all fields but the event's name. */
export type HookFacts<E extends HookEvent> = Omit<HookInputOf<E>, 'hook_event_name'>

/**
 * The input of an event.
 *
 * @example hookInput('Stop', { session_id, transcript_path, cwd, permission_mode: 'default', stop_hook_active: false })
 */
export function hookInput<E extends HookEvent>(event: E, facts: HookFacts<E>): HookInputOf<E> {
  // The compiler does not see that name and facts of one event are together its input; `HookFacts` says so.
  return { hook_event_name: event, ...facts } as unknown as HookInputOf<E>
}

/** What matchers are compared with. */
export interface HookSubject {
  /** Names of tools have aliases and belong to servers. */
  readonly kind: 'tool' | 'other'
  readonly name: string
}

/** What an input is about, for matchers. Undefined where its event has nothing to match, or the fact is missing. */
export function subjectOf(input: HookInput): HookSubject | undefined {
  const { subject } = HOOK_EVENT_TRAITS[input.hook_event_name]
  if (subject === undefined) return undefined
  const name: unknown = Object.entries(input).find(([key]) => key === subject)?.[1]
  return typeof name === 'string' ? { kind: subject === 'tool_name' ? 'tool' : 'other', name } : undefined
}
