import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createMemoryStorage } from '../../src/journal/memory-storage.ts'
import { loadLog, readLog } from '../../src/journal/read-log.ts'
import { splitLines } from '../../src/journal/split-lines.ts'
import type { EventDraft, Recorded, ReplyDraft } from '../../src/machines/agent/events.ts'
import { callId } from '../../src/machines/ids.ts'
import { plausibleHistory } from '../helpers/arbitraries.ts'
import type { WrittenLog } from '../helpers/logs.ts'
import { CHILD, eventsIn, linesOf, ROOT, readText, writeLog } from '../helpers/logs.ts'
import { callEnded, killed, prepared, resumed, started, suspended } from '../helpers/run-events.ts'

const LOG = '/log.jsonl'

const load = (content: string | Uint8Array) =>
  loadLog(createMemoryStorage({ files: new Map([[LOG, content]]) }), LOG)

/** A reply of a text and `calls` calls. */
function reply(calls: number): ReplyDraft {
  const content = [
    { type: 'text', text: 'I will' },
    ...Array.from({ length: calls }, (_, i) => ({
      type: 'tool_use',
      id: `toolu_${i}`,
      name: 'Read',
      input: {},
    })),
  ]
  return {
    type: 'reply.received',
    reply: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'a-model',
      content,
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 1 },
    },
    concurrencySafe: [],
  }
}

/** Lines 0 to 7: two events, a reply of three lines, two results, a suspension. */
const SHORT: readonly EventDraft[] = [
  started(),
  prepared(),
  reply(2),
  callEnded(callId(1, 3, 0)),
  callEnded(callId(1, 4, 0)),
  suspended(),
]

const lines = (log: WrittenLog): string[] => log.text.trimEnd().split('\n')
const join = (all: readonly string[]): string => all.map((line) => `${line}\n`).join('')

describe('the end of a log', () => {
  it('may be cut at any byte: what is read is a prefix, and what is appended then is read too', async () => {
    await fc.assert(
      fc.asyncProperty(
        plausibleHistory,
        fc.double({ min: 0, max: 1, noNaN: true }),
        async (history, where) => {
          const log = writeLog(history)
          const bytes = Buffer.from(log.text)
          const cut = bytes.subarray(0, Math.floor(where * bytes.length))
          const storage = createMemoryStorage({ files: new Map([[LOG, cut]]) })
          const before = await loadLog(storage, LOG)
          expect(before.events).toEqual(log.recorded.slice(0, before.events.length))
          expect(before.damage).toEqual([])

          const more = writeLog([resumed(), killed()], { cursor: before.cursor })
          await storage.append([{ path: LOG, text: more.text }])
          const after = await loadLog(storage, LOG)
          expect(after.events).toEqual([...before.events, ...more.recorded])
          expect(after.damage.every((damage) => damage.missing === 0)).toBe(true)
          expect(after.cursor).toEqual(more.cursor)
          expect(after.torn).toBeUndefined()
        },
      ),
      { numRuns: 60 },
    )
  })

  it('that is torn is dropped and reported with its bytes', async () => {
    const log = writeLog(SHORT)
    const bytes = Buffer.from(log.text)
    const from = log.text.trimEnd().lastIndexOf('\n') + 1
    const loaded = await load(bytes.subarray(0, bytes.length - 9))
    expect(loaded.torn).toEqual({ kind: 'torn', from, to: bytes.length - 9 })
    expect(loaded.events).toEqual(log.recorded.slice(0, -1))
    expect(loaded.cursor.seq).toBe(7)
  })

  it('that lacks only its line feed is a whole line: not counting it would use its position twice', async () => {
    const log = writeLog(SHORT)
    const loaded = await load(log.text.trimEnd())
    expect(loaded.events).toEqual(log.recorded)
    expect(loaded.torn).toBeUndefined()
    expect(loaded.cursor).toEqual(log.cursor)
  })

  it('may be missing altogether: an empty file is an empty log', async () => {
    expect(await load('')).toMatchObject({
      events: [],
      cursor: { seq: 0, lastLine: null },
      identity: undefined,
    })
  })
})

