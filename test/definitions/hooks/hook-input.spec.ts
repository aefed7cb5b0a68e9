import { describe, expect, it } from 'vitest'
import { HOOK_EVENTS } from '../../../src/definitions/hook-declaration.ts'
import { HookInput, hookInput, subjectOf } from '../../../src/definitions/hooks/hook-input.ts'

const COMMON = {
  session_id: 's',
  transcript_path: '/logs/s.jsonl',
  cwd: '/project',
  permission_mode: 'acceptEdits',
} as const
const CHILD = { agent_id: 'a1', agent_type: 'Explore' }
const TOOL = { ...CHILD, tool_name: 'Bash', tool_input: { command: 'ls' }, tool_use_id: 'toolu_1' }
const TASK = { task_id: '1', task_subject: 's', task_description: 'd', teammate_name: 'n', team_name: 't' }

const INPUTS: readonly HookInput[] = [
  hookInput('SubagentStart', { ...COMMON, ...CHILD }),
  hookInput('SubagentStop', {
    ...COMMON,
    ...CHILD,
    agent_transcript_path: '/logs/a1.jsonl',
    last_assistant_message: 'done',
    stop_hook_active: false,
  }),
  hookInput('TaskCreated', { ...COMMON, ...TASK }),
  hookInput('TaskCompleted', { ...COMMON, ...TASK }),
  hookInput('TeammateIdle', { ...COMMON, teammate_name: 'n', team_name: 't' }),
  hookInput('PreToolUse', { ...COMMON, ...TOOL }),
  hookInput('PostToolUse', { ...COMMON, ...TOOL, tool_response: { stdout: '' } }),
  hookInput('PostToolUseFailure', { ...COMMON, ...TOOL, error: 'exit 1', is_interrupt: false }),
  hookInput('PermissionRequest', { ...COMMON, tool_name: 'Bash', tool_input: {} }),
  hookInput('UserPromptSubmit', { ...COMMON, prompt: 'go' }),
  hookInput('SessionStart', { ...COMMON, source: 'resume', model: 'm' }),
  hookInput('SessionEnd', { ...COMMON, reason: 'other' }),
  hookInput('Stop', { ...COMMON, stop_hook_active: true }),
  hookInput('Notification', { ...COMMON, message: 'm', notification_type: 'permission_prompt' }),
  hookInput('PreCompact', { ...COMMON, trigger: 'auto', custom_instructions: '' }),
  hookInput('WorktreeCreate', { ...COMMON, name: 'fix' }),
  hookInput('WorktreeRemove', { ...COMMON, worktree_path: '/w/fix' }),
]

describe('the input of a hook', () => {
  it('is there for every event, and its schema takes it as it is', () => {
    expect(INPUTS.map(({ hook_event_name }) => hook_event_name).sort()).toEqual([...HOOK_EVENTS].sort())
    for (const input of INPUTS) expect(HookInput.parse(JSON.parse(JSON.stringify(input)))).toEqual(input)
  })

  it('refuses an event without its facts', () => {
    const { success } = HookInput.safeParse({ ...COMMON, hook_event_name: 'SubagentStop', ...CHILD })
    expect(success).toBe(false)
  })

  it('has something that matchers are compared with, where there is something', () => {
    const subjects = Object.fromEntries(INPUTS.map((input) => [input.hook_event_name, subjectOf(input)]))
    const tool = { kind: 'tool', name: 'Bash' }
    const other = (name: string) => ({ kind: 'other', name })
    expect(subjects).toEqual({
      SubagentStart: other('Explore'),
      SubagentStop: other('Explore'),
      PreToolUse: tool,
      PostToolUse: tool,
      PostToolUseFailure: tool,
      PermissionRequest: tool,
      SessionStart: other('resume'),
      SessionEnd: other('other'),
      Notification: other('permission_prompt'),
      PreCompact: other('auto'),
    })
  })
})
