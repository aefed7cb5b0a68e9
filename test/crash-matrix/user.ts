/** The user of a session, and the engine that is made for a scenario: the same in memory and on a real disk. */
import { exitPlanModeTool } from '../../src/effects/tools/exit-plan-mode.ts'
import { standardTools } from '../../src/effects/tools/tool-table.ts'
import type { Engine, EngineOptions, Run } from '../../src/engine/api.ts'
import { createEngine } from '../../src/engine/create-engine.ts'
import type { SessionPaths } from '../../src/journal/paths.ts'
import { loadLog } from '../../src/journal/read-log.ts'
import type { Storage } from '../../src/journal/storage.ts'
import { SessionId } from '../../src/machines/ids.ts'
import { notedHook } from './hooks.ts'
import { matrixModel } from './model.ts'
import type { Record } from './record.ts'
import type { Scenario } from './scenario.ts'
import type { Life } from './tools.ts'
import { matrixTools } from './tools.ts'

export const SESSION = SessionId.parse('5e551011-0000-4000-8000-0000000c4a54')

/** What an engine stands on. */
export type Ports = Required<Pick<EngineOptions, 'storage' | 'clock' | 'ids' | 'processes' | 'home' | 'cwd'>>

/** An engine for a process that plays the scenario. */
export function engineFor(scenario: Scenario, life: Life, record: Record, ports: Ports): Engine {
  const { hooks = [], onFact, onApproval } = scenario
  const engine = createEngine({
    model: matrixModel(scenario, life, record),
    tools: [
      ...matrixTools(life, record),
      ...(scenario.usesFiles === true ? standardTools() : [exitPlanModeTool]),
    ],
    permissions: { mode: 'bypassPermissions' },
    hooks: hooks.map((hook) => notedHook(hook, life, record)),
    ...scenario.options,
    ...ports,
  })
  if (onFact !== undefined || onApproval !== undefined) {
    engine.events$.subscribe((event) => {
      if (event.kind === 'fact') scenario.onFact?.(event, engine)
      if (event.kind === 'approval') scenario.onApproval?.(event.request, engine)
    })
  }
  return engine
}

/** Brings the session back if it is on the disk, asks what is left to ask, and closes. Rejects when anything is refused. */
export async function useSession(
  scenario: Scenario,
  engine: Engine,
  { life, record, storage, paths }: { life: Life; record: Record; storage: Storage; paths: SessionPaths },
): Promise<void> {
  const wait = async (run: Run): Promise<void> => {
    const { status, text } = await run.result
    record.note({ kind: 'result', life: life.number, status, text })
    if (scenario.leavesChildren === true) await whenQuiet(engine)
  }
  const isThere = await storage.exists(paths.rootLog)
  const resumed = isThere ? await engine.resume(SESSION) : undefined
  if (resumed !== undefined) await wait(resumed)
  else if (isThere && scenario.leavesChildren === true) await whenQuiet(engine)
  for (let next = await runsStarted(storage, paths); next < scenario.prompts.length; next += 1) {
    const { maxTurns, leavesChildren } = scenario
    await wait(
      engine.run(scenario.prompts[next] ?? '', {
        sessionId: SESSION,
        ...(maxTurns !== undefined && { maxTurns }),
        ...(leavesChildren !== undefined && { leavesChildren }),
      }),
    )
  }
  await engine.close()
}

/** Resolves when the root alone is left, has nothing to do, and is told nothing. */
async function whenQuiet(engine: Engine): Promise<void> {
  for (let quiet = 0; quiet < QUIET_TURNS; ) {
    await new Promise<void>((resolve) => setImmediate(resolve))
    const isAtRest = engine.agents.every(({ phase }) => AT_REST.includes(phase))
    quiet = isAtRest ? quiet + 1 : 0
  }
}

const QUIET_TURNS = 30
const AT_REST: readonly string[] = ['idle', 'completed', 'failed', 'killed']

async function runsStarted(storage: Storage, { rootLog }: SessionPaths): Promise<number> {
  if (!(await storage.exists(rootLog))) return 0
  const { events } = await loadLog(storage, rootLog)
  return events.filter(({ event }) => event.type === 'run.started' && event.origin.from === 'user').length
}
