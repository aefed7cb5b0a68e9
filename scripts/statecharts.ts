/**
 * Writes `docs/statecharts.md`. Run it after a change of a machine: `npx tsx scripts/statecharts.ts`.
 * A test fails while the file is stale.
 */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { AnyStateMachine } from 'xstate'
import { agentMachine } from '../src/machines/agent/machine.ts'
import { diagramOf, startedByActions, tableOf } from './render-statechart.ts'

const ROOT = path.resolve(fileURLToPath(import.meta.url), '../..')

/** Where the rendered statecharts live, absolute. */
export const STATECHARTS_FILE = path.join(ROOT, 'docs/statecharts.md')

/** A machine and what its section says first. */
export interface Chart {
  readonly title: string
  /** Its source, relative to the repository. */
  readonly source: string
  readonly summary: string
  readonly machine: AnyStateMachine
}

/** Every machine of the engine, in reading order. */
export const CHARTS: readonly Chart[] = [
  {
    title: 'A run of an agent',
    source: 'src/machines/agent/machine.ts',
    summary: `From a message to its answer. \`running\` has two regions that do not know each other: moving to the
background never touches the turn. Every way out leads through \`settling\`, and the first outcome stays.`,
    machine: agentMachine,
  },
]

const INTRODUCTION = `# Statecharts

Drawn from the machines by \`scripts/statecharts.ts\`; do not edit by hand.

- An arrow says \`event [guard]\`. Several guards of one event are listed under it, in the order in which they are
  tried. An arrow without an event is taken at once, in the step that enters the state.
- \`▶ name\` is an effect: it starts when the state is entered and is aborted when it is left.
- An arrow from the edge of a box holds for everything in the box.
- What a state takes without leaving it is not drawn; the table under each chart has all transitions. An event
  that is in neither is not taken: it changes nothing. An end takes nothing at all.
`

/** The whole file. */
export function renderStatecharts(charts: readonly Chart[] = CHARTS): string {
  return [INTRODUCTION, ...charts.map(sectionOf)].join('\n')
}

function sectionOf({ title, source, summary, machine }: Chart): string {
  const others = startedByActions(machine).map((name) => `\`${name}\``)
  const note =
    others.length > 0
      ? `Effects that actions start, one for each piece of work: ${others.join(', ')}.\n\n`
      : ''
  return `## ${title}

${summary}

Source: [\`${source}\`](../${source}).

\`\`\`mermaid
${diagramOf(machine)}
\`\`\`

${note}${tableOf(machine)}
`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(STATECHARTS_FILE, renderStatecharts())
