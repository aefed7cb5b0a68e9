/**
 * What one more event costs in a conversation of a given length, where it must be the same at 10 and at 10,000, and
 * what a request costs there, which is O(n) by nature.
 *
 * A conversation of that length is made once. Each sample goes on from there on a fork, so that the length stays
 * what it is said to be; lengths take turns, so that a slow moment of the machine hits all alike.
 */

import { systemIds } from '../../src/effects/ids.ts'
import type { LogCursor, LogIdentity } from '../../src/journal/cursor.ts'
import { START_CURSOR } from '../../src/journal/cursor.ts'
import { encode } from '../../src/journal/encode.ts'
import type { Conversation } from '../../src/journal/projections/conversation.ts'
import { createConversation } from '../../src/journal/projections/conversation.ts'
import type { RequestMessages } from '../../src/journal/projections/request-messages.ts'
import { createRequestMessages } from '../../src/journal/projections/request-messages.ts'
import type { EventDraft, Recorded } from '../../src/machines/agent/events.ts'
import { MACHINE_VERSION } from '../../src/machines/agent/events.ts'
import type { RunSnapshot } from '../../src/machines/agent/fold.ts'
import { beginRun, foldRun } from '../../src/machines/agent/fold.ts'
import { AgentId, BlobHash, callId, SessionId } from '../../src/machines/ids.ts'
import { collectGarbage, nanosecondsOf } from '../clocks.ts'
import { inFreshProcess } from '../fresh-process.ts'
import type { Settings } from '../settings.ts'
import { spreadOf } from '../statistics.ts'
import type { Table } from '../table.ts'
import { number, spread } from '../table.ts'
import { callOf, PROMPT, RESULT } from '../work.ts'

export interface EventsInput {
  /** Lengths in messages. */
  readonly lengths: readonly number[]
  readonly samples: number
}

export interface LengthFigures {
  readonly length: number
  /** Bytes of log per event. */
  readonly bytes: number
  /** Bytes of memory that one event keeps, its content included. */
  readonly heapBytes: number
  /** Nanoseconds per event, one for each sample: making its lines, the step of the machine, the step of the conversation. */
  readonly encode: readonly number[]
  readonly fold: readonly number[]
  readonly project: readonly number[]
  /** Nanoseconds per request: bringing the messages up to date and handing them over, and turning them into JSON. */
  readonly handOver: readonly number[]
  readonly serialise: readonly number[]
  readonly requestBytes: number
}

const IDENTITY: LogIdentity = {
  sessionId: SessionId.parse('5e551011-0000-4000-8000-000000000001'),
  agentId: AgentId.parse('a0000000000000001'),
  isSidechain: true,
  cwd: '/home/someone/project',
  version: '0.1.0',
  gitBranch: 'main',
}
const TIME = Date.UTC(2026, 0, 1)
const NO_BLOB = BlobHash.parse('0'.repeat(64))

/** Turns of one sample, three events each. */
const TURNS = 8
const EVENTS = TURNS * 3
const WARM_UP = 50

/** Runs the scenario: figures, and the tables that show them. */
export async function reportEvents(settings: Settings) {
  const figures = await inFreshProcess(settings, 'events', {
    lengths: settings.quick ? [10, 1_000] : [10, 1_000, 10_000],
    samples: settings.quick ? 20 : 500,
  })
  return { figures, tables: [eventTable(figures), requestTable(figures)] }
}

function eventTable(figures: readonly LengthFigures[]): Table {
  return {
    title: 'One event, by the length of the conversation',
    notes: [
      'Flat is right. Microseconds are the smallest of all samples (median in brackets), each the mean of 24 events: a third replies, a third starts of calls, a third results of 400 bytes. Memory includes the content.',
    ],
    columns: [
      'messages',
      'log bytes',
      'memory bytes',
      'lines, µs',
      'machine step, µs',
      'projection step, µs',
    ],
    rows: figures.map(({ length, bytes, heapBytes, encode, fold, project }) => [
      number(length),
      number(bytes),
      number(heapBytes),
      ...[encode, fold, project].map(microseconds),
    ]),
  }
}

function requestTable(figures: readonly LengthFigures[]): Table {
  return {
    title: 'One request, by the length of the conversation',
    notes: [
      'O(n) by nature: a request names every message. Handing over brings 8 new turns up to date and copies one reference per message.',
    ],
    columns: ['messages', 'request KB', 'handing over, µs', 'serialising, µs'],
    rows: figures.map(({ length, requestBytes, handOver, serialise }) => [
      number(length),
      number(requestBytes / 1_000),
      microseconds(handOver),
      microseconds(serialise),
    ]),
  }
}

const microseconds = (nanoseconds: readonly number[]): string =>
  spread(spreadOf(nanoseconds.map((ns) => ns / 1_000)))

