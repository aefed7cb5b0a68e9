/**
 * What the disk really holds of each log: its durable bytes, decoded and folded beside the engine, independently of
 * everything that the engine keeps in memory. The laws compare the engine with this.
 */

import { createDecoder, type Decoder } from '../../src/journal/decode.ts'
import type { LogItem } from '../../src/journal/log-items.ts'
import type { AgentEvent, Recorded } from '../../src/machines/agent/events.ts'
import { type AgentState, foldAgent, UNBORN } from '../../src/machines/agent/fold.ts'
import type { AgentId } from '../../src/machines/ids.ts'

/** One log, as far as it is durable. */
export interface ShadowLog {
  readonly path: string
  readonly agentId: AgentId | undefined
  readonly state: AgentState
  readonly events: readonly Recorded[]
  /** Position of the last durable line; -1 when there is none. */
  readonly lastSeq: number
  /** The state right after the event at this position. */
  stateAt(seq: number): AgentState | undefined
  /** What cannot be read, or cannot follow what is before it. */
  readonly trouble: readonly string[]
}

export interface ShadowLogs {
  /** The durable content of a log has become this much longer. */
  grew(path: string, bytes: Uint8Array): void
  /** What is left of a log after a crash: it is decoded and folded again from its first byte. */
  replaced(path: string, bytes: Uint8Array): void
  readonly all: readonly ShadowLog[]
  of(agentId: string): ShadowLog | undefined
  /** The root of the session that all begins with. */
  readonly root: ShadowLog | undefined
  /** The roots of its branches, in the order in which they were made. */
  readonly branches: readonly ShadowLog[]
}

/** Called for each event as it becomes durable, with the state before and after it. */
export type OnDurable = (log: ShadowLog, recorded: Recorded, before: AgentState) => void

interface MutableShadow extends ShadowLog {
  agentId: AgentId | undefined
  state: AgentState
  readonly events: Recorded[]
  readonly trouble: string[]
  lastSeq: number
  decoder: Decoder
  rest: Buffer
  read: number
  /** Up to here it is known from before a crash, and was told. */
  readonly toldUpTo: number
  readonly states: Map<number, AgentState>
}

export function createShadowLogs(tell: OnDurable): ShadowLogs {
  const logs = new Map<string, MutableShadow>()

  const empty = (path: string, toldUpTo = -1): MutableShadow => {
    const states = new Map<number, AgentState>()
    return {
      path,
      agentId: undefined,
      state: UNBORN,
      events: [],
      trouble: [],
      lastSeq: -1,
      decoder: createDecoder(),
      rest: Buffer.alloc(0),
      read: 0,
      toldUpTo,
      states,
      stateAt: (seq) => states.get(seq),
    }
  }

  const take = (log: MutableShadow, item: LogItem): void => {
    if (item.kind === 'damage' && item.missing > 0) log.trouble.push(`${item.reason}: ${item.detail}`)
    if (item.kind !== 'event') return
    const { recorded } = item
    const before = log.state
    if (recorded.event.type === 'agent.spawned') log.agentId = recorded.event.agentId
    try {
      log.state = foldAgent(log.state, recorded.event)
    } catch (error) {
      log.trouble.push(`line ${recorded.seq + 1}, ${recorded.event.type}: ${String(error)}`)
    }
    log.events.push(recorded)
    log.lastSeq = recorded.seq + Math.max(1, recorded.lines.length) - 1
    log.states.set(recorded.seq, log.state)
    if (log.lastSeq > log.toldUpTo) tell(log, recorded, before)
  }

  const grow = (log: MutableShadow, bytes: Uint8Array): void => {
    let rest = log.rest.length === 0 ? Buffer.from(bytes) : Buffer.concat([log.rest, bytes])
    for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
      const line = rest.subarray(0, end)
      const span = { from: log.read, to: log.read + end + 1 }
      log.read = span.to
      rest = rest.subarray(end + 1)
      if (line.length > 0) for (const item of log.decoder.push(line, span)) take(log, item)
    }
    log.rest = rest
  }

  return {
    grew: (path, bytes) => {
      const log = logs.get(path) ?? empty(path)
      logs.set(path, log)
      grow(log, bytes)
    },
    replaced: (path, bytes) => {
      const known = logs.get(path)
      // Behind a gap the last line may not be taken yet: it was told all the same.
      const log = empty(path, Math.max(known?.lastSeq ?? -1, known?.toldUpTo ?? -1))
      logs.delete(path)
      if (bytes.length === 0) return
      logs.set(path, log)
      grow(log, bytes)
      // A whole last line counts without its line feed, as it does for the engine's own reader.
      if (log.rest.length > 0 && isWhole(log.rest)) {
        for (const item of log.decoder.push(log.rest, { from: log.read, to: log.read + log.rest.length }))
          take(log, item)
        log.read += log.rest.length
        log.rest = Buffer.alloc(0)
      }
    },
    get all() {
      return [...logs.values()]
    },
    of: (agentId) => [...logs.values()].find((log) => log.agentId === agentId),
    get root() {
      return [...logs.values()].find(
        ({ state: { birth } }) =>
          birth !== undefined && birth.parent === undefined && birth.base === undefined,
      )
    },
    get branches() {
      return [...logs.values()].filter(({ state }) => state.birth?.base !== undefined)
    },
  }
}

function isWhole(bytes: Buffer): boolean {
  try {
    return typeof JSON.parse(bytes.toString('utf8')) === 'object'
  } catch {
    return false
  }
}

/** The events of one type in a log. */
export function eventsOf<T extends AgentEvent['type']>(
  log: ShadowLog | undefined,
  type: T,
): readonly Extract<AgentEvent, { type: T }>[] {
  return (log?.events ?? []).flatMap(({ event }) =>
    event.type === type ? [event as Extract<AgentEvent, { type: T }>] : [],
  )
}
