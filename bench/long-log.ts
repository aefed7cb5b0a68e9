/** Logs of any length, without an engine: encoded as an engine would have, and written in large pieces. */
import { appendFileSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { systemIds } from '../src/effects/ids.ts'
import type { LogCursor, LogIdentity } from '../src/journal/cursor.ts'
import { START_CURSOR } from '../src/journal/cursor.ts'
import { encode } from '../src/journal/encode.ts'
import { endOf } from '../src/machines/agent/context.ts'
import type { EventDraft } from '../src/machines/agent/events.ts'
import { MACHINE_VERSION } from '../src/machines/agent/events.ts'
import type { RunSnapshot } from '../src/machines/agent/fold.ts'
import { beginRun, foldRun } from '../src/machines/agent/fold.ts'
import type { Reply } from '../src/machines/agent/messages.ts'
import { AgentId, BlobHash, type SessionId } from '../src/machines/ids.ts'
import { callOf, PROMPT, RESULT } from './work.ts'

const PIECE_BYTES = 1_000_000
const NO_BLOB = BlobHash.parse('0'.repeat(64))
const AGENT = AgentId.parse('a0000000000000001')

export interface LongLog {
  /** Appends a run that ends, of as many events as asked for, three for each turn. */
  appendRun(events: number): void
  /** Bytes so far. */
  readonly bytes: number
  readonly events: number
}

/** Begins the log of a root agent. */
export function createLongLog(path: string, sessionId: SessionId, cwd: string): LongLog {
  mkdirSync(dirname(path), { recursive: true })
  const identity: LogIdentity = { sessionId, agentId: AGENT, isSidechain: false, cwd, version: '0.1.0' }
  let cursor: LogCursor = START_CURSOR
  let run: RunSnapshot | undefined
  let piece = ''
  let bytes = 0
  let events = 0
  let at = Date.UTC(2026, 0, 1)

  const flush = (): void => {
    appendFileSync(path, piece)
    bytes += Buffer.byteLength(piece)
    piece = ''
  }
  const tell = (draft: EventDraft): void => {
    const encoded = encode(identity, cursor, draft, at, systemIds.uuid)
    const { event } = encoded.recorded
    if (event.type === 'run.started') run = beginRun(AGENT, event.run)
    if (run !== undefined && event.type !== 'agent.spawned') run = foldRun(run, event)
    cursor = encoded.cursor
    piece += encoded.text
    events += 1
    at += 1_000
    if (piece.length >= PIECE_BYTES) flush()
  }
  const reply = (content: Reply['content'], id: string): void =>
    tell({
      type: 'reply.received',
      concurrencySafe: [true],
      reply: {
        id,
        type: 'message',
        role: 'assistant',
        model: 'scripted',
        content,
        stop_reason: content[0]?.type === 'text' ? 'end_turn' : 'tool_use',
        stop_sequence: null,
        usage: { input_tokens: 1_000, output_tokens: 100 },
      },
    })
  const turn = (number: number): void => {
    const id = `toolu_${cursor.run}_${number}`
    const { name, input } = callOf({ unit: 'turn', count: 1 })
    reply([{ type: 'tool_use', id, name, input }], `msg_${cursor.run}_${number}`)
    const [callId] = cursor.openCalls.keys()
    if (callId === undefined) throw new Error('the reply asks for a call')
    tell({ type: 'call.started', callId })
    tell({
      type: 'call.ended',
      callId,
      outcome: 'ok',
      result: { type: 'tool_result', tool_use_id: id, content: RESULT },
    })
  }

  tell({
    type: 'agent.spawned',
    agentId: AGENT,
    depth: 0,
    plan: {
      agentType: 'main',
      description: 'main agent',
      model: { value: 'scripted', rule: 'bench' },
      mode: { value: 'bypassPermissions', rule: 'bench' },
      cwd,
    },
  })
  return {
    appendRun: (count) => {
      tell({
        type: 'run.started',
        run: cursor.run + 1,
        machine: MACHINE_VERSION,
        content: PROMPT,
        origin: { from: 'user' },
      })
      tell({ type: 'agent.prepared', system: NO_BLOB, tools: NO_BLOB })
      for (let i = 0; i < (count - 4) / 3; i += 1) turn(i)
      reply([{ type: 'text', text: RESULT }], `msg_${cursor.run}_end`)
      if (run === undefined) throw new Error('the run has begun')
      tell(endOf(run.context, 1))
      flush()
    },
    get bytes() {
      return bytes
    },
    get events() {
      return events
    },
  }
}
