import { describe, expect, it } from 'vitest'
import type { Conversation, ConversationEntry } from '../../../src/journal/projections/conversation.ts'
import { createConversation, withoutCalls } from '../../../src/journal/projections/conversation.ts'
import { EMPTY_PROMPT } from '../../../src/journal/projections/exchanges.ts'
import { INTERRUPTED, isSameModel, NO_OUTPUT } from '../../../src/journal/projections/request-blocks.ts'
import {
  createRequestMessages,
  GO_ON,
  MISSING_START,
  requestMessages,
} from '../../../src/journal/projections/request-messages.ts'
import { MAX_NESTING } from '../../../src/journal/projections/well-formed.ts'
import { callId } from '../../../src/machines/ids.ts'
import type { History } from './histories.ts'
import {
  conversationWith,
  createHistory,
  firstCall,
  MODEL,
  text,
  thinking,
  toolResult,
  toolUse,
} from './histories.ts'

const user = (content: unknown) => ({ role: 'user', content })
const assistant = (...content: unknown[]) => ({ role: 'assistant', content })
const interrupted = (id: string) => toolResult(id, INTERRUPTED, true)

/** The messages after a history that `write` writes. */
function messagesAfter(write: (history: History) => unknown): unknown {
  const history = createHistory()
  write(history)
  return requestMessages(history.entries, MODEL)
}

/** The blocks of one reply as a request has them, with a prompt before and after it. */
function sentReply(...content: Parameters<History['reply']>[0]): unknown {
  const messages = messagesAfter((h) => {
    h.prompt('go')
    h.reply(content)
    h.prompt('next')
  })
  return Array.isArray(messages) && messages.length > 1 ? messages[1].content : undefined
}

/** A result as a request has it. */
function sentResult(result: ReturnType<typeof toolResult>): unknown {
  const messages = messagesAfter((h) => {
    h.prompt('go')
    h.result(firstCall(h.reply([toolUse('t1')])), result)
  })
  return Array.isArray(messages) ? messages[2].content[0] : undefined
}

describe('roles', () => {
  it('a conversation with nothing in it still makes a request', () => {
    expect(messagesAfter(() => {})).toEqual([user(MISSING_START)])
  })

  it('a log that begins with a reply gets a user message before it', () => {
    expect(messagesAfter((h) => [h.reply([text('hello')]), h.prompt('hi')])).toEqual([
      user(MISSING_START),
      assistant(text('hello')),
      user('hi'),
    ])
  })

  it('prompts without a reply between them become one message', () => {
    const messages = messagesAfter((h) => {
      h.prompt('first')
      h.prompt([text('second')])
    })
    expect(messages).toEqual([user([text('first'), text('second')])])
  })

  it('a prompt that says nothing has a placeholder, unless something stands beside it', () => {
    expect(messagesAfter((h) => h.prompt(' \n'))).toEqual([user(EMPTY_PROMPT)])
    expect(messagesAfter((h) => [h.prompt([text('')]), h.prompt('words')])).toEqual([user('words')])
  })

  it('a paused reply goes back as it came, without white space at its end', () => {
    const messages = messagesAfter((h) => {
      h.prompt('search')
      h.reply([text('Searching …\n')], { stop: 'pause_turn' })
    })
    expect(messages).toEqual([user('search'), assistant(text('Searching …'))])
  })

  it('what follows a pause goes on with the same message', () => {
    const messages = messagesAfter((h) => {
      h.prompt('search')
      h.reply([text('one ')], { stop: 'pause_turn' })
      h.reply([text('two')])
      h.prompt('thanks')
    })
    expect(messages).toEqual([user('search'), assistant(text('one '), text('two')), user('thanks')])
  })

  it('a request that is due after a finished reply ends with a word of the engine', () => {
    expect(messagesAfter((h) => [h.prompt('hi'), h.reply([text('hello')])])).toEqual([
      user('hi'),
      assistant(text('hello')),
      user(GO_ON),
    ])
  })

  it('a reply without content leaves no trace', () => {
    const messages = messagesAfter((h) => {
      h.prompt('hi')
      h.reply([text('\n\n')])
      h.prompt('again')
    })
    expect(messages).toEqual([user([text('hi'), text('again')])])
  })
})

