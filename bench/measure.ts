/** The program that a fresh process runs: one measurement, its figures as JSON on standard output. */

/** Loaded one by one: what a measurement does not need must not be in its memory. */
const MEASUREMENTS = {
  units: async () => (await import('./scenarios/units.ts')).measureUnits,
  bytes: async () => (await import('./scenarios/units.ts')).measureBytes,
  events: async () => (await import('./scenarios/events.ts')).measureEvents,
  replay: async () => (await import('./scenarios/replay.ts')).measureReplay,
  memory: async () => (await import('./scenarios/memory.ts')).measureMemory,
  longLog: async () => (await import('./scenarios/open.ts')).measureLongLog,
  agentFiles: async () => (await import('./scenarios/agents.ts')).measureAgentFiles,
  decisions: async () => (await import('./scenarios/decisions.ts')).measureDecisions,
  children: async () => (await import('./scenarios/children.ts')).measureChildren,
}

export type Measurements = {
  readonly [Name in keyof typeof MEASUREMENTS]: Awaited<ReturnType<(typeof MEASUREMENTS)[Name]>>
}

const [name = '', input = ''] = process.argv.slice(2)
const load = Object.entries(MEASUREMENTS).find(([known]) => known === name)?.[1]
if (load === undefined) throw new Error(`there is no measurement "${name}"`)
// Written by `inFreshProcess`, whose types tie the input to the name.
const measure = (await load()) as (input: unknown) => Promise<unknown>
process.stdout.write(JSON.stringify(await measure(JSON.parse(input))))
