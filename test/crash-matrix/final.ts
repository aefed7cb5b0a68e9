/** A session as it is on the disk: its logs, read, checked and folded, and the calls and runs in them. */
import { createHash } from 'node:crypto'
import path from 'node:path'
import type { LogCheck } from '../../src/journal/check/check-log.ts'
import { checkLog } from '../../src/journal/check/check-log.ts'
import type { EventEntry } from '../../src/journal/log-entry.ts'
import type { SessionPaths } from '../../src/journal/paths.ts'
import { createConversation } from '../../src/journal/projections/conversation.ts'
import { requestMessages } from '../../src/journal/projections/request-messages.ts'
import { readEntries } from '../../src/journal/read-entries.ts'
import type { Storage } from '../../src/journal/storage.ts'
import type { Recorded, RunKey } from '../../src/machines/agent/events.ts'
import type { AgentState } from '../../src/machines/agent/fold.ts'
import type { RequestMessage } from '../../src/machines/agent/messages.ts'
import { isToolUse } from '../../src/machines/agent/messages.ts'
import type { Entry } from './record.ts'
import type { CallOutcome } from './scenario.ts'
import { labelOf, promptIn } from './scenario.ts'

/** One tool call in a log. */
export interface SeenCall {
  /** Unique in the session: agent and call. */
  readonly key: string
  readonly agentId: string
  readonly callId: string
  readonly tool: string
  readonly label: string
  readonly hasStarted: boolean
  /** The child that it has started. */
  readonly child: string | undefined
  /** In the order of the log; one, if all is well, none while it is open. */
  readonly outcomes: readonly CallOutcome[]
  /** Ends that its results deliver, as `<child> <run>`. */
  readonly delivered: readonly string[]
}

/** One agent's log, checked and folded. */
export interface SeenLog {
  readonly path: string
  readonly agentId: string
  readonly isRoot: boolean
  readonly check: LogCheck
  readonly recorded: readonly Recorded[]
  /** The agent behind each of them. */
  readonly states: readonly AgentState[]
  /** The byte behind each of them. */
  readonly ends: readonly number[]
  readonly calls: readonly SeenCall[]
  /** Ends that its lines tell besides results of calls: notices, as `<child> <run>`. */
  readonly notices: readonly string[]
  /** Ends that it is owed and not told, as `<child> <run>`. */
  readonly owed: readonly string[]
  /** Runs by their number: what they were asked, and how often and how they ended. */
  readonly runs: readonly {
    readonly run: number
    readonly prompt: string
    readonly ends: readonly string[]
  }[]
  /** What its model would be sent now, as text, without what differs by nature: ids, times and counts. */
  readonly conversation: string
}

/** A session at its end. */
export interface Final {
  readonly logs: readonly SeenLog[]
  readonly entries: readonly Entry[]
  /** The folder that the agents worked in; undefined when they have none of their own. */
  readonly project: string | undefined
}

/** The log as it was when its file had so many bytes. */
export function cutAt(log: SeenLog, bytes: number): SeenLog {
  const recorded = log.recorded.filter((_, i) => (log.ends[i] ?? 0) <= bytes)
  return {
    ...log,
    recorded,
    calls: callsIn(log.agentId, recorded),
    runs: runsIn(recorded),
    ...newsIn(recorded),
  }
}

/** Reads logs, and knows those again that it has read before: most cells share most of their lines. */
export interface LogReader {
  /** All logs of a session, the root's first. */
  readSession(storage: Storage, paths: SessionPaths): Promise<readonly SeenLog[]>
}

export function createLogReader(): LogReader {
  const known = new Map<string, SeenLog>()
  const readOne = async (storage: Storage, file: string, isRoot: boolean): Promise<SeenLog> => {
    const parts: Uint8Array[] = []
    for await (const part of storage.read(file)) parts.push(part)
    const key = createHash('sha1').update(file).update(Buffer.concat(parts)).digest('hex')
    const log = known.get(key) ?? (await seenLog(storage, file, isRoot))
    known.set(key, log)
    return log
  }
  return {
    readSession: async (storage, paths) => {
      const names = (await storage.list(paths.subagents)).filter((name) => name.endsWith('.jsonl'))
      const children = names.map((name) => path.join(paths.subagents, name))
      const logs: SeenLog[] = []
      for (const file of [paths.rootLog, ...children])
        if (await storage.exists(file)) logs.push(await readOne(storage, file, file === paths.rootLog))
      return logs
    },
  }
}

