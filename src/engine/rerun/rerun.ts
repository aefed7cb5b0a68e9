/**
 * Any log is a cassette: its model turns through the real engine again, and where that differs.
 *
 *   U1  Nothing of the recorded session is touched: the engine works in memory, and reads the base of a branch where
 *       it is. With live tools the tools do what they do, in the working directory.
 *   U2  Prompts and kills come where the log has them: a kill when everything else has come to rest.
 *   U3  The comparison is that of two logs (`diffLogs`): the order in which things end side by side is no difference.
 */
import type { AgentDefinition } from '../../definitions/agent-definition.ts'
import type { Limits } from '../../definitions/limits.ts'
import { createCassetteModel } from '../../effects/model/cassette.ts'
import type { Tool } from '../../effects/tools/tool.ts'
import { standardTools } from '../../effects/tools/tool-table.ts'
import { createMemoryStorage } from '../../journal/memory-storage.ts'
import type { LogDiff } from '../../journal/replay/diff.ts'
import { diffLogs } from '../../journal/replay/diff.ts'
import { meaningOfRequest } from '../../journal/replay/meaning.ts'
import type { Storage } from '../../journal/storage.ts'
import type { AgentEventOf } from '../../machines/agent/events.ts'
import type { RequestMessage } from '../../machines/agent/messages.ts'
import type { AgentId, CallId } from '../../machines/ids.ts'
import type { Engine, EngineEvent, Run } from '../api.ts'
import { GO_ON_FROM_HERE } from '../branch.ts'
import { createEngine } from '../create-engine.ts'
import { EngineError } from '../errors.ts'
import { ROOT_TYPE } from '../root.ts'
import { recordedTools } from './recorded-tools.ts'
import { createRecordedVerdicts } from './recorded-verdicts.ts'
import type { CallPlace, RecordedCall, TapeAgent } from './tape.ts'
import { readTape } from './tape.ts'

export interface RerunOptions {
  /** Run the tools instead of taking their results from the log. */
  readonly liveTools?: boolean
  /** Working directory. Default: the process's. */
  readonly cwd?: string
  /** Those of the recorded session. Defaults as those of `createEngine`. */
  readonly tools?: readonly Tool[]
  readonly definitions?: readonly AgentDefinition[]
}

export interface Rerun {
  /** The log against what came out of the engine: `first` is undefined when nothing differs. */
  readonly diff: LogDiff
  /** Requests that were not the recorded ones, in words. */
  readonly complaints: readonly string[]
}

/** How long nothing may happen until all that is left waits for the log's next word, in milliseconds. */
const REST_MS = 40
const HOME = '/rerun'

/**
 * Plays a session's log. Rejects as `replay` does, and with an `EngineError` (`bad-position`) for one without an
 * agent.
 */
export async function rerun(storage: Storage, rootLog: string, options: RerunOptions = {}): Promise<Rerun> {
  const tape = await readTape(storage, rootLog)
  const [root] = tape.values()
  if (root === undefined) throw new EngineError('bad-position', `${rootLog} has no agent to run again`)
  const player = new Player(tape, root)
  const complaints: string[] = []
  const memory = createMemoryStorage()
  const tools = options.tools ?? standardTools()
  // Whoever has answered, or was stopped at it, was a tool there, whether this engine has it or not.
  const answered = [...tape.values()].flatMap(({ calls }) =>
    [...calls.values()].flatMap(({ name, ended }) =>
      ended?.outcome === 'ok' || ended?.outcome === 'interrupted' ? name : [],
    ),
  )
  const { plan, session } = root.birth
  const played = recordedTools(tools, answered, player.find, player.stir)
  const engine = createEngine({
    model: createCassetteModel(
      [...tape.values()].map(({ reel }) => reel),
      {
        meaning: (messages) => meaningOfRequest(player.withoutAdded(messages)),
        atEnd: 'wait',
        onDifference: (complaint) => complaints.push(complaint),
        onRequest: player.stir,
        forced: createRecordedVerdicts([...tape.values()]),
      },
    ),
    modelId: plan.model.value,
    modelAliases: aliasesOf(tape),
    // What was refused then is refused from the log.
    permissions: { mode: plan.mode.value, allow: played.map(({ name }) => name) },
    review: { deferBackground: [...tape.values()].some(({ defersReview }) => defersReview) },
    tools: options.liveTools === true ? tools.map(player.watched) : played,
    ...(options.definitions !== undefined && { definitions: options.definitions }),
    ...(options.cwd !== undefined && { cwd: options.cwd }),
    // Sessions that do not speak of nudges had none.
    limits: { reportNudges: 0, ...(isLimits(session?.['limits']) && session['limits']) },
    // Its requests are compared with those of a conversation that nobody has summed up.
    features: { autoCompact: false, progressSummaries: false },
    home: HOME,
    storage: readThrough(memory, storage, player.reading),
    retries: { maxRetries: 0 },
    snapshotEvery: Number.POSITIVE_INFINITY,
  })
  engine.events$.subscribe(player.hear)
  try {
    await play(engine, root, player)
  } finally {
    await engine.close()
  }
  const path = [...memory.files.keys()].find((name) => /\/projects\/[^/]+\/[^/]+\.jsonl$/.test(name))
  if (path === undefined) throw new EngineError('bad-position', `${rootLog} has no run to run again`)
  return {
    diff: await diffLogs({ storage, path: rootLog }, { storage: readThrough(memory, storage), path }),
    complaints,
  }
}

