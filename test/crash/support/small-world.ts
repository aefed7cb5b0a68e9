/**
 * A session on a real disk whose engine dies inside this process: for what is wrong with files, where it does not
 * matter how they came to be so. Killing real processes is what the other tests of this folder do.
 */
import { appendFileSync } from 'node:fs'
import { z } from 'zod'
import type { ModelRequest } from '../../../src/effects/model/model.ts'
import { createScriptedModel } from '../../../src/effects/model/scripted.ts'
import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import type { ResumeRule, Tool } from '../../../src/effects/tools/tool.ts'
import type { EngineEvent, ResumeOptions, RunResult } from '../../../src/engine/api.ts'
import { createEngine } from '../../../src/engine/create-engine.ts'
import { createFileStorage } from '../../../src/journal/file-storage.ts'
import type { Append, Storage } from '../../../src/journal/storage.ts'
import { StorageError } from '../../../src/journal/storage.ts'
import { noProcesses } from '../../helpers/engine.ts'
import { turnOf } from '../../helpers/scripts.ts'
import type { Landmark } from './kill-point.ts'
import { findLandmark } from './kill-point.ts'
import type { Stage } from './stage.ts'
import { SESSION, setStage } from './stage.ts'

/** A root that starts two children at once and then acts; each child looks and puts, then acts. */
export interface SmallWorld {
  readonly stage: Stage
  /** How often each body has run. */
  readonly bodies: Map<string, number>
  readonly tools: readonly Tool<{ id: string }>[]
}

export function createSmallWorld(): SmallWorld {
  const bodies = new Map<string, number>()
  const tool = (name: string, resume: ResumeRule): Tool<{ id: string }> => ({
    name,
    description: name,
    inputSchema: z.strictObject({ id: z.string() }),
    resume,
    isReadOnly: () => resume === 'repeat',
    isConcurrencySafe: () => resume === 'repeat',
    run: async ({ id }) => {
      bodies.set(`${name} ${id}`, (bodies.get(`${name} ${id}`) ?? 0) + 1)
      return { content: `${name} ${id} done` }
    },
  })
  const tools = [tool('Look', 'repeat'), tool('Put', 'keyed'), tool('Act', 'interrupt')]
  return { stage: setStage({ go: [] }), bodies, tools }
}

function reply(request: ModelRequest) {
  const turn = turnOf(request)
  const use = (name: string, id: string) => ({ name, input: { id } })
  if (request.source === 'main') {
    const child = (prompt: string) => ({
      name: 'Agent',
      input: { description: 'a child', prompt, subagent_type: 'general-purpose' },
    })
    if (turn === 0) return callMany([child('alpha'), child('beta')])
    return turn === 1 ? callMany([use('Act', 'parent')], 'now I act') : say('the end')
  }
  const me = String(request.messages[0]?.content)
  if (turn === 0) return callMany([use('Look', me), use('Put', me)])
  return turn === 1 ? callMany([use('Act', me)]) : say(`report of ${me}`)
}

/** The append that the engine dies in, by its number (from 1) or its event, and the share of its bytes that get into the file. */
export type Tear = { readonly share: number } & ({ readonly at: number } | Landmark)

export interface Ending {
  /** Undefined when the engine died, or when there was nothing to do. */
  readonly result: RunResult | undefined
  readonly hasDied: boolean
  /** Codes. */
  readonly diagnostics: readonly string[]
}

export interface LiveOptions extends ResumeOptions {
  readonly tear?: Tear
  readonly appendSystemPrompt?: string
  readonly snapshotEvery?: number
}

/** Starts the session, or resumes it if it is on disk, and lets it run until it ends or dies. Rejects when it is refused. */
export async function live(world: SmallWorld, options: LiveOptions = {}): Promise<Ending> {
  const { tear, appendSystemPrompt, snapshotEvery, ...resumeOptions } = options
  let died: () => void = () => {}
  const death = new Promise<undefined>((resolve) => {
    died = () => resolve(undefined)
  })
  let hasDied = false
  const disk = createFileStorage({ durability: 'write' })
  const storage = tornStorage(disk, tear, () => {
    hasDied = true
    died()
  })
  const engine = createEngine({
    model: createScriptedModel(reply),
    home: world.stage.home,
    cwd: world.stage.project,
    storage,
    tools: world.tools,
    processes: noProcesses,
    permissions: { mode: 'bypassPermissions' },
    ...(appendSystemPrompt !== undefined && { appendSystemPrompt }),
    ...(snapshotEvery !== undefined && { snapshotEvery }),
  })
  const diagnostics: string[] = []
  engine.events$.subscribe((event: EngineEvent) => {
    if (event.kind === 'diagnostic') diagnostics.push(event.code)
  })
  const work = async (): Promise<RunResult | undefined> => {
    const isThere = await disk.exists(world.stage.paths.rootLog)
    const resumed = isThere ? await engine.resume(SESSION, resumeOptions) : undefined
    if (resumed !== undefined) return resumed.result
    const hasEnded = engine.agents.some(({ turns }) => turns > 0)
    return hasEnded ? undefined : engine.run('go', { sessionId: SESSION }).result
  }
  try {
    const working = work()
    // A dead engine may never settle; what it says after its death does not count.
    working.catch(() => {})
    const result = await Promise.race([working, death])
    return { result: hasDied ? undefined : result, hasDied, diagnostics }
  } catch (error) {
    if (!hasDied) throw error
    return { result: undefined, hasDied, diagnostics }
  } finally {
    // Releases the lock, which a live process would hold otherwise.
    await engine.close()
  }
}

function tornStorage(storage: Storage, tear: Tear | undefined, onDeath: () => void): Storage {
  const isReached = tear && reaches(tear)
  let isDead = false
  const refuse = (path: string): never => {
    throw new StorageError('io', path, 'the process of this test has died')
  }
  return {
    ...storage,
    append: (batch) => {
      const [first] = batch
      if (first === undefined) return
      if (isDead) return refuse(first.path)
      if (tear === undefined || isReached?.(first) !== true) return storage.append(batch)
      const bytes = Buffer.from(first.text)
      // The folder is made by an append of nothing.
      void storage.append([{ path: first.path, text: '' }])
      appendFileSync(first.path, bytes.subarray(0, Math.ceil(bytes.length * tear.share)))
      isDead = true
      onDeath()
      return refuse(first.path)
    },
    writeWhole: (path, text) => (isDead ? refuse(path) : storage.writeWhole(path, text)),
  }
}

function reaches(tear: Tear): (append: Append) => boolean {
  if ('event' in tear) {
    const find = findLandmark(tear)
    return (append) => find(append) !== undefined
  }
  let appends = 0
  return () => {
    appends += 1
    return appends === tear.at
  }
}