describe('calls and results', () => {
  it('results stand first, in the order of the calls, however they came', () => {
    const messages = messagesAfter((h) => {
      h.prompt('go')
      const [a = callId(0, 0, 0), b = callId(0, 0, 0)] = h.reply([toolUse('a'), text('and'), toolUse('b')])
      h.result(b, toolResult('b', 'B'))
      h.prompt('meanwhile')
      h.result(a, toolResult('a', 'A'))
    })
    expect(messages).toEqual([
      user('go'),
      assistant(toolUse('a'), text('and'), toolUse('b')),
      user([toolResult('a', 'A'), toolResult('b', 'B'), text('meanwhile')]),
    ])
  })

  it('a call without a result reads as interrupted, the others keep theirs', () => {
    const messages = messagesAfter((h) => {
      h.prompt('go')
      h.result(firstCall(h.reply([toolUse('a'), toolUse('b')])), toolResult('a', 'A'))
    })
    expect(messages).toEqual([
      user('go'),
      assistant(toolUse('a'), toolUse('b')),
      user([toolResult('a', 'A'), interrupted('b')]),
    ])
  })

  it('of two results the first counts', () => {
    const messages = messagesAfter((h) => {
      h.prompt('go')
      const call = firstCall(h.reply([toolUse('a')]))
      h.result(call, toolResult('a', 'first'))
      h.result(call, toolResult('a', 'second'))
    })
    expect(messages).toEqual([user('go'), assistant(toolUse('a')), user([toolResult('a', 'first')])])
  })

  it('a result of an unknown call is left out', () => {
    const messages = messagesAfter((h) => {
      h.prompt('go')
      h.result(callId(7, 7, 0), toolResult('a', 'lost'))
    })
    expect(messages).toEqual([user('go')])
  })

  it('a result that comes after the next reply is left out: the model knows the call as interrupted', () => {
    const messages = messagesAfter((h) => {
      h.prompt('go')
      const call = firstCall(h.reply([toolUse('a')]))
      h.prompt('never mind')
      h.reply([text('fine')])
      h.prompt('so?')
      h.result(call, toolResult('a', 'too late'))
    })
    expect(messages).toEqual([
      user('go'),
      assistant(toolUse('a')),
      user([interrupted('a'), text('never mind')]),
      assistant(text('fine')),
      user('so?'),
    ])
  })

  it('a repeated tool_use id is made unique, and its result follows', () => {
    const messages = messagesAfter((h) => {
      h.prompt('go')
      const [a = callId(0, 0, 0), b = callId(0, 0, 0)] = h.reply([toolUse('x'), toolUse('x')])
      h.result(b, toolResult('x', 'B'))
      h.result(a, toolResult('x', 'A'))
      h.result(firstCall(h.reply([toolUse('x')])), toolResult('x', 'C'))
    })
    // The reply stands at 1 and 2, the second one at 5: its place makes an id unique.
    expect(messages).toEqual([
      user('go'),
      assistant(toolUse('x'), toolUse('x_2')),
      user([toolResult('x', 'A'), toolResult('x_2', 'B')]),
      assistant(toolUse('x_5')),
      user([toolResult('x_5', 'C')]),
    ])
  })

  it('an id with characters that the API refuses is repaired, and its result follows', () => {
    const messages = messagesAfter((h) => {
      h.prompt('go')
      h.result(firstCall(h.reply([toolUse('call:1.ä')])), toolResult('call:1.ä', 'A'))
    })
    expect(messages).toEqual([
      user('go'),
      assistant(toolUse('call_1__')),
      user([toolResult('call_1__', 'A')]),
    ])
  })

  it('an input that is no object is wrapped, none is an empty one', () => {
    expect(
      sentReply(toolUse('a', 'text'), toolUse('b', null), toolUse('c', [1]), toolUse('d', undefined)),
    ).toEqual([
      toolUse('a', { value: 'text' }),
      toolUse('b', {}),
      toolUse('c', { value: [1] }),
      toolUse('d', {}),
    ])
  })

  it('a tool name that the API refuses is repaired', () => {
    expect(sentReply(toolUse('a', {}, 'my tool'), toolUse('b', {}, ''))).toEqual([
      toolUse('a', {}, 'my_tool'),
      toolUse('b', {}, 'unnamed_tool'),
    ])
  })
})

