import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import { readProcess } from '../../../src/effects/process/process-table.ts'
import type { Scenario } from '../scenario.ts'
import { put } from '../scenario.ts'

/** Longer than the scenario: whoever waits for it has not moved it. Says who it is first. */
const command = 'echo $$ >> pids; exec sleep 100'

export const scenario: Scenario = {
  name: 'moved-shell',
  about:
    'The host moves a command to the background as soon as it is a process; nothing of it outlives the session.',
  prompts: ['the root'],
  play: {
    'the root': [
      callMany([{ name: 'Bash', input: { command } }, put('beside')]),
      callMany([put('behind')]),
      say('the end'),
    ],
  },
  ends: { 'the root': 'completed' },
  // The id of the shell is that of its call, which has another place in the log behind a crash.
  isInBackground: true,
  usesFiles: true,
  usesProcesses: true,
  onFact: ({ event, agentId }, engine) => {
    if (event.type === 'process.started') void engine.backgroundCalls(agentId).catch(() => {})
  },
  check: ({ project = '' }) => {
    const file = path.join(project, 'pids')
    const pids = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : []
    return pids.flatMap((pid) =>
      // One that only waits to be reaped does not.
      readProcess(Number(pid))?.isDead === false
        ? [`the process ${pid} of the moved command still runs`]
        : [],
    )
  },
}
