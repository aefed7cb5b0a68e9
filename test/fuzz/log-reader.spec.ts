/** The log reader over anything that can be in a file (D1–D5 of the decoder). */
import { Buffer } from 'node:buffer'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LogItem, Span } from '../../src/journal/codec.ts'
import { createMemoryStorage } from '../../src/journal/memory-storage.ts'
import { createConversation } from '../../src/journal/projections/conversation.ts'
import { requestMessages } from '../../src/journal/projections/request-messages.ts'
import { requestViolations } from '../../src/journal/projections/validate-request.ts'
import { loadLog, readLog } from '../../src/journal/read-log.ts'
import type { Storage } from '../../src/journal/storage.ts'
import type { Recorded } from '../../src/machines/agent/events.ts'
import { FoldError, foldAgent, UNBORN } from '../../src/machines/agent/fold.ts'
import { plausibleHistory } from '../helpers/arbitraries.ts'
import { eventsIn, writeLog } from '../helpers/logs.ts'
import { killed, resumed } from '../helpers/run-events.ts'
import { expectLinear, fuzz, goodInputs } from './support/fuzz.ts'
import { mutated } from './support/mutations.ts'

const LOG = '/log.jsonl'

const history = goodInputs(plausibleHistory)
const validLog = history.map((drafts) => Buffer.from(writeLog(drafts).text))
/** Mostly what was a log, sometimes anything. */
const anyFile: fc.Arbitrary<Uint8Array> = fc.oneof(
  { weight: 9, arbitrary: mutated(validLog) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }) },
)

const storageOf = (content: Uint8Array | string): Storage =>
  createMemoryStorage({ files: new Map([[LOG, content]]) })

async function itemsOf(content: Uint8Array | string): Promise<readonly LogItem[]> {
  const items: LogItem[] = []
  for await (const item of readLog(storageOf(content), LOG)) items.push(item)
  return items
}

/** An event without its content, which may be nested more deeply than a comparison can follow. */
const placeOf = ({ seq, at, lines, event }: Recorded) => ({ seq, at, lines, type: event.type })

/** The bytes that no item speaks of. */
function unaccounted(bytes: Uint8Array, items: readonly Span[]): Buffer {
  const isSpokenOf = new Uint8Array(bytes.length)
  for (const { from, to } of items) isSpokenOf.fill(1, from, to)
  return Buffer.from(bytes.filter((_, i) => isSpokenOf[i] === 0))
}

describe('whatever is in a log', () => {
  fuzz('each of its bytes is accounted for: only empty lines say nothing', 80, anyFile, async (bytes) => {
    const items = await itemsOf(bytes)
    for (const { from, to } of items) {
      expect(from).toBeGreaterThanOrEqual(0)
      expect(to).toBeLessThanOrEqual(bytes.length)
      expect(from).toBeLessThanOrEqual(to)
    }
    expect(unaccounted(bytes, items).toString().replaceAll('\n', '')).toBe('')
  })

  fuzz(
    'positions of its events rise, and what is appended to it is read again',
    80,
    anyFile,
    async (bytes) => {
      const storage = storageOf(bytes)
      const before = await loadLog(storage, LOG)
      const positions = before.events.map(({ seq }) => seq)
      expect(positions).toEqual([...positions].sort((a, b) => a - b))
      expect(new Set(positions).size).toBe(positions.length)

      const more = writeLog([resumed(), killed()], { cursor: before.cursor })
      await storage.append([{ path: LOG, text: more.text }])
      const after = await loadLog(storage, LOG)
      expect(after.events.map(placeOf)).toEqual([...before.events, ...more.recorded].map(placeOf))
      expect(after.cursor).toEqual(more.cursor)
    },
  )

  it.each([2 ** 53 - 1, 2 ** 53 - 2, 2 ** 52])(
    'a last position of %d does not spoil what is appended',
    async (seq) => {
      const log = writeLog([resumed(), killed()])
      const text = log.text.replace('"seq":1', `"seq":${seq}`)
      expect(text).not.toBe(log.text)
      const storage = storageOf(text)
      const before = await loadLog(storage, LOG)
      const more = writeLog([resumed(), killed()], { cursor: before.cursor })
      await storage.append([{ path: LOG, text: more.text }])
      expect((await loadLog(storage, LOG)).events).toEqual([...before.events, ...more.recorded])
    },
  )

  fuzz('it folds, or a FoldError says what cannot follow', 80, anyFile, async (bytes) => {
    foldAll((await loadLog(storageOf(bytes), LOG)).events)
  })

  fuzz('a request made of it breaks no rule of the API and can be written', 80, anyFile, async (bytes) => {
    const { events } = await loadLog(storageOf(bytes), LOG)
    const conversation = createConversation()
    for (const recorded of events) conversation.push(recorded)
    const messages = requestMessages(conversation.entries(), 'claude-sonnet-4-6')
    const paused = messages.at(-1)?.role === 'assistant'
    expect(requestViolations(messages, { paused })).toEqual([])
    expect(JSON.parse(JSON.stringify(messages))).toEqual(messages)
  })
})

