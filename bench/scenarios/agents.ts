/** How fast agent files become definitions, beside the time that reading their bytes takes. */
import { mkdirSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openProject } from '../../src/effects/project/open-project.ts'
import { createAgentFileReader } from '../../src/effects/project/read-agent-files.ts'
import { writeAgentFiles } from '../agent-files.ts'
import type { Cost } from '../clocks.ts'
import { costOf } from '../clocks.ts'
import { newFolder } from '../folders.ts'
import { inFreshProcess } from '../fresh-process.ts'
import type { Settings } from '../settings.ts'
import type { Spread } from '../statistics.ts'
import { spreadOf } from '../statistics.ts'
import type { Table } from '../table.ts'
import { number, spread } from '../table.ts'

/**
 * `bytes`: the files are read and thrown away. `load`: a project is opened, definitions and all. `again`: all places
 * are read once more and nothing has changed, which is what a change of one file costs besides that file.
 */
const VARIANTS = ['bytes', 'load', 'again'] as const
type LoadVariant = (typeof VARIANTS)[number]

export interface AgentFilesInput {
  readonly variant: LoadVariant
  /** A project with `.claude/agents`, and a home folder without anything. */
  readonly project: string
  readonly home: string
  readonly files: number
  /** Besides the first one of the process. */
  readonly repeats: number
}

export interface AgentFilesFigures {
  readonly cold: Cost
  readonly warm: readonly Cost[]
}

type Results = Readonly<Record<LoadVariant, readonly AgentFilesFigures[]>>

/** Runs the scenario: figures, and the table that shows them. */
export async function reportAgents(settings: Settings) {
  const files = settings.quick ? 100 : 2_500
  const processes = settings.quick ? 1 : 5
  const project = newFolder(settings.folder)
  const home = newFolder(settings.folder)
  const agents = join(project, '.claude', 'agents')
  mkdirSync(agents, { recursive: true })
  const bytes = writeAgentFiles(agents, files)
  const results: Record<LoadVariant, AgentFilesFigures[]> = { bytes: [], load: [], again: [] }
  // In turns, so that a slow minute hits all of them.
  for (let i = 0; i < processes; i += 1) {
    for (const variant of VARIANTS) {
      const input = { variant, project, home, files, repeats: settings.quick ? 2 : 8 }
      results[variant].push(await inFreshProcess(settings, 'agentFiles', input))
    }
  }
  return { figures: { files, totalBytes: bytes, ...results }, tables: [agentsTable(files, bytes, results)] }
}

const WORDS: Readonly<Record<LoadVariant, string>> = {
  bytes: 'their bytes alone',
  load: 'opening the project',
  again: 'reading again, unchanged',
}

function agentsTable(files: number, bytes: number, results: Results): Table {
  const cpuOf = (variant: LoadVariant) => ({
    cold: spreadOf(results[variant].map(({ cold }) => cold.cpuMs)),
    warm: spreadOf(results[variant].flatMap(({ warm }) => warm.map(({ cpuMs }) => cpuMs))),
  })
  const bytesAlone = cpuOf('bytes')
  const perSecond = ({ min }: Spread): string => number(Math.round(files / (min / 1_000)))
  const ratio = (own: Spread, other: Spread): string => number(own.min / other.min)
  return {
    title: `Agent files: ${number(files)} of them, ${number(bytes / 1_000_000)} MB`,
    notes: [
      'Cold: the first time in a process, whose code has not been compiled yet; the files are in the page cache. Warm: again in the same process. Ratios are to the bytes alone.',
    ],
    columns: ['what', 'cold, CPU ms', 'files per s', 'ratio', 'warm, CPU ms', 'files per s', 'ratio'],
    rows: VARIANTS.map((variant) => {
      const { cold, warm } = cpuOf(variant)
      return [
        WORDS[variant],
        ...[cold, warm].flatMap((own, i) => [
          spread(own),
          perSecond(own),
          ratio(own, i === 0 ? bytesAlone.cold : bytesAlone.warm),
        ]),
      ]
    }),
  }
}

/** Reads the files in this process, the first time and then again. */
export async function measureAgentFiles(input: AgentFilesInput): Promise<AgentFilesFigures> {
  const once = await workOf(input)
  const check = async (): Promise<void> => {
    const found = await once()
    if (found !== input.files) throw new Error(`${found} files were read, not ${input.files}`)
  }
  const cold = await costOf(check)
  const warm: Cost[] = []
  for (let i = 0; i < input.repeats; i += 1) warm.push(await costOf(check))
  return { cold, warm }
}

async function workOf({ variant, project, home }: AgentFilesInput): Promise<() => Promise<number>> {
  const agents = join(project, '.claude', 'agents')
  switch (variant) {
    case 'bytes':
      return () => readBytesAlone(agents)
    case 'load':
      return async () => {
        const opened = await openProject({ cwd: project, home, env: {}, builtIn: [] })
        return opened.agents.allAgents.length
      }
    case 'again': {
      const reader = createAgentFileReader()
      const origin = { source: 'projectSettings', baseDir: project } as const
      const sources = { places: [{ path: agents, within: [project], origin }], texts: [] }
      await reader.read(sources)
      return async () => (await reader.read(sources)).length
    }
  }
}

const READS_AT_ONCE = 16

/** As the loader lists and reads, and nothing more. */
async function readBytesAlone(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).values()
  let count = 0
  const worker = async (): Promise<void> => {
    for (const { parentPath, name } of files) {
      await readFile(join(parentPath, name))
      count += 1
    }
  }
  await Promise.all(Array.from({ length: READS_AT_ONCE }, worker))
  return count
}