describe('a reply that was cut off', () => {
  it('does not happen, and no later line hangs on it', async () => {
    const log = writeLog(SHORT)
    const cut = await load(join(lines(log).slice(0, 4)))
    expect(cut.events).toEqual(log.recorded.slice(0, 2))
    expect(cut.abandoned).toBe(2)
    expect(cut.cursor).toMatchObject({ seq: 4, lastLine: log.recorded[0]?.lines[0], openCalls: new Map() })

    const again = writeLog([reply(1)], { cursor: cut.cursor })
    expect(linesOf(again.text)[0]).toMatchObject({ seq: 4, parentUuid: log.recorded[0]?.lines[0] })
    const whole = await load(join(lines(log).slice(0, 4)) + again.text)
    expect(whole.events).toEqual([...log.recorded.slice(0, 2), ...again.recorded])
    expect(whole.damage).toEqual([])
  })
})

type Harm =
  | 'garbage'
  | 'nul'
  | 'utf8'
  | 'glue'
  | 'delete'
  | 'repeat'
  | 'renumber'
  | 'break a field'
  | 'truncate'

/** Harms line `at`; returns the bytes and which lines are lost for certain. */
function harm(all: readonly string[], at: number, how: Harm): { bytes: Buffer; lost: readonly number[] } {
  const line = all[at] ?? ''
  const put = (...instead: readonly (string | Buffer)[]): Buffer =>
    Buffer.concat([
      Buffer.from(join(all.slice(0, at))),
      ...instead.flatMap((part) => [Buffer.from(part), Buffer.from('\n')]),
      Buffer.from(join(all.slice(at + 1))),
    ])
  switch (how) {
    case 'garbage':
      return { bytes: put('not json'), lost: [at] }
    case 'nul':
      return { bytes: put(Buffer.alloc(line.length)), lost: [at] }
    case 'utf8':
      return {
        bytes: put(Buffer.concat([Buffer.from(line.slice(0, 20)), Buffer.from([0xff, 0xfe])])),
        lost: [at],
      }
    case 'truncate':
      return { bytes: put(line.slice(0, -1)), lost: [at] }
    case 'glue': {
      const next = all[at + 1] ?? ''
      const text = join([...all.slice(0, at), line + next, ...all.slice(at + 2)])
      return { bytes: Buffer.from(text), lost: [at, at + 1] }
    }
    case 'delete':
      return { bytes: put(), lost: [at] }
    case 'repeat':
      return { bytes: put(line, line), lost: [] }
    case 'renumber': {
      const object = JSON.parse(line)
      return { bytes: put(JSON.stringify({ ...object, seq: object.seq + 3 })), lost: [at] }
    }
    case 'break a field':
      return { bytes: put(JSON.stringify({ ...JSON.parse(line), timestamp: 'yesterday' })), lost: [at] }
  }
}

const survivors = (recorded: readonly Recorded[], lost: readonly number[]): readonly Recorded[] =>
  recorded.filter((one) => {
    const last = one.seq + Math.max(1, one.lines.length) - 1
    return !lost.some((line) => line >= one.seq && line <= last)
  })

const HARMS: readonly Harm[] = [
  'garbage',
  'nul',
  'utf8',
  'glue',
  'delete',
  'repeat',
  'renumber',
  'break a field',
  'truncate',
]

