import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { AgentDefinition } from '../../../src/definitions/agent-definition.ts'
import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import { momentOf } from '../hooks.ts'
import type { Scenario } from '../scenario.ts'
import { act, agent, put } from '../scenario.ts'

/** Writes down what it is told, in one write, in the middle of a hook that takes its time. */
const note = 'line=$(cat); sleep 0.02; printf "%s\\n" "$line" >> hooks; sleep 0.02'

/** In seconds. Time runs fast for the engine, and not for what it starts. */
const TIMEOUT = 100_000

/** Its hooks are commands; the last one sends it back once. */
const guarded: AgentDefinition = {
  agentType: 'guarded',
  whenToUse: 'for guarded work',
  getSystemPrompt: () => 'You are guarded.',
  hooks: [
    { event: 'SubagentStart', command: note, timeout: TIMEOUT },
    { event: 'PreToolUse', matcher: 'Act|Put', command: note, timeout: TIMEOUT },
    { event: 'PostToolUse', matcher: 'Act|Put', command: note, timeout: TIMEOUT },
    {
      event: 'Stop',
      timeout: TIMEOUT,
      command: `${note}; case "$line" in *'"stop_hook_active":false'*) echo 'look again' >&2; exit 2;; esac`,
    },
  ],
  source: 'policySettings',
}

/** What is not known any more is asked, and here is nobody to ask. */
const OK_OR_LOST = ['ok', 'denied'] as const

export const scenario: Scenario = {
  name: 'hook-commands',
  about:
    'Commands of a definition are hooks of its agent: none runs twice, and none outlives the process that began it.',
  prompts: ['the root'],
  play: {
    'the root': [callMany([agent('the child', 'guarded')]), say('the end')],
    'the child': [callMany([act('child'), put('child')]), say('the report'), say('I have looked again')],
  },
  ends: { 'the root': 'completed', 'the child': 'completed' },
  outcomes: { 'Act child': OK_OR_LOST, 'Put child': OK_OR_LOST },
  options: { definitions: [guarded] },
  usesFiles: true,
  usesProcesses: true,
  check: ({ project = '', logs }) => {
    const file = path.join(project, 'hooks')
    const lines = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : []
    const moments = lines.map((line) => JSON.stringify(momentOf(JSON.parse(line))))
    const again = moments.filter((moment, i) => moments.indexOf(moment) < i)
    const done = logs.flatMap(({ recorded }) =>
      recorded.filter(({ event }) => event.type === 'hook.ended' && event.outcome.kind !== 'lost'),
    )
    return [
      ...again.map((moment) => `the hook of ${moment} ran twice`),
      ...(done.length <= moments.length
        ? []
        : [`${done.length} hooks have ended, and ${moments.length} ran`]),
    ]
  },
}
