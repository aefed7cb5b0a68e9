/** An inbox as a fold: what waits, what came already, and requests to stop that stand open. */
import { describe, expect, it } from 'vitest'
import { Inbox } from '../../src/engine/inbox.ts'
import type { AgentEventOf } from '../../src/machines/agent/events.ts'
import { CHILD } from '../helpers/run-events.ts'

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

  it('is the same again of its value', () => {
    const inbox = new Inbox()
    inbox.owe({ agentId: CHILD, run: 1 })
    inbox.accept(message('a:1', STOP))
    inbox.read(['a:1'])
    inbox.accept(message('a:2'))
    const again = Inbox.from(JSON.parse(JSON.stringify(inbox.value())))
    expect(again.value()).toEqual(inbox.value())
    expect([...again.stopRequests]).toEqual([['a:1', CHILD]])
  })
})
