/**
 * Law 3: kill the process at any event boundary and resume. Every boundary of one scenario with all resume rules
 * is tried, with the effect done and not logged, and logged and not done; and once more during the resume.
 */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { AgentDefinition } from '../../src/definitions/agent-definition.ts'
import { BUILT_IN_DEFINITIONS } from '../../src/definitions/built-in/index.ts'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import { callMany, say } from '../../src/effects/model/scripted-reply.ts'
import type { ResumeRule, Tool } from '../../src/effects/tools/tool.ts'
import type { RunResult } from '../../src/engine/api.ts'
import type { MemoryStorage } from '../../src/journal/memory-storage.ts'
import { loadLog } from '../../src/journal/read-log.ts'
import { StorageError } from '../../src/journal/storage.ts'
import type { CrashPoint } from '../helpers/crashing-storage.ts'
import { createCrashingStorage } from '../helpers/crashing-storage.ts'
import { settle, story, testEngine } from '../helpers/engine.ts'
import { turnOf } from '../helpers/scripts.ts'

const SESSION = '11111111-1111-4111-8111-111111111111'

/** What the world looks like: how often each body ran, by the key of its call. */
class World {
  readonly bodies = new Map<string, number>()
  readonly done = new Set<string>()

  tool(name: string, resume: ResumeRule): Tool<{ id: string }> {
    return {
      name,
      description: name,
      inputSchema: z.strictObject({ id: z.string() }),
      resume,
      isReadOnly: () => resume === 'repeat',
      isConcurrencySafe: () => resume === 'repeat',
      run: async ({ id }, { key }) => {
        this.bodies.set(`${name} ${id}`, (this.bodies.get(`${name} ${id}`) ?? 0) + 1)
        // A keyed body does its work at most once by its key; the others just do it.
        if (resume === 'keyed') this.done.add(`${name} ${id} ${key}`)
        return { content: `${name} ${id} done` }
      },
    }
  }

  readonly tools = [this.tool('Look', 'repeat'), this.tool('Put', 'keyed'), this.tool('Act', 'interrupt')]
}

/** Parent: two children in parallel, then an act of its own. Child: look and put, then act, then report. */
function script(actions: boolean) {
  const use = (name: string, id: string) => ({ name, input: { id } })
  return (request: ModelRequest) => {
    const turn = turnOf(request)
    if (request.source === 'main') {
      const child = (prompt: string) => ({
        name: 'Agent',
        input: { description: 'child', prompt, subagent_type: 'general-purpose' },
      })
      if (turn === 0) return callMany([child('alpha'), child('beta')])
      if (turn === 1 && actions) return callMany([use('Act', 'parent')])
      return say('the end')
    }
    const me = String(request.messages[0]?.content)
    if (turn === 0) return callMany([use('Look', me), use('Put', me)])
    if (turn === 1 && actions) return callMany([use('Act', me)])
    return say(`report of ${me}`)
  }
}

/** Runs the scenario to its end on the given disk, starting or resuming as the disk says. */
async function finish(world: World, storage: MemoryStorage, actions: boolean, idsFrom: number) {
  const last: ModelRequest[] = []
  const play = script(actions)
  const engine = testEngine(
    (request) => {
      if (request.source === 'main') last.push(request)
      return play(request)
    },
    { storage, tools: world.tools, idsFrom },
  )
  const exists = [...storage.files.keys()].some((path) => path.endsWith(`${SESSION}.jsonl`))
  const resumed = exists ? await engine.engine.resume(SESSION) : undefined
  const log = exists ? await rootEvents(storage) : []
  const isOver = log.some(({ event }) => event.type === 'agent.ended')
  let result: RunResult | undefined
  if (resumed !== undefined) result = await resumed.result
  else if (!isOver) result = await engine.engine.run('go', { sessionId: SESSION }).result
  await engine.engine.close()
  return { result, messages: last.at(-1)?.messages, facts: engine.facts }
}

async function rootEvents(storage: MemoryStorage) {
  const path = [...storage.files.keys()].find((name) => name.endsWith(`${SESSION}.jsonl`))
  return path === undefined ? [] : (await loadLog(storage, path)).events
}

/** Runs until the crash. Undefined when the scenario ends before the point is reached. */
async function crash(world: World, point: CrashPoint, actions: boolean, on?: MemoryStorage, idsFrom = 0) {
  const disk = createCrashingStorage(point, on)
  const { engine } = testEngine(script(actions), {
    storage: { ...disk.storage } as MemoryStorage,
    tools: world.tools,
    idsFrom,
  })
  if (on === undefined) engine.run('go', { sessionId: SESSION }).result.catch(() => {})
  else (await engine.resume(SESSION).catch(() => undefined))?.result.catch(() => {})
  for (let i = 0; i < 200 && !disk.hasCrashed() && !isOver(disk.files()); i++) await settle(1)
  await settle(3)
  return disk.hasCrashed() ? disk.survivor() : undefined
}

