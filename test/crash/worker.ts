/**
 * A process to kill: the real engine on real files, with a scripted model, the standard tools and one keyed tool.
 * Starts the session of its orders, or resumes it if it is on disk, and reports how that ended.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { z } from 'zod'
import { systemClock } from '../../src/effects/clock.ts'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import { createScriptedModel } from '../../src/effects/model/scripted.ts'
import type { ScriptedParts } from '../../src/effects/model/scripted-reply.ts'
import { createLocalProcessRunner } from '../../src/effects/process/local-process-runner.ts'
import type { Tool } from '../../src/effects/tools/tool.ts'
import { standardTools } from '../../src/effects/tools/tool-table.ts'
import type { Engine, Run } from '../../src/engine/api.ts'
import { createEngine } from '../../src/engine/create-engine.ts'
import { messageOf } from '../../src/engine/errors.ts'
import { createFileStorage } from '../../src/journal/file-storage.ts'
import { turnOf } from '../helpers/scripts.ts'
import { die, dyingStorage } from './support/kill-point.ts'
import type { Orders, Report } from './support/orders.ts'
import { READY } from './support/orders.ts'

const orders: Orders = JSON.parse(process.argv[2] ?? '{}')
const { killAt } = orders

/** Its reply depends on the request alone, and each request is counted before it is answered. */
async function reply(request: ModelRequest): Promise<ScriptedParts> {
  const opening = JSON.stringify(request.messages[0]?.content)
  const prompt = Object.keys(orders.play).find((name) => opening.includes(name))
  const turn = turnOf(request)
  appendFileSync(path.join(orders.world, 'requests'), `${orders.life}\t${prompt}\t${turn}\n`)
  if (killAt?.at === 'request' && killAt.prompt === prompt && killAt.turn === turn) die()
  do await wait(orders.modelMs)
  while (orders.gate !== undefined && !existsSync(path.join(orders.world, orders.gate)))
  const said = orders.play[prompt ?? '']?.[turn]
  if (said === undefined) throw new Error(`the play has no reply ${turn} for "${prompt}"`)
  return said
}

/** Writes a line into the ledger at most once by the key of its call. */
const putTool: Tool<{ id: string }> = {
  name: 'Put',
  description: 'Puts a line into the ledger',
  inputSchema: z.strictObject({ id: z.string() }),
  resume: 'keyed',
  isReadOnly: () => false,
  isConcurrencySafe: () => false,
  run: async ({ id }, { key }) => {
    const ledger = path.join(orders.world, 'keyed')
    const known = existsSync(ledger) ? readFileSync(ledger, 'utf8') : ''
    if (!known.includes(`${key}\t`)) appendFileSync(ledger, `${key}\t${id}\n`)
    if (killAt?.at === 'put' && killAt.id === id) die()
    return { content: `put ${id}` }
  },
}

async function live(): Promise<Report> {
  const storage = createFileStorage({ durability: orders.durability })
  const diagnostics: string[] = []
  const engine = createEngine({
    model: createScriptedModel(reply),
    home: orders.home,
    cwd: orders.project,
    storage: killAt?.at === 'append' ? dyingStorage(storage, killAt) : storage,
    tools: [...standardTools(), putTool],
    permissions: { mode: 'bypassPermissions', deny: orders.deny ?? [] },
    ...(orders.snapshotEvery !== undefined && { snapshotEvery: orders.snapshotEvery }),
    ...(orders.depth !== undefined && { limits: { depth: orders.depth } }),
    // Commands of these tests trap no signal, or trap it for good.
    processes: createLocalProcessRunner({ clock: systemClock, graceMs: 100 }),
  })
  engine.events$.subscribe((event) => {
    if (event.kind === 'diagnostic') diagnostics.push(event.code)
  })
  process.stdout.write(`${READY}\n`)
  try {
    const resumed = await resumeIfThere(engine)
    if (resumed === undefined && hasEnded(engine)) return { kind: 'over' }
    const run = resumed ?? engine.run(orders.prompt, { sessionId: orders.session })
    const { status, text } = await run.result
    return { kind: 'result', wasResumed: resumed !== undefined, status, text, diagnostics }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'defect'
    return { kind: 'refused', code, message: messageOf(error) }
  } finally {
    await engine.close()
  }
}

async function resumeIfThere(engine: Engine): Promise<Run | undefined> {
  const { acceptDamage, takeOver } = orders
  try {
    return await engine.resume(orders.session, {
      ...(acceptDamage !== undefined && { acceptDamage }),
      ...(takeOver !== undefined && { takeOver }),
    })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'no-such-session') return undefined
    throw error
  }
}

/** Nothing to resume: because all is done, or because the prompt never got into the log? */
function hasEnded(engine: Engine): boolean {
  return engine.agents.some(({ depth, turns }) => depth === 0 && turns > 0)
}

process.stdout.write(`${JSON.stringify(await live())}\n`)
