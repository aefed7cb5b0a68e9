import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LogCursor } from '../../src/journal/codec.ts'
import { createDecoder, encode, START_CURSOR } from '../../src/journal/codec.ts'
import type { UpcasterTable } from '../../src/journal/upcast.ts'
import { currentVersion, upcast } from '../../src/journal/upcast.ts'
import type { EventDraft, ReplyDraft } from '../../src/machines/agent/events.ts'
import { AgentEvent } from '../../src/machines/agent/events.ts'
import { foldAgent, UNBORN } from '../../src/machines/agent/fold.ts'
import { callId } from '../../src/machines/ids.ts'
import { anyAgentEvent, anyEventDraft, anyTime, plausibleHistory } from '../helpers/arbitraries.ts'
import { CHILD, countingUuid, linesOf, ROOT, readText, writeLog } from '../helpers/logs.ts'
import { callEnded, prepared, started } from '../helpers/run-events.ts'

const toolUse = (id: string, input: unknown = {}) => ({ type: 'tool_use', id, name: 'Bash', input })

function replyOf(content: ReplyDraft['reply']['content'], more: Partial<ReplyDraft> = {}): ReplyDraft {
  const reply: ReplyDraft['reply'] = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-6',
    content,
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 2 },
  }
  return { type: 'reply.received', reply, concurrencySafe: [], ...more }
}

describe('an event and its lines', () => {
  it('gives back every event as it was, whatever is in it', () => {
    fc.assert(
      fc.property(anyEventDraft, anyTime, fc.integer({ min: 1, max: 99 }), (draft, at, run) => {
        const cursor: LogCursor = { ...START_CURSOR, seq: 7, run }
        const { recorded, text, cursor: after } = encode(CHILD, cursor, draft, at, countingUuid())
        const decoder = createDecoder({ cursor })
        const { items, cursor: read } = readText(text, decoder)
        expect(items).toHaveLength(1)
        const parents = recorded.lines.map((_, i) => recorded.lines[i - 1] ?? null)
        expect(items[0]).toEqual({ kind: 'event', recorded, parents, from: 0, to: Buffer.byteLength(text) })
        expect(read).toEqual(after)
        expect(recorded).toMatchObject({ seq: 7, at })
        // And what is recorded is what was handed in.
        const { concurrencySafe: _, ...same }: { readonly concurrencySafe?: unknown } & object = draft
        expect(recorded.event).toMatchObject(same)
      }),
      { numRuns: 300 },
    )
  })

  it('gives back whole histories, and the cursor to go on with', () => {
    fc.assert(
      fc.property(plausibleHistory, (history) => {
        const log = writeLog(history)
        const read = readText(log.text)
        expect(read.events).toEqual(log.recorded)
        expect(read.items).toHaveLength(log.recorded.length)
        expect(read.cursor).toEqual(log.cursor)
      }),
      { numRuns: 40 },
    )
  })

  it('reads events that are already recorded with the same schema that it writes them by', () => {
    fc.assert(
      fc.property(anyAgentEvent, (event) => {
        expect(AgentEvent.safeParse(event).error).toBeUndefined()
      }),
      { numRuns: 100 },
    )
  })

  it('drops fractions of a millisecond, so that live and read times are the same', () => {
    const { recorded, text } = encode(CHILD, START_CURSOR, started(), 1_234.75, countingUuid())
    expect(recorded.at).toBe(1_234)
    expect(readText(text).events[0]?.at).toBe(1_234)
  })

  it('makes histories that the machine of an agent takes', () => {
    fc.assert(
      fc.property(plausibleHistory, (history) => {
        const { recorded } = writeLog(history)
        const end = recorded.reduce((state, { event }) => foldAgent(state, event), UNBORN)
        // A verdict that is owed stands behind the end.
        const last = history.at(-1)?.type
        expect(end.run?.status).toBe(last === 'agent.ended' || last === 'review.ended' ? 'done' : 'active')
      }),
      { numRuns: 20 },
    )
  })
})