/** Takes all samples of all lengths. */
export async function measureEvents({ lengths, samples }: EventsInput): Promise<LengthFigures[]> {
  const places = lengths.map((length) => ({ length, heapBytes: heapPerEvent(length), at: placeAt(length) }))
  const taken = places.map(() => [] as Sample[])
  for (let i = -WARM_UP; i < samples; i += 1) {
    for (const [index, { at }] of places.entries()) {
      const sample = takeSample(at)
      if (i >= 0) taken[index]?.push(sample)
    }
  }
  return places.map(({ length, heapBytes }, index) => {
    const all = taken[index] ?? []
    return {
      length,
      heapBytes,
      bytes: all[0]?.bytes ?? Number.NaN,
      requestBytes: all[0]?.requestBytes ?? Number.NaN,
      encode: all.map(({ encode }) => encode),
      fold: all.map(({ fold }) => fold),
      project: all.map(({ project }) => project),
      handOver: all.map(({ handOver }) => handOver),
      serialise: all.map(({ serialise }) => serialise),
    }
  })
}

/** Everything that an agent knows at one place of its log. */
interface Place {
  readonly cursor: LogCursor
  readonly run: RunSnapshot
  readonly conversation: Conversation
  readonly requests: RequestMessages
}

interface Sample {
  readonly bytes: number
  readonly requestBytes: number
  readonly encode: number
  readonly fold: number
  readonly project: number
  readonly handOver: number
  readonly serialise: number
}

function takeSample(place: Place): Sample {
  const conversation = place.conversation.fork(place.conversation.length)
  const requests = place.requests.fork(conversation)
  requests.messages()
  const drafts = turnsFrom(place.cursor.seq, TURNS)
  const lines: string[] = []
  const events: Recorded[] = []
  let { run } = place

  const encodeNs = nanosecondsOf(() => {
    let { cursor } = place
    for (const draft of drafts) {
      const encoded = encode(IDENTITY, cursor, draft, TIME, systemIds.uuid)
      cursor = encoded.cursor
      lines.push(encoded.text)
      events.push(encoded.recorded)
    }
  })
  const foldNs = nanosecondsOf(() => {
    for (const { event } of events) run = event.type === 'agent.spawned' ? run : foldRun(run, event)
  })
  const projectNs = nanosecondsOf(() => {
    for (const recorded of events) conversation.push(recorded)
  })
  let messages: readonly unknown[] = []
  const handOverNs = nanosecondsOf(() => {
    messages = requests.messages()
  })
  let json = ''
  const serialiseNs = nanosecondsOf(() => {
    json = JSON.stringify(messages)
  })
  if (run.context.calls.length > 0) throw new Error('a call was left open')
  return {
    bytes: Buffer.byteLength(lines.join('')) / EVENTS,
    requestBytes: Buffer.byteLength(json),
    encode: encodeNs / EVENTS,
    fold: foldNs / EVENTS,
    project: projectNs / EVENTS,
    handOver: handOverNs,
    serialise: serialiseNs,
  }
}

/** An agent whose conversation has so many messages: a prompt, then replies and results in turn. */
function placeAt(length: number): Place {
  const conversation = createConversation()
  let run = beginRun(IDENTITY.agentId, 1)
  let cursor = START_CURSOR
  const push = (draft: EventDraft): void => {
    const encoded = encode(IDENTITY, cursor, draft, TIME, systemIds.uuid)
    const { event } = encoded.recorded
    cursor = encoded.cursor
    conversation.push(encoded.recorded)
    if (event.type !== 'agent.spawned') run = foldRun(run, event)
  }
  push({ type: 'run.started', run: 1, machine: MACHINE_VERSION, content: PROMPT, origin: { from: 'user' } })
  push({ type: 'agent.prepared', system: NO_BLOB, tools: NO_BLOB })
  for (const draft of turnsFrom(cursor.seq, Math.floor(length / 2))) push(draft)
  const requests = createRequestMessages(conversation)
  requests.messages()
  return { cursor, run, conversation, requests }
}

/** Enough conversations of one length that the heap shows what an event keeps. */
function heapPerEvent(length: number): number {
  const count = Math.max(1, Math.round(20_000 / length))
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  const places = Array.from({ length: count }, () => placeAt(length))
  collectGarbage()
  const kept = process.memoryUsage().heapUsed - before
  return kept / places.reduce((sum, { cursor }) => sum + cursor.seq, 0)
}

/** Turns with one call each, as drafts: the reply, the start of the call, its result. */
function turnsFrom(seq: number, turns: number): EventDraft[] {
  return Array.from({ length: turns }, (_, i) => turnAt(seq + i * 3)).flat()
}

function turnAt(seq: number): EventDraft[] {
  const { name, input } = callOf({ unit: 'turn', count: 1 })
  const id = `toolu_${String(seq).padStart(16, '0')}`
  return [
    {
      type: 'reply.received',
      concurrencySafe: [true],
      reply: {
        id: `msg_${String(seq).padStart(16, '0')}`,
        type: 'message',
        role: 'assistant',
        model: 'claude-sonnet-4-5',
        content: [{ type: 'tool_use', id, name, input: { ...input } }],
        stop_reason: 'tool_use',
        stop_sequence: null,
        usage: { input_tokens: 1_000, output_tokens: 50 },
      },
    },
    { type: 'call.started', callId: callId(1, seq, 0) },
    {
      type: 'call.ended',
      callId: callId(1, seq, 0),
      outcome: 'ok',
      // A string of its own, as a tool would make it: what an event keeps must not be shared.
      result: { type: 'tool_result', tool_use_id: id, content: `${seq} ${RESULT}`.slice(0, RESULT.length) },
    },
  ]
}
