/** `npm run bench`: all scenarios in one run, as tables on standard output and, with `--json`, as figures in a file. */

import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { newFolder } from './folders.ts'
import { peersTable } from './peers-row.ts'
import { reportAgents } from './scenarios/agents.ts'
import { reportChildren } from './scenarios/children.ts'
import { reportCrash } from './scenarios/crash.ts'
import { reportDecisions } from './scenarios/decisions.ts'
import { reportEvents } from './scenarios/events.ts'
import { reportMemory } from './scenarios/memory.ts'
import { reportOpening, reportStreaming } from './scenarios/open.ts'
import { reportOverhead } from './scenarios/overhead.ts'
import { reportReplay } from './scenarios/replay.ts'
import { reportWorktrees } from './scenarios/worktrees.ts'
import type { Settings } from './settings.ts'
import { readSettings, USAGE } from './settings.ts'
import type { Table } from './table.ts'
import { printTable } from './table.ts'

const asked = readSettings(process.argv.slice(2))
if (asked === 'help') console.log(USAGE)
else {
  const folder = newFolder(asked.folder)
  try {
    await runAll({ ...asked, folder })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function runAll(settings: Settings): Promise<void> {
  const where = machineFacts(settings)
  console.log(
    `## Benchmarks${settings.quick ? ' (quick: the figures mean nothing)' : ''}\n\n${describe(where)}\n`,
  )
  if (settings.profiles !== undefined) mkdirSync(settings.profiles, { recursive: true })
  const figures: Record<string, unknown> = {}
  const wants = (name: string): boolean => settings.only?.includes(name) ?? true
  const run = async <F>(
    name: string,
    report: () => Promise<{ readonly figures: F; readonly tables: readonly Table[] }>,
  ): Promise<F | undefined> => {
    if (!wants(name)) return undefined
    const { figures: own, tables } = await report()
    for (const table of tables) console.log(`${printTable(table)}\n`)
    figures[name] = own
    return own
  }

  const calls = await run('calls', () => reportOverhead(settings, 'call'))
  await run('turns', () => reportOverhead(settings, 'turn'))
  await run('events', () => reportEvents(settings))
  await run('replay', () => reportReplay(settings))
  await run('open', () => reportOpening(settings))
  await run('stream', () => reportStreaming(settings))
  await run('agents', () => reportAgents(settings))
  await run('decisions', () => reportDecisions(settings))
  await run('memory', () => reportMemory(settings))
  await run('worktrees', () => reportWorktrees(settings))
  const children = await run('children', () => reportChildren(settings))
  await run('crash', () => reportCrash(settings))
  if (calls !== undefined && children !== undefined)
    console.log(`${printTable(peersTable(calls, children))}\n`)

  if (settings.json !== undefined) {
    writeFileSync(settings.json, `${JSON.stringify({ ...where, quick: settings.quick, figures }, null, 2)}\n`)
  }
}

interface MachineFacts {
  readonly at: string
  readonly node: string
  readonly cpu: string
  readonly cores: number
  readonly loadAverage: number
  /** Type of the file system that logs are written to: `fsync` costs nothing in memory. */
  readonly fileSystem: string
}

function machineFacts({ folder }: Settings): MachineFacts {
  return {
    at: new Date().toISOString(),
    node: process.version,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    loadAverage: loadavg()[0] ?? Number.NaN,
    fileSystem: fileSystemOf(folder),
  }
}

function describe({ at, node, cpu, cores, loadAverage, fileSystem }: MachineFacts): string {
  return (
    `${at.slice(0, 10)}, Node ${node}, ${cores} × ${cpu}, load ${loadAverage.toFixed(1)} at the start, ` +
    `logs on ${fileSystem}.`
  )
}

function fileSystemOf(folder: string): string {
  try {
    return (
      execFileSync('df', ['--output=fstype', folder], { encoding: 'utf8', stdio: 'pipe' })
        .split('\n')[1]
        ?.trim() ?? ''
    )
  } catch {
    return 'an unknown file system'
  }
}