describe('lines', () => {
  it('are one line each, numbered without gaps from 0', () => {
    fc.assert(
      fc.property(plausibleHistory, (history) => {
        const { text, cursor } = writeLog(history)
        expect(text.endsWith('\n')).toBe(true)
        expect(linesOf(text).map((line) => line['seq'])).toEqual(
          Array.from({ length: cursor.seq }, (_, i) => i),
        )
      }),
      { numRuns: 20 },
    )
  })

  it('form one chain over the conversation, and over nothing else', () => {
    fc.assert(
      fc.property(plausibleHistory, (history) => {
        let parent: unknown = null
        for (const line of linesOf(writeLog(history).text)) {
          if (line['type'] === 'system') {
            expect(line).not.toHaveProperty('uuid')
            expect(line).not.toHaveProperty('parentUuid')
            continue
          }
          expect(line['parentUuid']).toBe(parent)
          parent = line['uuid']
        }
      }),
      { numRuns: 20 },
    )
  })

  it('have no null but in parentUuid, stop_reason and stop_sequence, outside of content', () => {
    fc.assert(
      fc.property(plausibleHistory, (history) => {
        for (const line of linesOf(writeLog(history).text)) {
          if (line['type'] === 'system') continue
          const { parentUuid: _, message, toolUseResult: __, troupe: ___, ...fields } = line
          expect(Object.values(fields)).not.toContain(null)
          expect(line).not.toHaveProperty('toolUseResult', null)
          if (line['type'] !== 'assistant') continue
          const { stop_reason, stop_sequence, ...members } = Object(message)
          expect(Object.values(members)).not.toContain(null)
          expect(Object.values(members.usage)).not.toContain(null)
          expect(members.type).toBe('message')
        }
      }),
      { numRuns: 20 },
    )
  })

  it('name the agent in a sidechain, and no agent in the root log', () => {
    const [child] = linesOf(writeLog([started()], { identity: CHILD }).text)
    const [root] = linesOf(writeLog([started()], { identity: ROOT }).text)
    expect(child).toMatchObject({
      isSidechain: true,
      agentId: CHILD.agentId,
      userType: 'external',
      gitBranch: 'main',
    })
    expect(root).toMatchObject({
      isSidechain: false,
      userType: 'external',
      cwd: '/project',
      version: '0.1.0',
    })
    expect(root).not.toHaveProperty('agentId')
    const [lifecycle] = linesOf(writeLog([prepared()], { identity: CHILD }).text)
    expect(Object.keys(lifecycle ?? {})).toEqual(['type', 'subtype', 'seq', 'timestamp', 'event'])
  })

  it('say nothing of what is default: a plain prompt notes its run and machine only', () => {
    const [line] = linesOf(writeLog([started()]).text)
    expect(line?.['troupe']).toEqual({ run: 1, machine: 1 })
    const done = linesOf(writeLog([callEnded(callId(1, 2, 0))]).text)[0]
    expect(done?.['troupe']).toEqual({ callId: '1.2.0' })
    const denied = linesOf(writeLog([callEnded(callId(1, 2, 0), 'denied')]).text)[0]
    expect(denied?.['troupe']).toEqual({ callId: '1.2.0', outcome: 'denied' })
  })
})

describe('a reply', () => {
  const three = replyOf([{ type: 'text', text: 'a' }, toolUse('toolu_1'), toolUse('toolu_2')], {
    requestId: 'req_1',
    concurrencySafe: [false, true, false],
  })

  it('is one line per block, of which only the last has a stop_reason', () => {
    const lines = linesOf(writeLog([started(), three]).text).slice(1)
    expect(lines.map((line) => Object(line['message']).stop_reason)).toEqual([null, null, 'tool_use'])
    expect(lines.map((line) => Object(line['message']).content)).toEqual(
      three.reply.content.map((block) => [block]),
    )
    for (const line of lines) {
      expect(line).toMatchObject({ requestId: 'req_1', message: { id: 'msg_1', usage: three.reply.usage } })
    }
    expect(lines.map((line) => line['troupe'])).toEqual([
      undefined,
      { block: 1, safe: true },
      { block: 2, run: 1 },
    ])
  })

  it('gets its position and the ids of its calls when it is encoded', () => {
    const event = writeLog([started(), prepared(), three]).recorded[2]?.event
    expect(event).toMatchObject({
      seq: 2,
      calls: [
        { callId: '1.3.0', toolUseId: 'toolu_1', concurrencySafe: true },
        { callId: '1.4.0', toolUseId: 'toolu_2', concurrencySafe: false },
      ],
    })
  })

  it('without a block is still one line', () => {
    const log = writeLog([started(), replyOf([])])
    expect(linesOf(log.text)).toHaveLength(2)
    expect(readText(log.text).events).toEqual(log.recorded)
  })

  it('leaves out the request id when there is none', () => {
    const line = linesOf(writeLog([started(), replyOf([])]).text)[1]
    expect(line).not.toHaveProperty('requestId')
  })

  it('keeps nulls of a server, though not where readers of transcripts trip over them', () => {
    const draft = replyOf([])
    const withNulls: ReplyDraft = {
      ...draft,
      reply: {
        ...draft.reply,
        container: null,
        usage: { ...draft.reply.usage, service_tier: null },
      },
    }
    const log = writeLog([started(), withNulls])
    const { message, troupe } = Object(linesOf(log.text)[1])
    expect(message).toEqual(draft.reply)
    expect(troupe).toEqual({ reply: { container: null, usage: { service_tier: null } } })
    expect(readText(log.text).events).toEqual(log.recorded)
  })
})