/** What short names of models meant when the log was written: the rule of a birth says which name was resolved. */
function aliasesOf(tape: ReadonlyMap<AgentId, TapeAgent>): Readonly<Record<string, string>> {
  const aliases: Record<string, string> = {}
  for (const { birth } of tape.values()) {
    const { rule, value } = birth.plan.model
    const name = /^(?:pin|argument|definition) (\S+)$/.exec(rule)?.[1]?.toLowerCase()
    if (name !== undefined) aliases[name] = value
  }
  return aliases
}

/** All runs of the root, one after the other, as far as the log goes. */
async function play(engine: Engine, root: TapeAgent, player: Player): Promise<void> {
  let sessionId: string | undefined
  for (const started of root.runs) {
    const run: Run = begin(engine, root, started, sessionId)
    sessionId = run.sessionId
    let isOver = false
    const over = run.result.then(
      () => {
        isOver = true
      },
      (error: unknown) => {
        isOver = true
        if (!EngineError.is(error) || error.code !== 'engine-closed') throw error
      },
    )
    // Rejects with the result.
    await run.started.catch(() => {})
    while (!isOver) {
      await Promise.race([over, player.rest()])
      // Everything waits for the next word of the log: for a kill, or there is none.
      if (!isOver && !player.killNext(engine)) {
        over.catch(() => {})
        return
      }
    }
    await over
  }
}

function begin(
  engine: Engine,
  { birth: { plan, base }, basePath }: TapeAgent,
  { content, origin, maxTurns }: AgentEventOf<'run.started'>,
  sessionId: string | undefined,
): Run {
  const limit = maxTurns === undefined ? {} : { maxTurns }
  if (sessionId !== undefined) return engine.run(content, { sessionId, ...limit })
  if (base !== undefined) {
    const isOurs = origin.from === 'engine' && content === GO_ON_FROM_HERE
    const modelId = plan.model.value
    return engine.branch(basePath ?? base.path, {
      at: base.seq,
      modelId,
      ...(!isOurs && { prompt: content }),
      ...limit,
    })
  }
  if (plan.agentType !== ROOT_TYPE && typeof content === 'string') {
    const { agentType, description } = plan
    return engine.spawn({ description, prompt: content, subagent_type: agentType }, limit)
  }
  return engine.run(content, limit)
}

/** Knows which agent of the engine stands for which of the tape, and when nothing happens any more. */
class Player {
  readonly #tape: ReadonlyMap<AgentId, TapeAgent>
  readonly #recordedBy = new Map<AgentId, TapeAgent>()
  readonly #places = new Map<string, CallPlace>()
  readonly #replies = new Map<AgentId, number>()
  readonly #runs = new Map<AgentId, number>()
  readonly #killed = new Set<string>()
  /** What the engine told its agents beside prompts and results. */
  readonly #added = new Set<unknown>()
  readonly #root: TapeAgent
  #stirs = 0
  #busy = 0

