/** A real engine in memory: scripted model, virtual clock, ids that count. */

import type { Ids } from '../../src/effects/ids.ts'
import type { Model } from '../../src/effects/model/model.ts'
import type { Script } from '../../src/effects/model/scripted.ts'
import { createScriptedModel } from '../../src/effects/model/scripted.ts'
import type { ProcessRunner } from '../../src/effects/process/process-runner.ts'
import { createVirtualClock } from '../../src/effects/virtual-clock.ts'
import type { Engine, EngineEvent, EngineOptions } from '../../src/engine/api.ts'
import { createEngine } from '../../src/engine/create-engine.ts'
import { createMemoryStorage } from '../../src/journal/memory-storage.ts'
import type { AgentId } from '../../src/machines/ids.ts'

export type Fact = Extract<EngineEvent, { kind: 'fact' }>

/** Ids that count up, so that two runs of one script are equal. `start` keeps engines of one test apart. */
export function countingIds(start = 0): Ids {
  let n = start
  const hex = (length: number) => (n++).toString(16).padStart(length, '0')
  return {
    uuid: () => `00000000-0000-4000-8000-${hex(12)}`,
    agentId: () => `a${hex(16)}` as AgentId,
    random: () => 0.5,
  }
}

/** A process runner for tests that run none. */
export const noProcesses: ProcessRunner = {
  run: () => Promise.reject(new Error('this test runs no processes')),
  endSurvivors: () => Promise.resolve(0),
}

export interface TestEngine {
  readonly engine: Engine
  readonly facts: Fact[]
  readonly events: EngineEvent[]
  readonly storage: ReturnType<typeof createMemoryStorage>
  readonly clock: ReturnType<typeof createVirtualClock>
}

/** Makes an engine. Everything that happens is in `events`, the facts among it in `facts`. */
export function testEngine(
  script: Script | Model,
  options: Partial<EngineOptions> & {
    readonly storage?: TestEngine['storage']
    readonly idsFrom?: number
  } = {},
): TestEngine {
  const { idsFrom = 0, ...rest } = options
  const clock = createVirtualClock()
  const storage = rest.storage ?? createMemoryStorage()
  const model = typeof script === 'object' && 'stream' in script ? script : createScriptedModel(script)
  const engine = createEngine({
    model,
    clock,
    ids: countingIds(idsFrom),
    processes: noProcesses,
    home: '/home/test/.troupe',
    permissions: { mode: 'bypassPermissions' },
    tools: [],
    ...rest,
    storage,
  })
  const facts: Fact[] = []
  const events: EngineEvent[] = []
  engine.events$.subscribe((event) => {
    events.push(event)
    if (event.kind === 'fact') facts.push(event)
  })
  return { engine, facts, events, storage, clock }
}

/** The types of facts in order, of one agent or of all. */
export function story(facts: readonly Fact[], agentId?: string): string[] {
  return facts
    .filter((fact) => agentId === undefined || fact.agentId === agentId)
    .map(({ event }) => event.type)
}

/** Lets everything that is ready run, without the clock moving. */
export async function settle(turns = 5): Promise<void> {
  for (let i = 0; i < turns; i++) await new Promise<void>((resolve) => setImmediate(resolve))
}