describe('results', () => {
  it('a result always says something', () => {
    for (const content of [undefined, '', ' \n', [], [text('')]]) {
      expect(sentResult(toolResult('t1', content))).toEqual(toolResult('t1', NO_OUTPUT))
    }
  })

  it('an error says it in text alone', () => {
    const image = { type: 'image', source: {} }
    expect(sentResult(toolResult('t1', [image, text('no')], true))).toEqual(
      toolResult('t1', [text('no')], true),
    )
    expect(sentResult(toolResult('t1', [image], true))).toEqual(toolResult('t1', NO_OUTPUT, true))
  })

  it('a clean result is the object of the log', () => {
    const result = toolResult('t1', [text('ok'), { type: 'image', source: {} }])
    expect(sentResult(result)).toBe(result)
  })
})

describe('blocks', () => {
  it('empty and blank texts are left out', () => {
    expect(sentReply(text(''), text('a'), text(' \n\t\u0085'), { type: 'text' })).toEqual([text('a')])
  })

  it('lone surrogates become U+FFFD, in keys and values at any depth; whole characters stay', () => {
    const input = { deep: [{ 'k\ud83d': 'v\ude00', ok: '😀' }] }
    expect(sentReply(toolUse('a', input))).toEqual([
      toolUse('a', { deep: [{ 'k\ufffd': 'v\ufffd', ok: '😀' }] }),
    ])
  })

  it('an input nested beyond reason is cut, so that it can be written at all', () => {
    let input: Record<string, unknown> = {}
    for (let depth = 0; depth < 20_000; depth++) input = { input }
    const sent = JSON.stringify(sentReply(toolUse('a', input)))
    expect(sent.split('"input"').length).toBeLessThanOrEqual(MAX_NESTING + 1)
  })

  it('blocks of unknown types pass as the same objects', () => {
    const block = { type: 'block_of_tomorrow', data: { any: 'thing' } }
    expect(sentReply(block)).toSatisfy((content: unknown[]) => content[0] === block)
  })

  it('results in replies and calls in prompts are left out', () => {
    const messages = messagesAfter((h) => {
      h.prompt([toolUse('u'), toolResult('u', 'forged'), thinking('x'), text('go')])
      h.reply([toolResult('u', 'forged'), text('ok')])
      h.prompt('next')
    })
    expect(messages).toEqual([user([text('go')]), assistant(text('ok')), user('next')])
  })

  it('cache marks of the log are left out: the sender sets its own', () => {
    const mark = { cache_control: { type: 'ephemeral' } }
    expect(messagesAfter((h) => h.prompt([{ ...text('a'), ...mark }]))).toEqual([user([text('a')])])
    expect(sentResult({ ...toolResult('t1', [{ ...text('a'), ...mark }]), ...mark })).toEqual(
      toolResult('t1', [text('a')]),
    )
  })
})

describe('thinking', () => {
  it('stays as it came, before words and calls', () => {
    const first = thinking('first')
    const redacted = { type: 'redacted_thinking', data: 'opaque' }
    const sent = sentReply(first, text('so'), redacted, toolUse('a'))
    expect(sent).toEqual([first, text('so'), redacted, toolUse('a')])
    expect(sent).toSatisfy((content: unknown[]) => content[0] === first && content[2] === redacted)
  })

  it('goes from the end of a reply, also when what followed it is left out', () => {
    expect(sentReply(text('so'), thinking('late'))).toEqual([text('so')])
    expect(sentReply(text('so'), thinking('late'), text(' '))).toEqual([text('so')])
  })

  it('alone is no message', () => {
    const messages = messagesAfter((h) => {
      h.prompt('hi')
      h.reply([thinking('hm')])
    })
    expect(messages).toEqual([user('hi')])
  })

  it('that would need repair goes as a whole', () => {
    expect(
      sentReply(thinking('half \ud83d'), { type: 'thinking', thinking: 'unsigned' }, text('so')),
    ).toEqual([text('so')])
  })

  it('of another model is left out, of the same one under a dated name it stays', () => {
    const history = createHistory()
    history.prompt('hi')
    history.reply([thinking('hm'), text('hello')], { model: 'claude-a-20250929' })
    history.prompt('more')
    const blocks = (model?: string) => requestMessages(history.entries, model)[1]?.content
    expect(blocks('claude-a')).toEqual([thinking('hm'), text('hello')])
    expect(blocks('claude-b')).toEqual([text('hello')])
    expect(blocks()).toEqual([thinking('hm'), text('hello')])
  })

  it.each([
    ['claude-a', 'claude-a', true],
    ['claude-a-latest', 'claude-a-20250929', true],
    ['claude-a[1m]', 'claude-a@20250929', true],
    ['claude-a', 'claude-a-2', false],
    ['claude-a', 'claude-b', false],
  ])('models %s and %s: the same is %s', (a, b, expected) => {
    expect(isSameModel(a, b)).toBe(expected)
  })
})