  constructor(tape: ReadonlyMap<AgentId, TapeAgent>, root: TapeAgent) {
    this.#tape = tape
    this.#root = root
  }

  /** Something happens. */
  readonly stir = (): void => {
    this.#stirs += 1
  }

  readonly find = ({ agentId, callId }: { readonly agentId: AgentId; readonly callId: CallId }) => {
    const place = this.#places.get(`${agentId} ${callId}`)
    return place === undefined ? undefined : this.#recorded(agentId, place)
  }

  #recorded(agentId: AgentId, place: CallPlace): RecordedCall | undefined {
    return this.#recordedBy.get(agentId)?.calls.get(place)
  }

  /** A live tool: while it runs, nothing is at rest. */
  readonly watched = (tool: Tool): Tool => ({
    ...tool,
    run: async (input, context) => {
      this.#busy += 1
      try {
        return await tool.run(input, context)
      } finally {
        this.#busy -= 1
        this.stir()
      }
    },
  })

  /** A base that is being read: nothing is at rest meanwhile. */
  readonly reading = async function* (this: Player, bytes: AsyncIterable<Uint8Array>) {
    this.#busy += 1
    try {
      yield* bytes
    } finally {
      this.#busy -= 1
      this.stir()
    }
  }.bind(this)

  readonly hear = (told: EngineEvent): void => {
    this.stir()
    if (told.kind !== 'fact') return
    const { agentId, event } = told
    switch (event.type) {
      case 'agent.spawned':
        if (event.parent === undefined) this.#recordedBy.set(agentId, this.#root)
        return
      case 'run.started':
        this.#runs.set(agentId, event.run)
        return
      case 'message.added':
        this.#added.add(event.content)
        return
      case 'agent.ended':
        this.#runs.delete(agentId)
        return
      case 'reply.received': {
        const reply = this.#replies.get(agentId) ?? 0
        this.#replies.set(agentId, reply + 1)
        for (const [i, { callId }] of event.calls.entries())
          this.#places.set(`${agentId} ${callId}`, `${reply}.${i}`)
        return
      }
      case 'call.started': {
        const child = event.child && this.find({ agentId, callId: event.callId })?.child
        const recorded = child && this.#tape.get(child)
        if (event.child !== undefined && recorded !== undefined)
          this.#recordedBy.set(event.child.agentId, recorded)
        return
      }
      default:
    }
  }

  /** The messages of a request without what the engine added. */
  withoutAdded(messages: readonly RequestMessage[]): readonly RequestMessage[] {
    return messages.map((message) => {
      const { content } = message
      if (message.role !== 'user' || typeof content === 'string') return message
      return { ...message, content: content.filter((block) => !this.#added.has(block['text'])) }
    })
  }

  /** Resolves when nothing has happened for a while. */
  async rest(): Promise<void> {
    for (let seen = -1; seen !== this.#stirs || this.#busy > 0; ) {
      seen = this.#stirs
      await new Promise<void>((resolve) => setTimeout(resolve, REST_MS))
    }
  }

  /** Ends a run that the log says was ended, the deepest first. False when there is none. */
  killNext(engine: Engine): boolean {
    for (const [agentId, run] of [...this.#runs].toReversed()) {
      const kill = this.#recordedBy.get(agentId)?.kills.get(run)
      const key = `${agentId} ${run}`
      if (kill === undefined || this.#killed.has(key)) continue
      this.#killed.add(key)
      this.stir()
      engine.kill(agentId, kill.reason).catch(() => {})
      return true
    }
    return false
  }
}

type Reading = (bytes: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>

/** What is not in memory is read where it is. */
function readThrough(memory: Storage, disk: Storage, watched: Reading = (bytes) => bytes): Storage {
  return {
    ...memory,
    read: async function* (path, offset) {
      yield* (await memory.exists(path)) ? memory.read(path, offset) : watched(disk.read(path, offset))
    },
    exists: async (path) =>
      (await memory.exists(path)) || (!path.startsWith(HOME) && (await disk.exists(path))),
  }
}

const isLimits = (value: unknown): value is Partial<Limits> => typeof value === 'object' && value !== null
