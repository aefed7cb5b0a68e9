import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { callIdsOf, createConversation, withoutCalls } from '../../../src/journal/projections/conversation.ts'
import { SharedList } from '../../../src/journal/projections/shared-list.ts'
import type { Recorded } from '../../../src/machines/agent/events.ts'
import { callId } from '../../../src/machines/ids.ts'
import {
  conversationWith,
  createHistory,
  damagedHistory,
  firstCall,
  text,
  toolResult,
  toolUse,
} from './histories.ts'

describe('a conversation', () => {
  it('takes the conversation events and ignores all others', () => {
    const history = createHistory()
    history.prompt('hi')
    history.reply([text('hello')])
    const suspended: Recorded = {
      seq: 9,
      at: 0,
      event: { type: 'run.suspended', reason: 'closed' },
      lines: [],
    }
    const conversation = conversationWith([...history.entries, suspended])
    expect(conversation.length).toBe(2)
    expect([...conversation.entries()]).toEqual(history.entries)
    expect(conversation.at(0)).toBe(history.entries[0])
    expect(conversation.at(2)).toBeUndefined()
  })

  it('knows what an open call asks for, until it has a result or the model speaks again', () => {
    const conversation = createConversation()
    const history = createHistory()
    const [a = callId(0, 0, 0), b = callId(0, 0, 0)] = history.reply([
      toolUse('x', { n: 1 }),
      toolUse('x', { n: 2 }),
    ])
    history.result(a, toolResult('x', 'ok'))
    history.reply([text('done')])
    const inputsAfter = history.entries.map((entry) => {
      conversation.push(entry)
      return [a, b].map((call) => conversation.toolUse(call)?.input)
    })
    expect(inputsAfter).toEqual([
      [{ n: 1 }, { n: 2 }],
      [undefined, { n: 2 }],
      [undefined, undefined],
    ])
  })

  it('finds the text of a reply by the position of its first line', () => {
    const history = createHistory()
    history.prompt('hi')
    history.reply([text('one'), text('two')])
    history.reply([text(' ')])
    const conversation = conversationWith(history.entries)
    expect(conversation.textOfReply(1)).toBe('one\ntwo')
    expect(conversation.textOfReply(3)).toBe('')
    expect(conversation.textOfReply(0)).toBeUndefined()
    expect(conversation.textOfReply(2)).toBeUndefined()
  })

  it('knows why the model stopped last', () => {
    const conversation = createConversation()
    expect(conversation.lastStopReason).toBeUndefined()
    const history = createHistory()
    history.reply([text('a')], { stop: 'max_tokens' })
    for (const entry of history.entries) conversation.push(entry)
    expect(conversation.lastStopReason).toBe('max_tokens')
  })

  it('gives no call id to a tool_use that its event lists no call for, and none twice', () => {
    const history = createHistory()
    history.reply([toolUse('x'), toolUse('y'), toolUse('y')])
    const event = history.entries[0]?.event
    if (event?.type !== 'reply.received') throw new Error('expected the reply')
    const [, y] = event.calls
    const calls = y === undefined ? [] : [y, y]
    expect(callIdsOf({ ...event, calls })).toEqual([undefined, y?.callId, undefined])
  })
})

describe('a fork', () => {
  it('has the state of its fork point, and neither side sees what the other appends', () => {
    const history = createHistory()
    history.prompt('hi')
    const call = firstCall(history.reply([text('I look'), toolUse('x')], { stop: 'tool_use' }))
    history.result(call, toolResult('x', 'ok'))
    history.reply([text('end')])
    const parent = conversationWith(history.entries)
    const child = parent.fork(2)
    expect(child.length).toBe(2)
    expect(child.forkedFrom).toEqual({ conversation: parent, length: 2 })
    expect(child.lastStopReason).toBe('tool_use')
    expect(child.toolUse(call)?.id).toBe('x')
    expect(child.textOfReply(1)).toBe('I look')
    expect(child.textOfReply(4)).toBeUndefined()

    const own = createHistory()
    own.prompt('other way')
    own.reply([text('of the child')])
    for (const entry of own.entries) child.push(entry)
    // Positions are those of the child's own log first.
    expect(child.textOfReply(1)).toBe('of the child')
    expect(parent.textOfReply(1)).toBe('I look')
    expect([...child.entries()]).toEqual([...history.entries.slice(0, 2), ...own.entries])
    expect([...parent.entries()]).toEqual(history.entries)
  })

  it('is what a conversation of the same entries is, at every fork point of every history', () => {
    fc.assert(
      fc.property(damagedHistory, (entries) => {
        const parent = conversationWith(entries)
        for (let upTo = 0; upTo <= entries.length; upTo++) {
          const child = parent.fork(upTo)
          const fresh = conversationWith(entries.slice(0, upTo))
          expect([...child.entries()]).toEqual([...fresh.entries()])
          expect(child.lastStopReason).toBe(fresh.lastStopReason)
          for (const { event } of entries) {
            if (event.type === 'call.ended') {
              expect(child.toolUse(event.callId)).toBe(fresh.toolUse(event.callId))
            }
          }
        }
      }),
      { numRuns: 100 },
    )
  })

  it('refuses a fork point that it has not reached', () => {
    expect(() => createConversation().fork(1)).toThrow(RangeError)
  })

  it('leaves out the calls of the reply that made it, and nothing else', () => {
    const history = createHistory()
    history.reply([text('I fork'), toolUse('a')])
    const [entry] = history.entries
    if (entry?.event.type !== 'reply.received') throw new Error('expected the reply')
    const { event } = withoutCalls({ ...entry, event: entry.event })
    expect(event.reply.content).toEqual([text('I fork')])
    expect(event.calls).toEqual([])
    expect(entry.event.calls).toHaveLength(1)
  })
})

describe('a shared list', () => {
  it('behaves as an array that was copied at each fork', () => {
    const step = fc.record({ list: fc.nat(5), forkAt: fc.option(fc.nat(20), { nil: undefined }) })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const lists = [{ shared: new SharedList<number>(), model: [] as number[] }]
        steps.forEach(({ list, forkAt }, i) => {
          const chosen = lists[list % lists.length]
          if (chosen === undefined) throw new Error('there is always a list')
          if (forkAt === undefined) {
            chosen.shared.push(i)
            chosen.model.push(i)
          } else {
            const length = Math.min(forkAt, chosen.model.length)
            lists.push({ shared: chosen.shared.fork(length), model: chosen.model.slice(0, length) })
          }
        })
        for (const { shared, model } of lists) {
          expect([...shared.items()]).toEqual(model)
          expect([...shared.items(2)]).toEqual(model.slice(2))
          expect(shared.length).toBe(model.length)
        }
      }),
      { numRuns: 100 },
    )
  })
})
