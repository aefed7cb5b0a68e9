/**
 * Memory per agent that is idle or waits for its model.
 *
 * Live objects after a garbage collection, and what the process grew by; Node gives memory back late, so the second
 * figure is a ceiling. The code is warmed and the engine has served before the first look.
 */

import { createScriptedModel } from '../../src/effects/model/scripted.ts'
import type { Engine } from '../../src/engine/api.ts'
import { createEngine } from '../../src/engine/create-engine.ts'
import { collectGarbage } from '../clocks.ts'
import { newFolder } from '../folders.ts'
import { inFreshProcess } from '../fresh-process.ts'
import type { Settings } from '../settings.ts'
import type { Spread } from '../statistics.ts'
import { spreadOf } from '../statistics.ts'
import type { Table } from '../table.ts'
import { number, spread } from '../table.ts'
import { treeScript, treeSize } from '../tree.ts'
import { PROMPT, type RESULT } from '../work.ts'

/**
 * `idle`: roots of sessions of their own, one run behind them. `running`: the same, waiting for their first reply.
 * `children`: one tree under one root, whose leaves wait for their first reply and all others for their children.
 */
export type MemoryCase = 'idle' | 'running' | 'children'

export interface MemoryInput {
  readonly kind: MemoryCase
  /** Agents; for `children` the leaves, in powers of ten. */
  readonly agents: number
  readonly folder: string
}

export interface MemoryFigures {
  /** How many there really were, roots and parents included. */
  readonly agents: number
  readonly heapKb: number
  readonly rssKb: number
}

interface MemoryRow {
  readonly kind: MemoryCase
  readonly agents: number
  readonly heapKb: Spread
  readonly rssKb: Spread
}

/** Runs the scenario: figures, and the table that shows them. */
export async function reportMemory(settings: Settings) {
  const figures: MemoryRow[] = []
  for (const kind of ['idle', 'running', 'children'] as const) {
    for (const agents of settings.quick ? [100] : [100, 1_000]) {
      const runs: MemoryFigures[] = []
      for (let i = 0; i < (settings.quick ? 1 : 5); i += 1) {
        runs.push(await inFreshProcess(settings, 'memory', { kind, agents, folder: settings.folder }))
      }
      figures.push({
        kind,
        agents: runs[0]?.agents ?? 0,
        heapKb: spreadOf(runs.map(({ heapKb }) => heapKb)),
        rssKb: spreadOf(runs.map(({ rssKb }) => rssKb)),
      })
    }
  }
  return { figures, tables: [memoryTable(figures)] }
}

const LABELS: Readonly<Record<MemoryCase, string>> = {
  idle: 'idle root, in a session of its own',
  running: 'running root, in a session of its own',
  children: 'running, all in one tree',
}

function memoryTable(rows: readonly MemoryRow[]): Table {
  return {
    title: 'Memory per agent',
    notes: [
      'The smallest of all processes (median in brackets). A finished child is let go: it keeps no memory at all.',
    ],
    columns: ['', 'agents', 'live objects, KB', 'process, KB'],
    rows: rows.map(({ kind, agents, heapKb, rssKb }) => [
      LABELS[kind],
      number(agents),
      spread(heapKb),
      spread(rssKb),
    ]),
  }
}

/** Makes the agents in one engine and looks. Figures are per agent. */
export async function measureMemory({ kind, agents, folder }: MemoryInput): Promise<MemoryFigures> {
  const home = newFolder(folder)
  const gate = createGate()
  const fanOut = Array<number>(Math.round(Math.log10(agents))).fill(10)
  const engine = createEngine({
    model: createScriptedModel((request) => {
      const waits = gate.isShut && treeScript.isLeaf(request)
      return waits ? gate.wait() : treeScript.reply(request)
    }),
    home,
    cwd: home,
    permissions: { mode: 'bypassPermissions' },
    limits: { depth: fanOut.length, liveAgents: agents * 2, spawns: agents * 2 },
  })
  await warmUp(engine)
  const before = memoryNow()
  if (kind === 'idle') await idleAgents(engine, agents)
  else await waitingAgents(engine, kind === 'children' ? { fanOut } : { roots: agents }, gate)
  const after = memoryNow()
  const made = engine.agents.length - WARM_UP_SESSIONS
  const expected = kind === 'children' ? treeSize(fanOut).agents : agents
  if (made !== expected) throw new Error(`${made} agents are alive, not ${expected}`)
  await engine.close()
  return {
    agents: made,
    heapKb: (after.heap - before.heap) / 1024 / made,
    rssKb: (after.rss - before.rss) / 1024 / made,
  }
}

const WARM_UP_SESSIONS = 20

async function warmUp(engine: Engine): Promise<void> {
  for (let i = 0; i < WARM_UP_SESSIONS; i += 1) await engine.run(treeScript.prompt([5])).result
}

async function idleAgents(engine: Engine, count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) await engine.run(PROMPT).result
}

async function waitingAgents(
  engine: Engine,
  wanted: { readonly roots: number } | { readonly fanOut: readonly number[] },
  gate: Gate,
): Promise<void> {
  const prompts =
    'roots' in wanted ? Array<string>(wanted.roots).fill(PROMPT) : [treeScript.prompt(wanted.fanOut)]
  gate.shut()
  for (const prompt of prompts) engine.run(prompt)
  await gate.waiting('roots' in wanted ? wanted.roots : treeSize(wanted.fanOut).leaves)
}

function memoryNow(): { readonly heap: number; readonly rss: number } {
  collectGarbage()
  collectGarbage()
  const { heapUsed, rss } = process.memoryUsage()
  return { heap: heapUsed, rss }
}

interface Gate {
  readonly isShut: boolean
  shut(): void
  /** A reply that does not come. */
  wait(): Promise<string>
  /** Resolves when so many wait for their reply. */
  waiting(count: number): Promise<void>
}

function createGate(): Gate {
  let isShut = false
  let waiting = 0
  let onWait = (): void => {}
  return {
    get isShut() {
      return isShut
    },
    shut: () => {
      isShut = true
    },
    wait: () => {
      waiting += 1
      onWait()
      return new Promise<typeof RESULT>(() => {})
    },
    waiting: (count) =>
      new Promise((resolve) => {
        onWait = () => {
          // Once more round, so that the last to come has gone to sleep too.
          if (waiting === count) setImmediate(resolve)
        }
        onWait()
      }),
  }
}
