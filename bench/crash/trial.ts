/**
 * One trial of the crash test: the worker is started, killed, and started again until it has answered; then the
 * ledger, the model calls and the logs are counted.
 */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFileStorage } from '../../src/journal/file-storage.ts'
import { createConversation } from '../../src/journal/projections/conversation.ts'
import { loadLog } from '../../src/journal/read-log.ts'
import type { Durability } from '../../src/journal/storage.ts'
import type { LedgerTool } from './scenario.ts'
import { ENTRIES, entryOf } from './scenario.ts'
import type { WorkerInput } from './worker.ts'

export interface TrialInput {
  /** Arguments of node that start the worker: loader options and its file. */
  readonly worker: readonly string[]
  /** An empty folder of its own. */
  readonly folder: string
  readonly tool: LedgerTool
  readonly durability: Durability
  /** Milliseconds after the worker is ready; undefined: it is left alone. */
  readonly killAfterMs: number | undefined
}

export interface TrialOutcome {
  /** False when the worker was done before its time had come. */
  readonly wasKilled: boolean
  /** From `ready` to the end of the first worker, in milliseconds. */
  readonly firstMs: number
  readonly modelCalls: number
  /** Side effects that happened more than once, one for each time too many. */
  readonly repeated: readonly string[]
  /** Side effects that never happened. */
  readonly missing: readonly string[]
  /** Side effects whose call the model was told of as interrupted; they may have happened or not. */
  readonly told: readonly string[]
}

const MAX_STARTS = 5

/** Runs one trial. Rejects when the worker fails by itself. */
export async function runTrial({
  worker,
  folder,
  tool,
  durability,
  killAfterMs,
}: TrialInput): Promise<TrialOutcome> {
  const input: WorkerInput = {
    sessionId: randomUUID(),
    tool,
    durability,
    home: join(folder, 'home'),
    cwd: join(folder, 'project'),
    ledger: join(folder, 'ledger'),
    requests: join(folder, 'requests'),
  }
  mkdirSync(input.cwd)
  const args = [...worker, JSON.stringify(input)]
  const first = await start(args, killAfterMs)
  let isDone = !first.wasKilled
  for (let i = 0; !isDone && i < MAX_STARTS; i += 1) isDone = !(await start(args, undefined)).wasKilled
  const entries = linesOf(input.ledger).map((line) => line.split(' ', 1)[0] ?? '')
  return {
    wasKilled: first.wasKilled,
    firstMs: first.ms,
    modelCalls: linesOf(input.requests).length,
    repeated: entries.filter((entry, i) => entries.indexOf(entry) !== i),
    missing: ENTRIES.filter((entry) => !entries.includes(entry)),
    told: await interruptedEntries(input.home),
  }
}

interface Started {
  readonly wasKilled: boolean
  readonly ms: number
}

function start(args: readonly string[], killAfterMs: number | undefined): Promise<Started> {
  return new Promise((resolve, reject) => {
    const worker = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    let readyAt = performance.now()
    let timer: NodeJS.Timeout | undefined
    let trouble = ''
    worker.stderr.on('data', (chunk) => {
      trouble += String(chunk)
    })
    worker.stdout.once('data', () => {
      readyAt = performance.now()
      if (killAfterMs !== undefined) timer = setTimeout(() => worker.kill('SIGKILL'), killAfterMs)
    })
    worker.once('error', reject)
    worker.once('close', (code, signal) => {
      clearTimeout(timer)
      if (code === 0 || signal === 'SIGKILL') {
        resolve({ wasKilled: signal === 'SIGKILL', ms: performance.now() - readyAt })
      } else reject(new Error(`the worker ended with ${signal ?? code}: ${trouble}`))
    })
  })
}

/** What the logs say of calls with a side effect that ended as interrupted. */
async function interruptedEntries(home: string): Promise<readonly string[]> {
  const storage = createFileStorage({ durability: 'write' })
  const found: string[] = []
  for (const name of readdirSync(home, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.jsonl')) continue
    const conversation = createConversation()
    for (const recorded of (await loadLog(storage, join(home, name))).events) {
      const { event } = recorded
      if (event.type === 'call.ended' && event.outcome === 'interrupted') {
        // Asked before the result is pushed: a conversation knows the inputs of open calls only.
        const entry = entryOf(conversation.toolUse(event.callId)?.input)
        if (entry !== undefined) found.push(entry)
      }
      conversation.push(recorded)
    }
  }
  await storage.close()
  return found
}

function linesOf(path: string): readonly string[] {
  return existsSync(path)
    ? readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
    : []
}
