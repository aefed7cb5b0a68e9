import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ConversationEntry } from '../../../src/journal/projections/conversation.ts'
import { createConversation } from '../../../src/journal/projections/conversation.ts'
import { createRequestMessages, requestMessages } from '../../../src/journal/projections/request-messages.ts'
import { requestViolations } from '../../../src/journal/projections/validate-request.ts'
import type { ContentBlock, RequestMessage } from '../../../src/machines/agent/messages.ts'
import { isToolResult } from '../../../src/machines/agent/messages.ts'
import type { CallId } from '../../../src/machines/ids.ts'
import { cleanHistory, conversationWith, createHistory, damagedHistory, MODEL } from './histories.ts'

const blocksOf = (message: RequestMessage): readonly ContentBlock[] =>
  typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content

/** The conversation that a log would hold if the messages of a request were all that had ever happened. */
function historyOf(messages: readonly RequestMessage[]): ConversationEntry[] {
  const history = createHistory()
  let calls: readonly CallId[] = []
  for (const message of messages) {
    if (message.role === 'assistant') {
      const stop = message === messages.at(-1) ? 'pause_turn' : 'end_turn'
      calls = history.reply(blocksOf(message), { stop })
      continue
    }
    const results = blocksOf(message).filter(isToolResult)
    results.forEach((result, i) => {
      const call = calls[i]
      if (call !== undefined) history.result(call, result)
    })
    const rest = blocksOf(message).filter((block) => !isToolResult(block))
    if (typeof message.content === 'string') history.prompt(message.content)
    else if (rest.length > 0) history.prompt([...rest])
  }
  return history.entries
}

describe('the messages of any request (law 5)', () => {
  it('break no rule of the API at any prefix of any history', () => {
    fc.assert(
      fc.property(damagedHistory, (entries) => {
        for (let end = 0; end <= entries.length; end++) {
          const messages = requestMessages(entries.slice(0, end), MODEL)
          expect(requestViolations(messages, { paused: messages.at(-1)?.role === 'assistant' })).toEqual([])
        }
      }),
      { numRuns: 400 },
    )
  })

  it('end with the model’s own words only where it paused', () => {
    fc.assert(
      fc.property(damagedHistory, (entries) => {
        const last = requestMessages(entries, MODEL).at(-1)
        const stops = entries.flatMap(({ event }) =>
          event.type === 'reply.received' ? [event.reply.stop_reason] : [],
        )
        expect(last?.role === 'assistant' && !stops.includes('pause_turn')).toBe(false)
      }),
      { numRuns: 200 },
    )
  })

  it('are the same from the growing projection, asked after every entry or only at the end', () => {
    fc.assert(
      fc.property(damagedHistory, (entries) => {
        const conversation = createConversation()
        const growing = createRequestMessages(conversation, MODEL)
        entries.forEach((entry, i) => {
          conversation.push(entry)
          // Not each time, so that unread entries pile up too.
          if (i % 3 !== 2) {
            expect(growing.messages()).toEqual(requestMessages(entries.slice(0, i + 1), MODEL))
          }
        })
        const late = createRequestMessages(conversation, MODEL).messages()
        expect(growing.messages()).toEqual(late)
        expect(late).toEqual(requestMessages(entries, MODEL))
      }),
      { numRuns: 300 },
    )
  })

  it('do not change when they are normalised again', () => {
    fc.assert(
      fc.property(damagedHistory, (entries) => {
        const once = requestMessages(entries, MODEL)
        const twice = requestMessages(historyOf(once), MODEL)
        expect(twice).toEqual(once)
      }),
      { numRuns: 300 },
    )
  })

  it('leave the log as it was written', () => {
    fc.assert(
      fc.property(damagedHistory, (entries) => {
        const before = structuredClone(entries)
        requestMessages(entries, MODEL)
        expect(entries).toEqual(before)
      }),
      { numRuns: 100 },
    )
  })

  it('are never rewritten once the model has answered to them', () => {
    fc.assert(
      fc.property(damagedHistory, (entries) => {
        const conversation = createConversation()
        const growing = createRequestMessages(conversation, MODEL)
        let before: RequestMessage[] = []
        for (const entry of entries) {
          conversation.push(entry)
          const now = growing.messages()
          const spoken = now.findLastIndex((message) => message.role === 'assistant')
          const spokenBefore = before.findLastIndex((message) => message.role === 'assistant')
          // All but the open exchange are the very objects of the request before.
          for (let i = 0; i < Math.min(spoken, spokenBefore); i++) expect(now[i]).toBe(before[i])
          before = now
        }
      }),
      { numRuns: 200 },
    )
  })
})