describe('the result of a call', () => {
  const calls = replyOf([toolUse('toolu_1'), toolUse('toolu_2')])

  it('names the line that asked for it, however late it comes', () => {
    const log = writeLog([started(), calls, callEnded(callId(1, 2, 0)), callEnded(callId(1, 1, 0))])
    const lines = linesOf(log.text)
    expect(lines[3]?.['sourceToolAssistantUUID']).toBe(lines[2]?.['uuid'])
    expect(lines[4]?.['sourceToolAssistantUUID']).toBe(lines[1]?.['uuid'])
    expect(lines[4]?.['parentUuid']).toBe(lines[3]?.['uuid'])
  })

  it('carries the structured result beside the block', () => {
    const event: EventDraft = {
      ...callEnded(callId(1, 1, 0)),
      toolUseResult: { agentId: 'a1', status: 'completed' },
    }
    const [line] = linesOf(writeLog([event]).text)
    expect(line).toMatchObject({
      type: 'user',
      message: { role: 'user', content: [event.result] },
      toolUseResult: { agentId: 'a1', status: 'completed' },
    })
  })
})

describe('the cursor', () => {
  it('does not grow with the conversation: it holds open calls only', () => {
    const turn: readonly EventDraft[] = [replyOf([toolUse('toolu_1')])]
    let cursor = writeLog([started()]).cursor
    const sizes: number[] = []
    for (let i = 0; i < 500; i += 1) {
      const asked = writeLog(turn, { cursor })
      const [call] = asked.cursor.openCalls.keys()
      if (call === undefined) throw new Error('the reply asks for a call')
      sizes.push(asked.cursor.openCalls.size)
      cursor = writeLog([callEnded(call)], { cursor: asked.cursor }).cursor
      expect(cursor.openCalls.size).toBe(0)
    }
    expect(Math.max(...sizes)).toBe(1)
    expect(Object.keys(cursor)).toEqual(['seq', 'lastLine', 'run', 'openCalls'])
    expect(cursor.seq).toBe(1_001)
  })

  it('makes an event cost the same bytes at line 10 and at line 10,000, but for the digits', () => {
    const at = (seq: number) =>
      encode(CHILD, { ...START_CURSOR, seq }, started(), 0, countingUuid()).text.length
    expect(at(10_000) - at(10)).toBe(3)
  })

  it('forgets calls without a result when a run ends or the next begins', () => {
    const { cursor } = writeLog([started(), replyOf([toolUse('toolu_1')])])
    expect(cursor.openCalls.size).toBe(1)
    expect(writeLog([started({ run: 2 })], { cursor }).cursor.openCalls.size).toBe(0)
  })
})

describe('versions of events', () => {
  const table: UpcasterTable = {
    'run.suspended': {
      1: (event) => ({ ...event, reason: event['why'] }),
      2: ({ why: _, ...event }) => ({ ...event, reason: event['reason'] === 'bye' ? 'closed' : 'crashed' }),
    },
    'run.paused': { 1: ({ type: _, ...event }) => ({ ...event, type: 'run.suspended', reason: 'closed' }) },
  }
  const line = (event: object, v?: number) =>
    `${JSON.stringify({ type: 'system', subtype: 'troupe', seq: 0, v, timestamp: '2026-01-01T00:00:00.000Z', event })}\n`
  const read = (text: string) => readText(text, createDecoder({ upcasters: table })).items[0]

  it('are written only where they are not the first', () => {
    const suspended: EventDraft = { type: 'run.suspended', reason: 'closed' }
    const versionIn = (upcasters?: UpcasterTable) =>
      linesOf(encode(CHILD, START_CURSOR, suspended, 0, countingUuid(), upcasters).text)[0]?.['v']
    expect(versionIn()).toBeUndefined()
    expect(versionIn(table)).toBe(3)
    expect(currentVersion('run.suspended', table)).toBe(3)
    expect(currentVersion('run.started', table)).toBe(1)
  })

  it('are brought up step by step', () => {
    expect(read(line({ type: 'run.suspended', why: 'bye' }))).toMatchObject({
      kind: 'event',
      recorded: { event: { type: 'run.suspended', reason: 'closed' } },
    })
    expect(read(line({ type: 'run.suspended', reason: 'bye' }, 2))).toMatchObject({ kind: 'event' })
    expect(read(line({ type: 'run.suspended', reason: 'closed' }, 3))).toMatchObject({ kind: 'event' })
  })

  it('may rename a type', () => {
    expect(upcast({ type: 'run.paused' }, 1, { 'run.paused': table['run.paused'] ?? {} })).toBeUndefined()
    const renamed = {
      'run.paused': table['run.paused'] ?? {},
      'run.suspended': { 1: (event: { type: string }) => event },
    }
    expect(upcast({ type: 'run.paused' }, 1, renamed)).toMatchObject({ type: 'run.suspended' })
  })

  it('that are newer than this program are kept as foreign', () => {
    expect(read(line({ type: 'run.suspended', reason: 'closed' }, 4))).toMatchObject({
      kind: 'foreign',
      seq: 0,
    })
  })

  it('that cannot be brought up are damage, and reading goes on', () => {
    const failing: UpcasterTable = {
      'run.suspended': {
        1: () => {
          throw new Error('no such reason')
        },
      },
    }
    const { items } = readText(line({ type: 'run.suspended' }), createDecoder({ upcasters: failing }))
    expect(items[0]).toMatchObject({
      kind: 'damage',
      missing: 1,
      detail: expect.stringContaining('no such reason'),
    })
  })
})