/** Folds up to the first event that cannot be; the fold has no other way to say so. */
function foldAll(events: readonly Recorded[]): void {
  let state = UNBORN
  for (const { event } of events) {
    try {
      state = foldAgent(state, event)
    } catch (error) {
      if (error instanceof FoldError) return
      throw error
    }
  }
}

describe('a damaged line', () => {
  const oneLine = fc.tuple(history, fc.nat(1_000)).chain(([drafts, place]) => {
    const log = writeLog(drafts)
    const lines = log.text.trimEnd().split('\n')
    const index = place % lines.length
    return mutated(fc.constant(Buffer.from(lines[index] ?? ''))).map((bytes) => ({
      log,
      index,
      // Still one line: what a line feed does is the business of other tests.
      content: Buffer.concat([
        Buffer.from(
          lines
            .slice(0, index)
            .map((line) => `${line}\n`)
            .join(''),
        ),
        Buffer.from(bytes.map((byte) => (byte === 0x0a ? 0x20 : byte))),
        Buffer.from(
          `\n${lines
            .slice(index + 1)
            .map((line) => `${line}\n`)
            .join('')}`,
        ),
      ]),
    }))
  })

  fuzz('costs what it says and nothing of the others', 100, oneLine, async ({ log, index, content }) => {
    const items = await itemsOf(content)
    const read = new Map(eventsIn(items).map((recorded) => [recorded.seq, recorded]))
    for (const recorded of log.recorded) {
      const lines = Math.max(1, recorded.lines.length)
      if (recorded.seq <= index && index < recorded.seq + lines) continue
      const found = read.get(recorded.seq)
      const { event } = recorded
      expect(found?.event.type, `line ${recorded.seq}, line ${index} is damaged`).toBe(event.type)
      // Calls of a reply are named after the run, which stands in another line.
      if (event.type === 'reply.received') expect(found?.event).toMatchObject({ reply: event.reply })
      else expect(found).toEqual(recorded)
    }
  })
})

describe('time and memory for reading a log', () => {
  const someLines = (size: number, line: (i: number) => string): string => {
    const lines: string[] = []
    for (let length = 0, i = 0; length < size; i++) {
      const next = line(i)
      lines.push(next)
      length += next.length + 1
    }
    return `${lines.join('\n')}\n`
  }
  const block = (seq: number, index: number): string =>
    JSON.stringify({
      type: 'assistant',
      uuid: `u${seq}`,
      parentUuid: null,
      sessionId: '5e551011-0000-4000-8000-000000000001',
      isSidechain: false,
      cwd: '/',
      version: '1',
      timestamp: '2026-01-01T00:00:00.000Z',
      seq,
      message: { id: 'm', content: [{ type: 'text', text: '' }], stop_reason: null, usage: {} },
      troupe: { block: index === 0 ? undefined : index },
    })

  const SHAPES: Readonly<Record<string, (i: number) => string>> = {
    'lines of other programs': () => '{"type":"summary"}',
    'lines that are no JSON': () => '{"type":"user"',
    'lines of nothing': () => '',
    'positions that jump back and forth': (i) => `{"type":"x","seq":${i % 2 === 0 ? i * 3 : 1}}`,
    'positions that only jump': (i) => `{"type":"x","seq":${i * 2}}`,
    'one reply that never ends': (i) => block(i, i),
    'replies that are cut off': (i) => block(i, 0),
  }
  it('grows with its length only', async () => {
    await expectLinear(
      200_000,
      Object.keys(SHAPES),
      (shape, size) => someLines(size, SHAPES[shape] ?? (() => '')),
      (text) => loadLog(storageOf(text), LOG),
    )
  })

  it('is bounded for a line without an end: it is damage, and what follows is read', async () => {
    const good = Buffer.from('{"type":"summary"}\n')
    const chunk = Buffer.alloc(256 * 1024, 'x')
    const storage: Storage = {
      ...storageOf(''),
      async *read() {
        for (let i = 0; i < 400; i++) yield chunk
        yield Buffer.from('\n')
        yield good
      },
    }
    const before = process.memoryUsage().arrayBuffers
    const items: LogItem[] = []
    for await (const item of readLog(storage, LOG, { maxLineBytes: 1024 * 1024 })) items.push(item)
    const length = 400 * chunk.length + 1
    expect(items).toMatchObject([
      { kind: 'damage', reason: 'too-long', from: 0, to: length },
      { kind: 'foreign', from: length, to: length + good.length },
    ])
    // Had it been kept, it would have been copied together: 100 MB.
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(length / 2)
  })
})
