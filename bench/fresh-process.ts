/**
 * A measurement in a process of its own: nothing that was run before has warmed its code or filled its memory.
 *
 * The program is `measure.ts`: called with the name of a measurement and its input as JSON, it measures and prints the
 * figures as JSON.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Measurements } from './measure.ts'
import type { Settings } from './settings.ts'

const run = promisify(execFile)

const PROGRAM = fileURLToPath(new URL('./measure.js', import.meta.url))

type Measurement = keyof Measurements

/** Runs one measurement and gives its figures. Rejects with the process's own words when it fails. */
export async function inFreshProcess<M extends Measurement>(
  settings: Settings,
  measurement: M,
  input: Parameters<Measurements[M]>[0],
): Promise<Awaited<ReturnType<Measurements[M]>>> {
  const profiling =
    settings.profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${settings.profiles}`]
  const args = [...profiling, '--expose-gc', PROGRAM, measurement, JSON.stringify(input)]
  const { stdout } = await run(process.execPath, args, { maxBuffer: 64 * 1024 * 1024 })
  // Our own program wrote it with the type that the same name has there.
  return JSON.parse(stdout) as Awaited<ReturnType<Measurements[M]>>
}
