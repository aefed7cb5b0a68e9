/** The crash test: the worker is killed at random moments, and what was repeated, lost or told is counted. */
import { fileURLToPath } from 'node:url'
import type { LedgerTool } from '../crash/scenario.ts'
import { ENTRIES, MODEL_CALLS } from '../crash/scenario.ts'
import type { TrialInput, TrialOutcome } from '../crash/trial.ts'
import { runTrial } from '../crash/trial.ts'
import { newFolder } from '../folders.ts'
import type { Settings } from '../settings.ts'
import type { Table } from '../table.ts'
import { number } from '../table.ts'

/** Sums over all trials with one tool. */
export interface CrashRow {
  readonly tool: LedgerTool
  /** Each with one kill. */
  readonly trials: number
  readonly repeated: number
  readonly extraModelCalls: number
  /** Side effects that never happened. */
  readonly missing: number
  /** Those of them of which the model was not told. */
  readonly missingUntold: number
  readonly told: number
}

const WORKER = fileURLToPath(new URL('./crash-worker.js', import.meta.url))

/** Runs the scenario: figures, and the table that shows them. */
export async function reportCrash(settings: Settings) {
  const trials = settings.quick ? 1 : 25
  const random = randomFrom(settings.seed)
  const rows: CrashRow[] = []
  for (const tool of ['keyed', 'bash'] as const) {
    const trial = (killAfterMs: number | undefined): Promise<TrialOutcome> => {
      const input: TrialInput = {
        worker: [WORKER],
        folder: newFolder(settings.folder),
        tool,
        durability: 'write',
        killAfterMs,
      }
      return runTrial(input)
    }
    const { firstMs } = checked(await trial(undefined))
    const outcomes: TrialOutcome[] = []
    while (outcomes.length < trials) {
      const outcome = await trial(random() * firstMs)
      // One that was faster than the first, and done before its moment came, is no trial.
      if (outcome.wasKilled) outcomes.push(outcome)
    }
    rows.push(rowOf(tool, outcomes))
  }
  return { figures: { seed: settings.seed, rows }, tables: [crashTable(rows, settings.seed)] }
}

/** What is compared with must itself be right. */
function checked(outcome: TrialOutcome): TrialOutcome {
  const { modelCalls, repeated, missing } = outcome
  if (modelCalls === MODEL_CALLS && repeated.length === 0 && missing.length === 0) return outcome
  throw new Error(`without a crash the scenario came out as ${JSON.stringify(outcome)}`)
}

function rowOf(tool: LedgerTool, outcomes: readonly TrialOutcome[]): CrashRow {
  const sum = (of: (outcome: TrialOutcome) => number): number =>
    outcomes.reduce((total, outcome) => total + of(outcome), 0)
  return {
    tool,
    trials: outcomes.length,
    repeated: sum(({ repeated }) => repeated.length),
    extraModelCalls: sum(({ modelCalls }) => modelCalls - MODEL_CALLS),
    missing: sum(({ missing }) => missing.length),
    missingUntold: sum(({ missing, told }) => missing.filter((entry) => !told.includes(entry)).length),
    told: sum(({ told }) => told.length),
  }
}

function crashTable(rows: readonly CrashRow[], seed: number): Table {
  const trials = rows[0]?.trials ?? 0
  return {
    title: 'Crash test',
    notes: [
      `Killed with SIGKILL at a random moment (seed ${seed}) and resumed, ${trials} times each: ${trials * ENTRIES.length} side effects and ${MODEL_CALLS} model calls per trial without a crash.`,
    ],
    columns: ['', 'side effects repeated', 'extra model calls', 'lost', 'lost untold', 'told as interrupted'],
    rows: rows.map((row) => [
      row.tool === 'keyed' ? 'Troupe, keyed tool' : 'Troupe, Bash',
      number(row.repeated),
      number(row.extraModelCalls),
      number(row.missing),
      number(row.missingUntold),
      number(row.told),
    ]),
  }
}

/** Numbers in [0, 1) that a seed decides (a 32-bit linear congruential generator; good enough to pick moments). */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
