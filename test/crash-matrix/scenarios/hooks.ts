import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import type { SeenLog } from '../final.ts'
import type { Scenario } from '../scenario.ts'
import { act, agent, look } from '../scenario.ts'

/** What is not known any more is asked, and here is nobody to ask. */
const OK_OR_LOST = ['ok', 'denied'] as const

export const scenario: Scenario = {
  name: 'hooks',
  about:
    'Hooks see children begin and stop, and calls; one sends each child back once, another refuses a call.',
  prompts: ['the root'],
  play: {
    'the root': [callMany([agent('the child'), agent('other child')]), say('the end')],
    'the child': [callMany([look('child'), act('child')]), say('the report'), say('I have looked again')],
    'other child': [callMany([act('bad')]), say('the other report'), say('I have looked, too')],
  },
  ends: { 'the root': 'completed', 'the child': 'completed', 'other child': 'completed' },
  outcomes: {
    'Look child': OK_OR_LOST,
    'Act child': OK_OR_LOST,
    'Act bad': 'denied',
  },
  hooks: [
    {
      event: 'SubagentStart',
      answer: () => ({
        hookSpecificOutput: { hookEventName: 'SubagentStart', additionalContext: 'be quick' },
      }),
    },
    {
      event: 'SubagentStop',
      answer: (input) =>
        'stop_hook_active' in input && input.stop_hook_active === false
          ? { decision: 'block', reason: 'look again' }
          : undefined,
    },
    {
      event: 'PreToolUse',
      matcher: 'Look|Act',
      answer: (input) => ({
        hookSpecificOutput: {
          hookEventName: 'PreToolUse',
          permissionDecision: JSON.stringify(input).includes('"bad"') ? 'deny' : 'allow',
        },
      }),
    },
    { event: 'PostToolUse', matcher: 'Look|Act' },
  ],
  check: ({ logs }) => logs.flatMap(problemsIn),
}

/** A call is refused by its hook, or because nobody knows what that said. Who heard the stop hook has gone on. */
function problemsIn({ recorded, calls, path, isRoot }: SeenLog): readonly string[] {
  const events = recorded.map(({ event }) => event)
  const outcomeOf = (moment: string): string | undefined => {
    const started = events.find((event) => event.type === 'hook.started' && event.moment === moment)
    const ended = events.find(
      (event) =>
        started?.type === 'hook.started' && event.type === 'hook.ended' && event.hook === started.hook,
    )
    return ended?.type === 'hook.ended' ? ended.outcome.kind : undefined
  }
  const refusals = calls.flatMap(({ label, callId, tool, outcomes }) => {
    if (tool === 'Agent') return []
    const isRefused = label.includes('bad') || outcomeOf(`PreToolUse ${callId}`) === 'lost'
    return isRefused === (outcomes[0] === 'denied') ? [] : [`${path}: ${label} is told ${outcomes.join()}`]
  })
  if (isRoot) return refusals
  const blocks = events.filter(({ type }) => type === 'stop.blocked').length
  const meant = outcomeOf('SubagentStop 0') === 'lost' ? 0 : 1
  return blocks === meant
    ? refusals
    : [...refusals, `${path}: it was sent back ${blocks} times, not ${meant}`]
}
