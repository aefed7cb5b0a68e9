/** Colours where they are wanted: on a terminal, unless `NO_COLOR` or a dumb terminal says no. */
import picocolors from 'picocolors'
import type { Host, Output } from './host.ts'

export type Colours = ReturnType<typeof picocolors.createColors>

/** Colours for an output; functions that change nothing where there should be none. */
export function coloursFor(output: Output, env: Host['env']): Colours {
  const forced = env['FORCE_COLOR'] !== undefined && env['FORCE_COLOR'] !== '' && env['FORCE_COLOR'] !== '0'
  const wanted = !env['NO_COLOR'] && (forced || (output.isTTY && env['TERM'] !== 'dumb'))
  return picocolors.createColors(wanted)
}