function isOver(files: ReadonlyMap<string, string>): boolean {
  const root = [...files].find(([path]) => path.endsWith(`${SESSION}.jsonl`))?.[1]
  return root?.includes('"type":"agent.ended"') === true
}

/** What a resumed session must have come to. */
async function check(world: World, storage: MemoryStorage, at: string): Promise<void> {
  for (const [path, text] of storage.files) {
    if (!path.endsWith('.jsonl')) continue
    const { events, damage } = await loadLog(storage, path)
    expect(damage, at).toEqual([])
    const types = events.map(({ event }) => event.type)
    expect(types.filter((type) => type === 'agent.ended').length, `${at}: ${path}`).toBe(1)
    const asked = events.flatMap(({ event }) => (event.type === 'reply.received' ? event.calls : []))
    const answered = events.flatMap(({ event }) => (event.type === 'call.ended' ? [event.callId] : []))
    expect(answered.toSorted(), `${at}: each call is answered once\n${text}`).toEqual(
      asked.map(({ callId }) => callId).toSorted(),
    )
  }
  for (const [body, times] of world.bodies) {
    if (body.startsWith('Act')) expect(times, `${at}: ${body} is never repeated`).toBe(1)
  }
  for (const body of ['Put alpha', 'Put beta']) {
    const works = [...world.done].filter((key) => key.startsWith(body))
    expect(works, `${at}: ${body} is done exactly once by its key`).toHaveLength(1)
  }
}

const boundaries = Array.from({ length: 60 }, (_, i) => i + 1)

describe('resume after a crash', () => {
  it('at every boundary: nothing is repeated that must not be, nothing stays open', async () => {
    let reached = 0
    for (const when of ['before', 'after'] as const) {
      for (const at of boundaries) {
        const world = new World()
        const disk = await crash(world, { at, when }, true)
        if (disk === undefined) break
        reached += 1
        const { result } = await finish(world, disk, true, 100_000)
        if (result !== undefined)
          expect(result, `${when} append ${at}`).toMatchObject({ status: 'completed', text: 'the end' })
        await check(world, disk, `${when} append ${at}`)
        const toldInterrupted = JSON.stringify([...disk.files.values()]).includes('was interrupted')
        for (const body of ['Act alpha', 'Act beta', 'Act parent']) {
          if (!world.bodies.has(body))
            expect(toldInterrupted, `${when} append ${at}: ${body} is missing and told`).toBe(true)
        }
      }
    }
    expect(reached).toBeGreaterThan(40)
  })

  it('with calls that may be repeated, or are keyed, the conversation equals the uninterrupted one', async () => {
    const whole = new World()
    const { messages } = await finish(
      whole,
      createCrashingStorage({ at: -1, when: 'after' }).survivor(),
      false,
      0,
    )
    for (const when of ['before', 'after'] as const) {
      for (const at of boundaries) {
        const world = new World()
        const disk = await crash(world, { at, when }, false)
        if (disk === undefined) break
        const finished = await finish(world, disk, false, 100_000)
        await check(world, disk, `${when} append ${at}`)
        if (finished.messages !== undefined) {
          expect(strip(finished.messages), `${when} append ${at}`).toEqual(strip(messages))
        }
      }
    }
  })

  it('killed again during the resume: it ends as if it had been killed once', async () => {
    let reached = 0
    for (const first of [4, 9, 14, 19]) {
      for (const second of boundaries.slice(0, 12)) {
        const world = new World()
        const disk = await crash(world, { at: first, when: 'after' }, true)
        if (disk === undefined) throw new Error('the first crash must be reached')
        const again = await crash(
          world,
          { at: second, when: second % 2 === 0 ? 'before' : 'after' },
          true,
          disk,
          50_000,
        )
        if (again === undefined) break
        reached += 1
        await finish(world, again, true, 100_000)
        await check(world, again, `append ${first}, then ${second}`)
      }
    }
    expect(reached).toBeGreaterThan(20)
  })

  it('says in each unfinished log that the run was switched off and goes on', async () => {
    const world = new World()
    const disk = await crash(world, { at: 12, when: 'after' }, true)
    if (disk === undefined) throw new Error('the crash must be reached')
    const { facts } = await finish(world, disk, true, 100_000)
    const first = story(facts).slice(0, 2)
    expect(first).toEqual(['run.suspended', 'run.resumed'])
    expect(facts[0]?.event).toMatchObject({ reason: 'crashed' })
  })

  it('changes nothing when there is nothing to resume', async () => {
    const world = new World()
    const disk = createCrashingStorage({ at: -1, when: 'after' }).survivor()
    await finish(world, disk, true, 0)
    const before = [...disk.files]
    const { engine } = testEngine(script(true), { storage: disk, tools: world.tools, idsFrom: 100_000 })
    expect(await engine.resume(SESSION)).toBeUndefined()
    await engine.close()
    expect([...disk.files]).toEqual(before)
  })
})