describe('damage in the middle', () => {
  it('costs the damaged lines, and no other event', async () => {
    await fc.assert(
      fc.asyncProperty(plausibleHistory, fc.nat(), fc.constantFrom(...HARMS), async (history, where, how) => {
        const log = writeLog(history)
        const all = lines(log)
        const { bytes, lost } = harm(all, where % (all.length - 1), how)
        const loaded = await load(bytes)
        expect(loaded.events).toEqual(survivors(log.recorded, lost))
        // A last line that is lost leaves no trace in the numbers; every other damage is reported.
        expect(loaded.damage).not.toEqual([])
        if (!lost.includes(all.length - 1)) {
          expect(loaded.cursor.seq).toBe(all.length)
          const missing = loaded.damage.reduce((sum, damage) => sum + damage.missing, 0)
          expect(missing).toBeGreaterThanOrEqual(lost.length)
        }
      }),
      { numRuns: 150 },
    )
  })

  it.each([
    ['garbage', 'invalid-json'],
    ['nul', 'nul-bytes'],
    ['utf8', 'invalid-utf8'],
    ['glue', 'invalid-json'],
    ['repeat', 'repeat'],
    ['renumber', 'schema'],
    ['break a field', 'schema'],
  ] as const)('is reported with its reason and its bytes: %s', async (how, reason) => {
    const all = lines(writeLog(SHORT))
    const { bytes } = harm(all, 1, how)
    const from = Buffer.byteLength(join(all.slice(0, how === 'repeat' ? 2 : 1)))
    const { damage } = await load(bytes)
    expect(damage[0]).toMatchObject({ reason, from })
    const text = bytes.subarray(damage[0]?.from, damage[0]?.to).toString('utf8')
    expect(text.endsWith('\n')).toBe(true)
    expect(text.indexOf('\n')).toBe(text.length - 1)
  })

  it('shows a gap with the bytes between the lines around it, and how many lines are missing', async () => {
    const all = lines(writeLog(SHORT))
    const { damage } = await load(join([...all.slice(0, 1), 'x', ...all.slice(2)]))
    const from = Buffer.byteLength(join(all.slice(0, 1)))
    expect(damage).toMatchObject([
      { reason: 'invalid-json', from, to: from + 2, missing: 0 },
      { reason: 'gap', from, to: from + 2, missing: 1 },
    ])
  })

  it('in a reply costs that reply, and tells which of its lines were there', async () => {
    const log = writeLog(SHORT)
    const { events, damage, abandoned } = await load(harm(lines(log), 3, 'garbage').bytes)
    expect(events).toEqual(log.recorded.filter(({ seq }) => seq !== 2))
    expect(abandoned).toBe(1)
    expect(damage.map(({ reason }) => reason)).toEqual(['invalid-json', 'gap', 'half-reply'])
  })

  it('may be a line above the cap, of which no more than the cap is kept', async () => {
    const log = writeLog([started(), started({ content: 'x'.repeat(5_000) }), killed(), suspended()])
    const storage = createMemoryStorage({ files: new Map([[LOG, log.text]]) })
    const loaded = await loadLog(storage, LOG, { maxLineBytes: 2_000 })
    expect(loaded.events).toEqual(log.recorded.filter(({ seq }) => seq !== 1))
    expect(loaded.damage[0]).toMatchObject({ reason: 'too-long', from: log.parts[0]?.length })
  })
})

