/**
 * The program that is killed: `node worker.js '<WorkerInput as JSON>'`.
 *
 * Starts the scenario's session, or resumes it where its log ends; started again often enough it gets to the end.
 * Says `ready` when it begins and ends with code 0 when the root agent has answered.
 */
import { z } from 'zod'
import { standardTools } from '../../src/effects/tools/tool-table.ts'
import type { Engine, Run } from '../../src/engine/api.ts'
import { createEngine } from '../../src/engine/create-engine.ts'
import { EngineError } from '../../src/engine/errors.ts'
import { keyedLedgerTool, scenarioModel, TASK } from './scenario.ts'

const WorkerInput = z.object({
  sessionId: z.string(),
  tool: z.enum(['keyed', 'bash']),
  durability: z.enum(['write', 'fsync']),
  /** Folder of the logs. */
  home: z.string(),
  /** Working directory of the agents. */
  cwd: z.string(),
  /** Files that side effects and model calls are counted in. */
  ledger: z.string(),
  requests: z.string(),
})
export type WorkerInput = z.infer<typeof WorkerInput>

const input = WorkerInput.parse(JSON.parse(process.argv[2] ?? ''))
const engine = createEngine({
  model: scenarioModel(input.tool, input.ledger, input.requests),
  tools: [...standardTools(), keyedLedgerTool(input.ledger)],
  home: input.home,
  cwd: input.cwd,
  durability: input.durability,
  permissions: { mode: 'bypassPermissions' },
})

process.stdout.write('ready\n')
const run = await startOrResume(engine, input.sessionId)
const result = await run?.result
await engine.close()
if (result !== undefined && result.outcome.kind !== 'completed') {
  throw new Error(`the run ended ${JSON.stringify(result.outcome)}`)
}

/** The run that is on; undefined when the session has answered already. */
async function startOrResume(engine: Engine, sessionId: string): Promise<Run | undefined> {
  try {
    const resumed = await engine.resume(sessionId)
    const hasAnswered = engine.agents.some(({ turns }) => turns > 0)
    return resumed ?? (hasAnswered ? undefined : engine.run(TASK, { sessionId }))
  } catch (error) {
    // Killed before its first line, or never started.
    if (EngineError.is(error) && error.code === 'no-such-session') return engine.run(TASK, { sessionId })
    throw error
  }
}