describe('a clean history', () => {
  it('passes through as the same blocks in the same order', () => {
    fc.assert(
      fc.property(cleanHistory, (entries) => {
        const sent = requestMessages(entries, MODEL).flatMap((message): readonly unknown[] =>
          typeof message.content === 'string' ? [message.content] : message.content,
        )
        const logged = new Set(
          entries.flatMap(({ event }): readonly unknown[] => {
            if (event.type === 'reply.received') return event.reply.content
            if (event.type === 'call.ended') return [event.result]
            if (event.type !== 'run.started' && event.type !== 'message.added') return []
            return typeof event.content === 'string' ? [event.content] : event.content
          }),
        )
        const count = entries.reduce((sum, { event }) => {
          return sum + (event.type === 'reply.received' ? event.reply.content.length : 1)
        }, 0)
        expect(sent).toHaveLength(count)
        expect(sent.filter((part) => !logged.has(part))).toEqual([])
        const replies = entries.flatMap(({ event }) =>
          event.type === 'reply.received' ? [event.reply.content] : [],
        )
        const spoken = requestMessages(entries, MODEL).filter((message) => message.role === 'assistant')
        expect(spoken.map((message) => message.content)).toEqual(replies)
      }),
      { numRuns: 150 },
    )
  })
})

describe('the requests of a fork', () => {
  it('are those of its own entries, wherever it began and whatever either side goes on with', () => {
    fc.assert(
      fc.property(damagedHistory, damagedHistory, fc.nat(14), fc.nat(14), (first, second, at, readTo) => {
        const parent = conversationWith(first.slice(0, readTo))
        const requests = createRequestMessages(parent, MODEL)
        requests.messages()
        for (const entry of first.slice(readTo)) parent.push(entry)
        const upTo = Math.min(at, parent.length)
        const child = parent.fork(upTo)
        const forked = requests.fork(child)
        const expected = [...first.slice(0, upTo)]
        expect(forked.messages()).toEqual(requestMessages(expected, MODEL))
        second.forEach((entry, i) => {
          if (i % 2 === 0) parent.push(entry)
          child.push(entry)
          expected.push(entry)
          expect(forked.messages()).toEqual(requestMessages(expected, MODEL))
        })
        expect(requests.messages()).toEqual(requestMessages(parent.entries(), MODEL))
        const grandchild = child.fork(Math.min(at + 2, child.length))
        expect(forked.fork(grandchild).messages()).toEqual(requestMessages(grandchild.entries(), MODEL))
      }),
      { numRuns: 300 },
    )
  })

  it('begin with the very messages of the parent that were settled at the fork point', () => {
    fc.assert(
      fc.property(damagedHistory, fc.nat(14), (entries, at) => {
        const conversation = createConversation()
        const requests = createRequestMessages(conversation, MODEL)
        const upTo = Math.min(at, entries.length)
        for (const entry of entries.slice(0, upTo)) conversation.push(entry)
        const atForkPoint = requests.messages()
        for (const entry of entries.slice(upTo)) conversation.push(entry)
        const parent = requests.messages()
        const child = requests.fork(conversation.fork(upTo)).messages()
        expect(child).toEqual(atForkPoint)
        const open = Math.max(
          0,
          child.findLastIndex((message) => message.role === 'assistant'),
        )
        for (let i = 0; i < open; i++) expect(child[i]).toBe(parent[i])
      }),
      { numRuns: 200 },
    )
  })
})
