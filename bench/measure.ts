/** The program that a fresh process runs: one measurement, its figures as JSON on standard output. */
import { measureChildren } from './scenarios/children.ts'
import { measureEvents } from './scenarios/events.ts'
import { measureMemory } from './scenarios/memory.ts'
import { measureReplay } from './scenarios/replay.ts'
import { measureBytes, measureUnits } from './scenarios/units.ts'

const MEASUREMENTS = {
  units: measureUnits,
  bytes: measureBytes,
  events: measureEvents,
  replay: measureReplay,
  memory: measureMemory,
  children: measureChildren,
}

export type Measurements = typeof MEASUREMENTS

const [name = '', input = ''] = process.argv.slice(2)
const measurement = Object.entries(MEASUREMENTS).find(([known]) => known === name)?.[1]
if (measurement === undefined) throw new Error(`there is no measurement "${name}"`)
// Written by `inFreshProcess`, whose types tie the input to the name.
const figures = await (measurement as (input: unknown) => Promise<unknown>)(JSON.parse(input))
process.stdout.write(JSON.stringify(figures))
