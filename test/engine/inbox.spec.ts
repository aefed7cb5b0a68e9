/** An inbox as a fold: what waits, what came already, and requests to stop that stand open. */
import { describe, expect, it } from 'vitest'
import { Inbox } from '../../src/engine/inbox.ts'
import type { AgentEventOf } from '../../src/machines/agent/events.ts'
import type { AgentId } from '../../src/machines/ids.ts'
import { CHILD } from '../helpers/run-events.ts'

const OTHER = 'a00000000000000ee' as AgentId

const message = (
  messageId: string,
  means?: AgentEventOf<'message.accepted'>['means'],
): AgentEventOf<'message.accepted'> => ({
  type: 'message.accepted',
  messageId,
  content: 'x',
  origin: { from: 'agent', agentId: CHILD },
  ...(means !== undefined && { means }),
})
const STOP = { kind: 'shutdown_request' } as const

describe('an inbox', () => {
  it('knows a message that a run began with, although it never waited here', () => {
    const inbox = new Inbox()
    inbox.read([`${CHILD}:1.2.0`])
    expect(inbox.has(`${CHILD}:1.2.0`)).toBe(true)
    expect(inbox.has(`${CHILD}:1.1.0`)).toBe(false)
    expect(inbox.mail).toEqual([])
  })

  it('knows the last message of a sender also when an earlier one is read behind it', () => {
    const inbox = new Inbox()
    inbox.accept(message(`${CHILD}:1.1.0`))
    inbox.read([`${CHILD}:1.2.0`])
    inbox.read([`${CHILD}:1.1.0`])
    expect(inbox.has(`${CHILD}:1.2.0`)).toBe(true)
  })

  it('has a request to stop open from when it is read until it is answered, one of each sender', () => {
    const inbox = new Inbox()
    inbox.accept(message('a:1', STOP))
    expect([...inbox.stopRequests]).toEqual([])
    inbox.read(['a:1'])
    expect([...inbox.stopRequests]).toEqual([['a:1', CHILD]])
    inbox.accept(message('a:2', STOP))
    inbox.read(['a:2'])
    expect([...inbox.stopRequests]).toEqual([['a:2', CHILD]])
    inbox.answer('a:2')
    expect([...inbox.stopRequests]).toEqual([])
  })

  it('keeps no request to stop over the end of its run, read or not, and every other message', () => {
    const inbox = new Inbox()
    inbox.accept(message('a:1', STOP))
    inbox.read(['a:1'])
    inbox.accept(message('a:2', STOP))
    inbox.accept(message('a:3'))
    inbox.endRun()
    expect([...inbox.stopRequests]).toEqual([])
    expect(inbox.mail.map(({ messageId }) => messageId)).toEqual(['a:3'])
  })

  it('knows what it took over from an agent, told or not, until that one is known to have ended', () => {
    const inbox = new Inbox()
    const taken = { agentId: OTHER, run: 1 }
    inbox.owe(taken, CHILD)
    expect(inbox.takenOverFrom(OTHER)).toEqual([])
    inbox.tell([taken])
    expect(inbox.owed).toEqual([])
    expect(inbox.takenOverFrom(CHILD)).toEqual([taken])
    // A lost one has a log that cannot say so, and may be read back.
    inbox.tell([{ agentId: CHILD, run: 1, isLost: true }])
    expect(inbox.takenOverFrom(CHILD)).toEqual([taken])
    inbox.tell([{ agentId: CHILD, run: 1 }])
    expect(inbox.takenOverFrom(CHILD)).toEqual([])
  })

  it('is the same again of its value', () => {
    const inbox = new Inbox()
    inbox.owe({ agentId: CHILD, run: 1 })
    inbox.owe({ agentId: OTHER, run: 1 }, CHILD)
    inbox.accept(message('a:1', STOP))
    inbox.read(['a:1'])
    inbox.accept(message('a:2'))
    const again = Inbox.from(JSON.parse(JSON.stringify(inbox.value())))
    expect(again.value()).toEqual(inbox.value())
    expect([...again.stopRequests]).toEqual([['a:1', CHILD]])
  })
})
