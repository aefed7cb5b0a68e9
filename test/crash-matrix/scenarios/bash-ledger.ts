import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { ScriptedCall } from '../../../src/effects/model/scripted-reply.ts'
import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import type { Scenario } from '../scenario.ts'
import { agent, put } from '../scenario.ts'

/** Appends a line in one write, in the middle of a command that takes its time. */
const enter = (line: string): ScriptedCall => ({
  name: 'Bash',
  input: { command: `sleep 0.02; echo ${line} >> ledger; sleep 0.02` },
})

const LINES = ['root one', 'root two', 'child one', 'child two']

export const scenario: Scenario = {
  name: 'bash-ledger',
  about:
    'Commands write a ledger: no line of it is there twice, and one that is missing was told as interrupted.',
  prompts: ['the root'],
  play: {
    'the root': [
      callMany([enter('root one'), agent('the child'), enter('root two')]),
      callMany([put('root')]),
      say('the end'),
    ],
    'the child': [
      callMany([enter('child one'), put('child')]),
      callMany([enter('child two')]),
      say('the report'),
    ],
  },
  ends: { 'the root': 'completed', 'the child': 'completed' },
  usesFiles: true,
  usesProcesses: true,
  check: ({ logs, project = '' }) => {
    const file = path.join(project, 'ledger')
    const ledger = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : []
    const calls = logs.flatMap((log) => log.calls)
    return LINES.flatMap((line) => {
      const times = ledger.filter((entry) => entry === line).length
      const outcome = calls.find(({ label }) => label.includes(`echo ${line} `))?.outcomes[0]
      if (times > 1) return [`"${line}" is in the ledger ${times} times`]
      return times === 0 && outcome !== 'interrupted' ? [`"${line}" is missing, and told as ${outcome}`] : []
    })
  },
}
