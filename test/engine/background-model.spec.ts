/**
 * Agents in the background under a random schedule: spawned, moved, spoken to, asked after, stopped, killed, ended
 * several at a time, over crashes. What must hold is held again and again.
 * `TROUPE_SEED=N npx vitest run test/engine/background-model.spec.ts` plays one seed.
 */
import { from, switchMap } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Model, ModelRequest } from '../../src/effects/model/model.ts'
import { createScriptedModel } from '../../src/effects/model/scripted.ts'
import type { ScriptedCall, ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { callMany, say } from '../../src/effects/model/scripted-reply.ts'
import { createVirtualClock } from '../../src/effects/virtual-clock.ts'
import type { Engine } from '../../src/engine/api.ts'
import { createEngine } from '../../src/engine/create-engine.ts'
import { checkTree } from '../../src/journal/check/check-tree.ts'
import type { MemoryStorage } from '../../src/journal/memory-storage.ts'
import { createMemoryStorage } from '../../src/journal/memory-storage.ts'
import { sessionPaths } from '../../src/journal/paths.ts'
import { readEntries } from '../../src/journal/read-entries.ts'
import { isActive } from '../../src/machines/agent/fold.ts'
import { SessionId } from '../../src/machines/ids.ts'
import type { SeenLog } from '../crash-matrix/final.ts'
import { createLogReader } from '../crash-matrix/final.ts'
import { deliveryProblems } from '../crash-matrix/verify.ts'
import { Doors } from '../helpers/doors.ts'
import { countingIds, noProcesses, settle } from '../helpers/engine.ts'
import { agentKind, turnOf } from '../helpers/scripts.ts'
import type { Chance } from '../simulation/chance.ts'
import { chanceFrom } from '../simulation/chance.ts'

const SESSION = SessionId.parse('77777777-7777-4777-8777-777777777777')
const HOME = '/home/test/.troupe'
const PATHS = sessionPaths(HOME, process.cwd(), SESSION)
const STEPS = 24
const SEEDS = 12
/** Steps between two looks at everything. */
const LOOKS_AFTER = 4
/** Messages that may wait for one agent. */
const MOST_MESSAGES = 2
const AT_REST: readonly string[] = ['idle', 'completed', 'failed', 'killed']

const DEFINITIONS = [agentKind('worker'), agentKind('short', { maxTurns: 2 })]

// ── what the models say ──────────────────────────────────────────────────────────────────────────────────

/** What an agent says depends on the seed, on who it is and how often it has spoken: the same again after a crash. */
function script(seed: number) {
  return (request: ModelRequest): ScriptedReply => {
    const isRoot = request.source === 'main'
    const who = isRoot
      ? 'root'
      : (/"(root[.\d]+)"/.exec(JSON.stringify(request.messages[0]?.content))?.[1] ?? '?')
    const turn = turnOf(request)
    const chance = chanceFrom(seed, `${who} says ${turn}`)
    if (turn >= (isRoot ? 16 : 5) || chance.happens(turn === 0 ? 0.1 : 0.25))
      return say(`${who} says ${turn}`)
    const depth = who.split('.').length - 1
    const calls = Array.from({ length: 1 + chance.below(3) }, (_, i) =>
      callOf(chance, request, `${who}.${turn}${i}`, depth),
    )
    return callMany(calls)
  }
}

function callOf(chance: Chance, request: ModelRequest, name: string, depth: number): ScriptedCall {
  const ids = [...new Set(JSON.stringify(request.messages).match(/a[0-9a-f]{16}/g) ?? ['nobody'])]
  const kinds = { pass: 3, behind: 3, before: 1.5, send: 2.5, output: 2, stop: 0.5 }
  switch (chance.weigh(depth < 2 ? kinds : { ...kinds, behind: 0, before: 0 })) {
    case 'behind':
    case 'before':
      return {
        name: 'Agent',
        input: {
          description: name,
          prompt: name,
          subagent_type: chance.weigh({ worker: 1, short: 1 }),
          run_in_background: chance.happens(0.7),
        },
      }
    case 'send':
      return {
        name: 'SendMessage',
        input: { to: chance.pick([...ids, 'parent', 'main']), message: `message ${name}` },
      }
    case 'output':
      return {
        name: 'TaskOutput',
        input: { task_id: chance.pick(ids), block: chance.happens(0.5), timeout: 5_000 },
      }
    case 'stop':
      return { name: 'TaskStop', input: { task_id: chance.pick(ids) } }
    default:
      return { name: 'Pass', input: { door: name } }
  }
}

/** Some replies wait at a door, too: things happen while an agent says its last word. */
function hesitant(model: Model, chance: Chance, doors: Doors): Model {
  let requests = 0
  return {
    provider: model.provider,
    stream: (request, signal) => {
      if (!chance.happens(0.4)) return model.stream(request, signal)
      requests += 1
      return from(doors.wait(`request ${requests}`)).pipe(switchMap(() => model.stream(request, signal)))
    },
  }
}

// ── one process ──────────────────────────────────────────────────────────────────────────────────────────

interface Life {
  readonly engine: Engine
  readonly memory: MemoryStorage
  readonly clock: ReturnType<typeof createVirtualClock>
  readonly doors: Doors
}

function begin(seed: number, number: number, memory: MemoryStorage): Life {
  const doors = new Doors()
  const clock = createVirtualClock(Date.UTC(2030, 0, number))
  const isSlow = seed % 2 === 0
  const engine = createEngine({
    model: hesitant(createScriptedModel(script(seed)), chanceFrom(seed, `pace ${number}`), doors),
    tools: [doors.tool],
    permissions: { mode: 'bypassPermissions' },
    definitions: DEFINITIONS,
    features: { nesting: true },
    limits: { messages: MOST_MESSAGES, liveAgents: 12 },
    snapshotEvery: seed % 3 === 0 ? 5 : Number.POSITIVE_INFINITY,
    storage: isSlow ? { ...memory, append: (batch) => settle(1).then(() => memory.append(batch)) } : memory,
    ids: countingIds(number * 100_000),
    processes: noProcesses,
    home: HOME,
    clock,
  })
  return { engine, memory, clock, doors }
}

// ── the session ──────────────────────────────────────────────────────────────────────────────────────────

class Session {
  readonly #seed: number
  readonly #chance: Chance
  readonly #reader = createLogReader()
  #life: Life
  #lives = 1
  #questions = 0
  /** For the message of a failure. */
  readonly story: string[] = []

  constructor(seed: number) {
    this.#seed = seed
    this.#chance = chanceFrom(seed, 'schedule')
    this.#life = begin(seed, 1, createMemoryStorage())
    this.#ask()
  }

  #ask(): void {
    this.#questions += 1
    const leavesChildren = this.#chance.happens(0.5)
    this.#life.engine
      .run(`question ${this.#questions}`, { sessionId: SESSION, leavesChildren })
      // In between it may have been woken, killed, or the process is dead.
      .result.catch(() => {})
  }

  get #isAtRest(): boolean {
    return this.#life.engine.agents.every(({ phase }) => AT_REST.includes(phase))
  }

  async step(): Promise<void> {
    const { engine, doors, clock } = this.#life
    const chance = this.#chance
    const someone = chance.pick([...engine.agents.map(({ agentId }) => agentId), 'a0000000000000000'])
    const action = chance.weigh({
      open: 8,
      time: 2,
      background: 2,
      kill: 1,
      interrupt: 0.7,
      crash: 1.5,
      ask: 2,
      close: 0.3,
    })
    this.story.push(`${action}${['background', 'kill'].includes(action) ? ` ${someone}` : ''}`)
    switch (action) {
      case 'open': {
        // Several in the same moment.
        doors.open(...doors.waitedAt.filter(() => chance.happens(0.5)))
        break
      }
      case 'time':
        await clock.advance(chance.pick([10, 6_000]))
        break
      case 'background':
        void engine.background(someone).catch(() => {})
        break
      case 'kill':
        void engine.kill(someone, 'by the schedule').catch(() => {})
        break
      case 'interrupt':
        void engine.interrupt(SESSION).catch(() => {})
        break
      case 'ask':
        this.#ask()
        break
      case 'crash':
      case 'close':
        await this.#restart(action)
        return
    }
    await settle(chance.pick([0, 1, 2, 3, 5, 40]))
  }

  async #restart(how: 'crash' | 'close'): Promise<void> {
    if (how === 'close') await this.#life.engine.close()
    const memory = this.#life.memory.crash()
    const isThere = memory.files.has(PATHS.rootLog)
    this.#lives += 1
    this.#life = begin(this.#seed, this.#lives, memory)
    if (isThere) (await this.#life.engine.resume(SESSION))?.result.catch(() => {})
    else this.#ask()
    await settle(this.#chance.pick([0, 1, 3, 40]))
  }

  /** What is in the logs, in order, for whoever plays one seed. */
  async dump(): Promise<void> {
    if (process.env['TROUPE_SEED'] === undefined) return
    const logs = await this.#reader.readSession(this.#life.memory, PATHS)
    const lines = logs.flatMap(({ agentId, recorded }) =>
      recorded.map(({ at, seq, event }) => ({
        at,
        text: `${String(at).slice(-9)} ${agentId.slice(-7)} ${seq} ${JSON.stringify({
          ...event,
          system: 0,
          tools: 0,
          usage: 0,
          totalUsage: 0,
          modelUsage: 0,
        })
          .replaceAll(/a0{6,}/g, '~')
          .slice(0, 330)}`,
      })),
    )
    console.log(
      lines
        .toSorted((a, b) => a.at - b.at)
        .map(({ text }) => text)
        .join('\n'),
    )
    console.log(this.#life.engine.agents.map((a) => `${a.agentId} ${a.phase} ${a.isInBackground}`).join('\n'))
  }

  /** What holds at any moment, when everything that is ready has happened. */
  async check(): Promise<readonly string[]> {
    await settle(60)
    const { engine, memory } = this.#life
    const logs = await this.#reader.readSession(memory, PATHS)
    const live = engine.agents.filter(({ parentAgentId }) => parentAgentId !== undefined)
    const told = logs.flatMap(({ calls, notices }) => [
      ...notices,
      ...calls.flatMap(({ delivered }) => delivered),
    ])
    const twice = told.filter((key, i) => told.indexOf(key) !== i)
    return [
      ...logs.flatMap(({ path, check: { violation } }) =>
        violation === undefined ? [] : [`${path} line ${violation.seq + 1}: ${violation.reason}`],
      ),
      ...twice.map((key) => `the end of ${key} is told twice`),
      ...live
        .filter(({ phase }) => AT_REST.includes(phase))
        .map(({ agentId, phase }) => `agent ${agentId} is ${phase} and has a place`),
      ...logs
        .filter(({ isRoot, states, agentId }) => {
          const isAtWork = isActive(states.at(-1)?.run)
          return !isRoot && isAtWork && live.every((agent) => agent.agentId !== agentId)
        })
        .map(({ agentId }) => `agent ${agentId} has no end and is forgotten`),
      ...logs.flatMap(mailProblems),
      ...logs.flatMap((log) => outputProblems(log, logs)),
    ]
  }

  /** Lets everything come to its end, tells the root what it was not told, and gives what is wrong then. */
  async end(): Promise<readonly string[]> {
    await this.#rest()
    // A root that was stopped is told with the next prompt.
    for (let i = 0; i < 3; i++) {
      this.#ask()
      await this.#rest()
    }
    if (!this.#isAtRest) {
      const busy = this.#life.engine.agents.map(({ agentId, phase }) => `${agentId} ${phase}`)
      return [`there is no end: ${busy.join()}`]
    }
    const problems = await this.check()
    const logs = await this.#reader.readSession(this.#life.memory, PATHS)
    await this.#life.engine.close()
    return [...problems, ...deliveryProblems(logs), ...(await violations(this.#life.memory, logs))]
  }

  async #rest(): Promise<void> {
    for (let turns = 0, quiet = 0; turns < 400 && quiet < 8; turns++) {
      this.#life.doors.open(...this.#life.doors.waitedAt)
      await settle(3)
      await this.#life.clock.advance(1_000)
      quiet = this.#isAtRest ? quiet + 1 : 0
    }
  }
}

async function violations(memory: MemoryStorage, logs: readonly SeenLog[]): Promise<readonly string[]> {
  const checked = await checkTree(logs.map(({ path }) => ({ path, entries: readEntries(memory, path) })))
  return checked.flatMap(({ path, violation }) =>
    violation === undefined
      ? []
      : [`${path} line ${violation.seq + 1}: ${violation.law}: ${violation.reason}`],
  )
}

/** No more messages wait for an agent than may, and none is in its conversation twice. */
function mailProblems({ recorded, path }: SeenLog): readonly string[] {
  const waiting = new Set<string>()
  const seen = new Set<string>()
  const problems: string[] = []
  for (const { event } of recorded) {
    if (event.type === 'message.accepted') {
      waiting.add(event.messageId)
      if (waiting.size > MOST_MESSAGES) problems.push(`${path}: ${waiting.size} messages wait`)
    }
    if (event.type !== 'message.added' && event.type !== 'run.started') continue
    for (const id of event.injects ?? []) {
      if (seen.has(id)) problems.push(`${path}: message ${id} is told twice`)
      seen.add(id)
      waiting.delete(id)
    }
  }
  return problems
}

/** What a call is told of an end is what the log says of one. */
function outputProblems({ recorded, path }: SeenLog, logs: readonly SeenLog[]): readonly string[] {
  return recorded.flatMap(({ event }) => {
    if (event.type !== 'call.ended') return []
    const output = Output.safeParse(event.toolUseResult)
    if (!output.success) return []
    const { agentId, status } = output.data.task
    const ends = logs
      .filter((log) => log.agentId === agentId)
      .flatMap((log) =>
        log.recorded.flatMap((line) => (line.event.type === 'agent.ended' ? [line.event] : [])),
      )
    const isRight = ends.some((end) => end.status === status && (event.delivered?.run ?? end.run) === end.run)
    return isRight ? [] : [`${path}: ${agentId} is said to be ${status}, and never was`]
  })
}

const Output = z.looseObject({
  retrieval_status: z.literal('success'),
  task: z.looseObject({ agentId: z.string(), status: z.string() }),
})

async function play(seed: number): Promise<readonly string[]> {
  const session = new Session(seed)
  const told = (problems: readonly string[]): readonly string[] =>
    problems.map((problem) => `seed ${seed}, after ${session.story.join(', ')}: ${problem}`)
  for (let i = 0; i < STEPS; i++) {
    await session.step()
    // A log that is longer is read as a whole again.
    if (i % LOOKS_AFTER !== 0) continue
    const problems = await session.check()
    if (problems.length > 0) {
      await session.dump()
      return told(problems)
    }
  }
  const problems = await session.end()
  if (problems.length > 0) await session.dump()
  return told(problems)
}

const only = process.env['TROUPE_SEED']
const first = Number(only ?? process.env['TROUPE_SEED_FROM'] ?? 1)
const count = only === undefined ? Number(process.env['TROUPE_SEEDS'] ?? SEEDS) : 1

describe(`agents in the background under a random schedule, seeds ${first} to ${first + count - 1}`, () => {
  it('are told of once, keep no place, lose no message, and come to an end', {
    timeout: 600_000,
  }, async () => {
    for (let seed = first; seed < first + count; seed++) expect(await play(seed)).toEqual([])
  })
})