describe('lines of others', () => {
  const line = (fields: object) => JSON.stringify(fields)

  it('without a position are kept as foreign, and no part of the order or the chain', async () => {
    const log = writeLog(SHORT)
    const all = lines(log)
    const summary = line({ type: 'summary', summary: 'so far', leafUuid: 'x', uuid: 'not ours' })
    const loaded = await load(join([...all.slice(0, 3), summary, ...all.slice(3)]))
    expect(loaded.events).toEqual(log.recorded)
    expect(loaded.foreign).toBe(1)
    expect(loaded.cursor).toEqual(log.cursor)
  })

  it('with a position come from a newer version of us: kept, and they count', async () => {
    const { text, cursor } = writeLog([started()])
    const at = { timestamp: '2026-01-01T00:00:00.000Z' }
    const newer = [
      line({
        type: 'system',
        subtype: 'troupe',
        seq: 1,
        ...at,
        event: { type: 'agent.dreamt', of: 'sheep' },
      }),
      line({ type: 'attachment', seq: 2, uuid: 'line-2', parentUuid: cursor.lastLine, ...at }),
      JSON.stringify({ ...JSON.parse(text), seq: 3, uuid: 'line-3', troupe: { type: 'message.received' } }),
    ]
    const loaded = await load(text + join(newer))
    expect(loaded).toMatchObject({ foreign: 3, damage: [], cursor: { seq: 4, lastLine: 'line-3' } })
    const [first] = eventsIn(await items(text + join(newer)))
    expect(first?.event.type).toBe('run.started')
    expect((await items(text + join(newer)))[1]).toMatchObject({
      kind: 'foreign',
      seq: 1,
      line: { subtype: 'troupe' },
    })
  })

  async function items(content: string) {
    const storage = createMemoryStorage({ files: new Map([[LOG, content]]) })
    const all = []
    for await (const item of readLog(storage, LOG)) all.push(item)
    return all
  }

  const corpus = process.env['TROUPE_CORPUS'] ?? path.resolve(import.meta.dirname, '../../../shared/corpus')
  const real = path.join(corpus, 'transcripts/claude-code-2.1.92/foreground/projects')
  const logs = () =>
    readdirSync(real, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.jsonl'))
  const isThere = (() => {
    try {
      return logs().length > 0
    } catch {
      return false
    }
  })()

  it.skipIf(!isThere)(
    `of real transcripts are foreign, never damage (needs ${real}, or set TROUPE_CORPUS)`,
    async () => {
      for (const name of logs()) {
        const text = readFileSync(path.join(real, name), 'utf8')
        const loaded = await load(text)
        expect(loaded).toMatchObject({ events: [], damage: [], torn: undefined })
        expect(loaded.foreign).toBe(text.trimEnd().split('\n').length)
      }
    },
  )

  it.skipIf(!isThere)('of real transcripts have the fields that our lines have', () => {
    const keysOf = (all: readonly Readonly<Record<string, unknown>>[], type: string) =>
      new Set(all.filter((one) => one['type'] === type).flatMap((one) => Object.keys(one)))
    const theirs = logs().flatMap((name) => linesOf(readFileSync(path.join(real, name), 'utf8')))
    const result: EventDraft = { ...callEnded(callId(1, 3, 0)), toolUseResult: {} }
    const withId: EventDraft = { ...reply(2), requestId: 'req_1' }
    const ours = linesOf(writeLog([started(), prepared(), withId, result]).text)
    for (const type of ['user', 'assistant']) {
      const known = keysOf(theirs, type)
      const unknown = [...keysOf(ours, type)].filter((key) => !known.has(key))
      expect(unknown.sort()).toEqual(['seq', 'troupe'])
    }
  })
})

describe('a log that is read', () => {
  it('tells who wrote it: the agent of a root log stands in its first event', async () => {
    expect((await load(writeLog([started()]).text)).identity).toEqual(CHILD)
    const spawned: EventDraft = {
      type: 'agent.spawned',
      agentId: ROOT.agentId,
      depth: 0,
      plan: {
        agentType: 'general-purpose',
        description: 'root',
        model: { value: 'sonnet', rule: 'default' },
        mode: { value: 'default', rule: 'default' },
      },
    }
    const root = await load(writeLog([spawned, started()], { identity: ROOT }).text)
    expect(root.identity).toEqual(ROOT)
  })

  it('can be read on from any line where the cursor is known', async () => {
    const log = writeLog(SHORT)
    const head = writeLog(SHORT.slice(0, 3))
    const storage = createMemoryStorage({ files: new Map([[LOG, log.text]]) })
    const offset = Buffer.byteLength(head.text)
    const rest = await loadLog(storage, LOG, { offset, cursor: head.cursor })
    expect(rest.events).toEqual(log.recorded.slice(3))
    expect(rest.cursor).toEqual(log.cursor)
  })

  it('must be there', async () => {
    await expect(loadLog(createMemoryStorage(), LOG)).rejects.toMatchObject({ code: 'not-found', path: LOG })
  })

  it('is cut into the same lines, however its bytes arrive', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 60 }).map((bytes) => bytes.map((byte) => (byte % 3 === 0 ? 0x0a : byte))),
        fc.array(fc.nat(60), { maxLength: 5 }),
        async (bytes, cuts) => {
          const at = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length]
          async function* chunks() {
            for (const [i, from] of at.entries()) yield bytes.subarray(from, at[i + 1] ?? bytes.length)
          }
          const rebuilt: Buffer[] = []
          let next = 0
          for await (const line of splitLines(chunks(), 1_000)) {
            expect(line.from).toBe(next)
            expect(line.bytes?.includes(0x0a)).toBe(false)
            rebuilt.push(Buffer.from(line.bytes ?? []), Buffer.from(line.terminated ? '\n' : ''))
            next = line.to
          }
          expect(Buffer.concat(rebuilt)).toEqual(Buffer.from(bytes))
        },
      ),
      { numRuns: 100 },
    )
  })

  it('says the same whether it is decoded line by line or loaded', async () => {
    const log = writeLog(SHORT)
    expect((await load(log.text)).events).toEqual(readText(log.text).events)
  })
})