describe('the growing projection', () => {
  /** A conversation that counts how often an entry is read. */
  function counting(conversation: Conversation): { conversation: Conversation; reads: () => number } {
    let reads = 0
    const at = (index: number): ConversationEntry | undefined => {
      reads++
      return conversation.at(index)
    }
    // Getters stay live through the prototype.
    const counted: Conversation = {
      get length() {
        return conversation.length
      },
      get lastStopReason() {
        return conversation.lastStopReason
      },
      get ownFrom() {
        return conversation.ownFrom
      },
      forkedFrom: conversation.forkedFrom,
      beginOwn: () => conversation.beginOwn(),
      push: (recorded) => conversation.push(recorded),
      at,
      entries: (start) => conversation.entries(start),
      toolUse: (id) => conversation.toolUse(id),
      indexOfReply: (seq) => conversation.indexOfReply(seq),
      textOfReply: (seq) => conversation.textOfReply(seq),
      fork: (upTo) => conversation.fork(upTo),
    }
    return { conversation: counted, reads: () => reads }
  }

  it('reads each entry once, however many requests are made', () => {
    const { conversation, reads } = counting(createConversation())
    const requests = createRequestMessages(conversation, MODEL)
    const history = createHistory()
    for (let turn = 0; turn < 50; turn++) {
      history.prompt('go')
      history.result(firstCall(history.reply([toolUse(`t${turn}`)])), toolResult(`t${turn}`, 'ok'))
    }
    for (const entry of history.entries) {
      conversation.push(entry)
      requests.messages()
    }
    expect(reads()).toBe(history.entries.length)
  })

  it('a fork reads only the exchange that is open at the fork point', () => {
    const history = createHistory()
    for (let turn = 0; turn < 100; turn++) {
      history.prompt('go')
      history.reply([text(`turn ${turn}`)])
    }
    const parent = conversationWith(history.entries)
    const requests = createRequestMessages(parent, MODEL)
    requests.messages()
    const child = parent.fork(150)
    const counted = counting(child)
    requests.fork(counted.conversation).messages()
    expect(counted.reads()).toBeLessThanOrEqual(2)
  })

  it('refuses a conversation that is no fork of its own', () => {
    const requests = createRequestMessages(createConversation(), MODEL)
    expect(() => requests.fork(createConversation().fork(0))).toThrow(TypeError)
  })
})

describe('a forked agent', () => {
  /** A turn with two calls, of which `done` have their results when the fork is made. */
  function forkOf(done: number) {
    const history = createHistory()
    history.prompt('do both')
    const calls = history.reply([
      thinking('hm'),
      text('I fork.'),
      toolUse('a', {}, 'Agent'),
      toolUse('b', {}, 'Agent'),
    ])
    calls.slice(0, done).forEach((call, i) => {
      history.result(call, toolResult(i === 0 ? 'a' : 'b', 'done'))
    })
    const parent = conversationWith(history.entries)
    const requests = createRequestMessages(parent, MODEL)
    const child = parent.fork(1)
    const entry = parent.at(1)
    if (entry?.event.type !== 'reply.received') throw new Error('expected the reply')
    child.push(withoutCalls({ ...entry, event: entry.event }))
    const directive = createHistory()
    directive.prompt('<fork_directive>look</fork_directive>')
    for (const own of directive.entries) child.push(own)
    return { parent: requests.messages(), child: requests.fork(child).messages() }
  }

  it('starts from its parent’s messages, the calls of the turn left out whether answered or not', () => {
    const { parent, child } = forkOf(1)
    expect(child).toEqual([
      user('do both'),
      assistant(thinking('hm'), text('I fork.')),
      user('<fork_directive>look</fork_directive>'),
    ])
    expect(child[0]).toBe(parent[0])
    expect(JSON.stringify(child)).toBe(JSON.stringify(forkOf(0).child))
    expect(JSON.stringify(child)).toBe(JSON.stringify(forkOf(2).child))
  })
})