async function seenLog(storage: Storage, file: string, isRoot: boolean): Promise<SeenLog> {
  const events: EventEntry[] = []
  const states: AgentState[] = []
  const check = await checkLog(readEntries(storage, file), {
    onEvent: (entry, after) => {
      events.push(entry)
      states.push(after)
    },
  })
  const recorded = events.map((entry) => entry.recorded)
  const agentId = check.agent.agentId ?? 'nobody'
  const conversation = createConversation()
  for (const event of recorded) conversation.push(event)
  return {
    path: file,
    agentId,
    isRoot,
    check,
    recorded,
    states,
    ends: events.map(({ to = 0 }) => to),
    calls: callsIn(agentId, recorded),
    runs: runsIn(recorded),
    ...newsIn(recorded),
    conversation: meaningOf(requestMessages(conversation.entries())),
  }
}

function callsIn(agentId: string, recorded: readonly Recorded[]): readonly SeenCall[] {
  const events = recorded.map(({ event }) => event)
  return events.flatMap((reply) => {
    if (reply.type !== 'reply.received') return []
    const blocks = reply.reply.content.filter(isToolUse)
    return reply.calls.map(({ callId, name, toolUseId }) => {
      const block = blocks.find(({ id }) => id === toolUseId)
      const starts = events.flatMap((event) =>
        event.type === 'call.started' && event.callId === callId ? [event] : [],
      )
      const results = events.flatMap((event) =>
        event.type === 'call.ended' && event.callId === callId ? [event] : [],
      )
      return {
        key: `${agentId} ${callId}`,
        agentId,
        callId,
        tool: name,
        label: labelOf(name, block?.input),
        hasStarted: starts.length > 0,
        child: starts[0]?.child?.agentId,
        outcomes: results.map(({ outcome }) => outcome),
        delivered: results.flatMap(({ delivered: key }) =>
          key === undefined ? [] : [`${key.agentId} ${key.run}`],
        ),
      }
    })
  })
}

const keyOf = ({ agentId, run }: RunKey): string => `${agentId} ${run}`

function newsIn(recorded: readonly Recorded[]): Pick<SeenLog, 'notices' | 'owed'> {
  const notices: string[] = []
  const owed: string[] = []
  const settle = (key: RunKey): void => {
    const at = owed.indexOf(keyOf(key))
    if (at >= 0) owed.splice(at, 1)
  }
  for (const { event } of recorded) {
    if (event.type === 'child.launched') owed.push(keyOf(event.child))
    if (event.type === 'child.released') {
      settle(event.child)
      // In a killed tree the record stands for the telling.
      if (event.isUndeliverable === true) notices.push(keyOf(event.child))
    }
    if (event.type === 'call.ended' && event.delivered !== undefined) settle(event.delivered)
    if (event.type !== 'message.added' && event.type !== 'run.started') continue
    for (const key of event.tells ?? []) {
      settle(key)
      notices.push(keyOf(key))
    }
  }
  return { notices, owed }
}

function runsIn(recorded: readonly Recorded[]): SeenLog['runs'] {
  return recorded.flatMap(({ event }) => {
    if (event.type !== 'run.started') return []
    const ends = recorded.flatMap(({ event: end }) =>
      end.type === 'agent.ended' && end.run === event.run ? [end.outcome.kind] : [],
    )
    return [{ run: event.run, prompt: promptIn(String(event.content)), ends }]
  })
}

function meaningOf(messages: readonly RequestMessage[]): string {
  return JSON.stringify(messages)
    .replaceAll(/(toolu|sig)_[0-9a-f]+/g, '$1')
    .replaceAll(/a[0-9a-f]{16}/g, 'AGENT')
    .replaceAll(/\bagent-[0-9a-f]{8,16}\b/g, 'TREE')
    .replaceAll(/(total_tokens|duration_ms): \d+/g, '$1: N')
    .replaceAll(/\/[^" ]*troupe-matrix-\w+/g, 'FOLDER')
}