describe('close', () => {
  it('suspends what is running, and a resume goes on without asking the model again for what it has said', async () => {
    const world = new World()
    let held: (() => void) | undefined
    const slow: Tool<{ id: string }> = {
      ...world.tool('Look', 'repeat'),
      run: ({ id }, { signal }) =>
        new Promise((resolve, reject) => {
          held = () => resolve({ content: `looked ${id}` })
          signal.addEventListener('abort', () => reject(signal.reason))
        }),
    }
    const tools = [slow, ...world.tools.slice(1)]
    const first = testEngine(script(false), { tools })
    const run = first.engine.run('go', { sessionId: SESSION })
    await settle(10)
    expect(held).toBeDefined()
    await first.engine.close()
    await expect(run.result).rejects.toMatchObject({ code: 'engine-closed' })
    expect(story(first.facts).slice(-3)).toEqual(['run.suspended', 'run.suspended', 'run.suspended'])

    const disk = first.storage.crash()
    const second = testEngine(script(false), { tools: world.tools, storage: disk, idsFrom: 100_000 })
    const resumed = await second.engine.resume(SESSION)
    expect(await resumed?.result).toMatchObject({ status: 'completed', text: 'the end' })
    expect(second.facts.filter(({ event }) => event.type === 'run.suspended')).toEqual([])
    await check(world, disk, 'after close')
    await second.engine.close()
  })

  it('refuses a new prompt to a session with an unfinished run: that one is resumed first', async () => {
    const world = new World()
    const disk = await crash(world, { at: 12, when: 'after' }, true)
    const { engine } = testEngine(script(true), {
      storage: disk as MemoryStorage,
      tools: world.tools,
      idsFrom: 100_000,
    })
    await expect(engine.run('next', { sessionId: SESSION }).result).rejects.toMatchObject({
      code: 'unfinished-run',
    })
    await engine.close()
  })

  it('lets a second engine in only after it: one writer', async () => {
    const one = testEngine([say('done')])
    await one.engine.run('go', { sessionId: SESSION }).result
    const two = testEngine([say('done')], { storage: one.storage, idsFrom: 100_000 })
    await expect(two.engine.resume(SESSION)).rejects.toMatchObject({ code: 'session-locked' })
    await one.engine.close()
    await expect(two.engine.resume(SESSION)).resolves.toBeUndefined()
  })
})

/** Messages without what depends on ids and counters. */
function strip(messages: unknown): unknown {
  return JSON.parse(
    JSON.stringify(messages)
      .replaceAll(/a[0-9a-f]{16}/g, 'AGENT')
      .replaceAll(/(total_tokens|duration_ms): \d+/g, '$1: N')
      .replaceAll(/toolu_[0-9a-f]+/g, 'TOOL'),
  )
}

/** Reads of a disk that has lost its blobs. */
const withoutBlobs = (disk: MemoryStorage): MemoryStorage['read'] =>
  async function* (path, offset) {
    if (path.includes('blobs')) throw new StorageError('not-found', path, `there is no ${path}`)
    yield* disk.read(path, offset)
  }

describe('an agent whose definition is not the one of its start any more', () => {
  const resumed = async (definitions: readonly AgentDefinition[], loseBlobs = false) => {
    const world = new World()
    const disk = (await crash(world, { at: 12, when: 'after' }, true)) as MemoryStorage
    const storage: MemoryStorage = loseBlobs ? { ...disk, read: withoutBlobs(disk) } : disk
    const given = { storage, tools: world.tools, definitions, idsFrom: 100_000 }
    const { engine, facts } = testEngine(script(true), given)
    await (await engine.resume(SESSION))?.result
    await engine.close()
    const differences = facts.flatMap(({ event }) =>
      event.type === 'run.resumed' ? (event.differences ?? []) : [],
    )
    return { world, facts, differences }
  }

  it('goes on as it was started, and its log says so', async () => {
    const [general] = BUILT_IN_DEFINITIONS.filter(({ agentType }) => agentType === 'general-purpose')
    const changed = { ...general, tools: [], getSystemPrompt: () => 'Do nothing.' } as AgentDefinition
    for (const [definitions, words] of [
      [[changed], 'has changed'],
      [[], 'does not exist any more'],
    ] as const) {
      const { world, facts, differences } = await resumed(definitions)
      expect(differences.join()).toContain(words)
      expect(facts.filter(({ event }) => event.type === 'call.ended' && event.outcome === 'denied')).toEqual(
        [],
      )
      expect([...world.bodies.keys()].filter((body) => /^(Act|Put) (alpha|beta)/.test(body))).not.toEqual([])
    }
  })

  it('may read until it ends, and change nothing, when its definition is lost: what that forbade is not known', async () => {
    const { world, facts } = await resumed([], true)
    const refused = facts.filter(({ event }) => event.type === 'call.ended' && event.outcome === 'denied')
    expect(refused.length).toBeGreaterThan(0)
    expect([...world.bodies.keys()].filter((body) => /^(Act|Put) (alpha|beta)/.test(body))).toEqual([])
  })
})
