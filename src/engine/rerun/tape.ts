/** The logs of a tree as something that can be played: what models said and tools answered, agent by agent. */
import { basename, dirname, join } from 'node:path'
import type { CassetteReel, CassetteTurn } from '../../effects/model/cassette.ts'
import { createConversation } from '../../journal/projections/conversation.ts'
import { createRequestMessages } from '../../journal/projections/request-messages.ts'
import { readEntries } from '../../journal/read-entries.ts'
import { loadBase } from '../../journal/replay/base.ts'
import type { Storage } from '../../journal/storage.ts'
import type { AgentEventOf, Recorded } from '../../machines/agent/events.ts'
import type { AgentId } from '../../machines/ids.ts'

/** A call by its place in the story: which reply of the agent, which call of the reply. */
export type CallPlace = `${number}.${number}`

export interface RecordedCall {
  readonly name: string
  readonly ended: AgentEventOf<'call.ended'> | undefined
  /** Its run was being ended when it got its result. */
  readonly isCutOff: boolean
  readonly child: AgentId | undefined
}

/** A review that was recorded. */
export interface RecordedReview {
  readonly started: AgentEventOf<'run.started'>
  readonly ended: AgentEventOf<'review.ended'>
}

/** What the log of one agent says. */
export interface TapeAgent {
  readonly agentId: AgentId
  readonly path: string
  /** Where the log is that it branches off from; undefined when it is no branch. */
  readonly basePath: string | undefined
  readonly birth: AgentEventOf<'agent.spawned'>
  readonly runs: readonly AgentEventOf<'run.started'>[]
  readonly reel: CassetteReel
  readonly calls: ReadonlyMap<CallPlace, RecordedCall>
  /** What reviews of its work came to, in order, each with the prompt of its run. */
  readonly reviews: readonly RecordedReview[]
  /** In the background its runs owed their reviews when they ended. */
  readonly defersReview: boolean
  /** Who ended which run, where it was not the parent. */
  readonly kills: ReadonlyMap<number, AgentEventOf<'kill.requested'>>
}

/** The agents of a tree by their ids, the root first. Rejects as the reading of a log does. */
export async function readTape(storage: Storage, rootLog: string): Promise<ReadonlyMap<AgentId, TapeAgent>> {
  const agents = new Map<AgentId, TapeAgent>()
  const folder = join(dirname(rootLog), basename(rootLog, '.jsonl'), 'subagents')
  const waiting = [rootLog]
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    const agent = await readAgent(storage, path)
    if (agent === undefined || agents.has(agent.agentId)) continue
    agents.set(agent.agentId, agent)
    for (const { child } of agent.calls.values()) {
      const log = child && join(folder, `agent-${child}.jsonl`)
      if (log !== undefined && (await storage.exists(log))) waiting.push(log)
    }
  }
  return agents
}

async function readAgent(storage: Storage, path: string): Promise<TapeAgent | undefined> {
  const events: Recorded[] = []
  for await (const entry of readEntries(storage, path))
    if (entry.kind === 'event') events.push(entry.recorded)
  const birth = events[0]?.event
  if (birth?.type !== 'agent.spawned') return undefined
  const { base, plan, agentId } = birth
  const shared = base && (await loadBase(storage, base, path))
  const conversation = shared?.conversation.fork(shared.conversation.length) ?? createConversation()
  const request = createRequestMessages(conversation, plan.model.value)
  const turns: CassetteTurn[] = []
  const runs: AgentEventOf<'run.started'>[] = []
  const reviews: RecordedReview[] = []
  let defersReview = false
  const calls = new Map<CallPlace, RecordedCall>()
  const kills = new Map<number, AgentEventOf<'kill.requested'>>()
  const places = new Map<string, CallPlace>()
  let replies = 0
  let isEnding = false
  const note = (callId: string, more: Partial<RecordedCall>): void => {
    const place = places.get(callId)
    const call = place && calls.get(place)
    if (place !== undefined && call !== undefined) calls.set(place, { ...call, ...more })
  }
  for (const recorded of events) {
    const { event } = recorded
    if (event.type === 'reply.received') {
      turns.push({ messages: request.messages(), said: { kind: 'reply', reply: event.reply } })
      for (const [i, { callId, name }] of event.calls.entries()) {
        places.set(callId, `${replies}.${i}`)
        calls.set(`${replies}.${i}`, { name, ended: undefined, isCutOff: false, child: undefined })
      }
      replies += 1
    } else if (event.type === 'request.failed') {
      const { fault, attempts } = event
      turns.push({ messages: request.messages(), said: { kind: 'failed', fault, attempts } })
    } else if (event.type === 'agent.prepared') {
      if (event.review === 'deferrable') defersReview = true
    } else if (event.type === 'run.started') {
      runs.push(event)
      isEnding = false
    } else if (event.type === 'review.ended') {
      const started = runs.at(-1)
      if (started !== undefined) reviews.push({ started, ended: event })
    } else if (event.type === 'kill.requested') {
      isEnding = true
      const run = runs.at(-1)?.run
      if (run !== undefined && !event.by.startsWith('agent ')) kills.set(run, event)
    } else if (event.type === 'agent.faulted') isEnding = true
    else if (event.type === 'call.started') note(event.callId, { child: event.child?.agentId })
    else if (event.type === 'call.ended') note(event.callId, { ended: event, isCutOff: isEnding })
    // What an engine adds is its own affair: this one adds what it knows, and a request is compared without either.
    if (!isOwnAffair(event.type)) conversation.push(recorded)
  }
  return {
    agentId,
    path,
    basePath: shared?.base.path,
    birth,
    runs,
    reel: { name: path, turns },
    calls,
    reviews,
    defersReview,
    kills,
  }
}

/** What an engine does to a conversation by itself: tells the agent something, sums it up, cuts a result. */
const isOwnAffair = (type: string): boolean =>
  type === 'message.added' || type === 'conversation.compacted' || type === 'results.cut'
