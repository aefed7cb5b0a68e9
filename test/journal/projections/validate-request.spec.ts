import { describe, expect, it } from 'vitest'
import type { CheckedMessage } from '../../../src/journal/projections/validate-request.ts'
import { requestViolations } from '../../../src/journal/projections/validate-request.ts'
import { text, thinking, toolResult, toolUse } from './histories.ts'

const user = (...content: unknown[]): CheckedMessage => ({ role: 'user', content })
const assistant = (...content: unknown[]): CheckedMessage => ({ role: 'assistant', content })
const hi = user(text('hi'))
const bye = user(text('bye'))
const nested = (depth: number): unknown => (depth === 0 ? 1n : { in: nested(depth - 1) })

describe('the checker of requests', () => {
  it('finds nothing in a valid request', () => {
    const messages = [
      { role: 'user', content: 'hi' },
      assistant(thinking('hm'), text('I look'), toolUse('a'), toolUse('b')),
      user(toolResult('a', 'ok'), toolResult('b', [text('no')], true), text('go on')),
      assistant({ type: 'block_of_tomorrow' }),
      user({ type: 'image', source: {} }),
    ]
    expect(requestViolations(messages)).toEqual([])
  })

  it('lets a request end with a reply only where it paused', () => {
    expect(requestViolations([hi, assistant(text('a'))])).toHaveLength(1)
    expect(requestViolations([hi, assistant(text('a'))], { paused: true })).toEqual([])
    expect(requestViolations([hi, assistant(text('a '))], { paused: true })).toHaveLength(1)
    expect(requestViolations([hi, assistant(toolUse('a'))], { paused: true })).toHaveLength(1)
  })

  it.each<[string, CheckedMessage[]]>([
    ['no messages', []],
    ['starting with a reply', [assistant(text('a')), hi]],
    ['two user messages in a row', [hi, bye]],
    ['an unknown role', [hi, { role: 'system', content: 'x' }, bye]],
    ['no content', [user()]],
    ['content of another kind', [{ role: 'user', content: 5 }]],
    ['a blank string', [{ role: 'user', content: ' \n' }]],
    ['a blank text', [user(text('a'), text(' '))]],
    ['something that is no block', [user(text('a'), 'b')]],
    ['a lone surrogate', [user(text('a\ud800'))]],
    [
      'a lone surrogate in a key',
      [hi, assistant(toolUse('a', { 'k\udc00': 1 })), user(toolResult('a', 'x'))],
    ],
    ['what JSON cannot write', [user({ type: 'image', source: nested(3) })]],
    ['a cache mark', [user({ ...text('a'), cache_control: {} })]],
    ['an unanswered call', [hi, assistant(toolUse('a')), bye]],
    [
      'results in another order',
      [hi, assistant(toolUse('a'), toolUse('b')), user(toolResult('b', 'x'), toolResult('a', 'x'))],
    ],
    [
      'two results of one call',
      [hi, assistant(toolUse('a')), user(toolResult('a', 'x'), toolResult('a', 'x'))],
    ],
    ['a result without a call', [user(toolResult('a', 'x'))]],
    ['a result behind text', [hi, assistant(toolUse('a')), user(text('x'), toolResult('a', 'x'))]],
    ['a repeated id', [hi, assistant(toolUse('a'), toolUse('a')), user(toolResult('a', 'x'))]],
    ['a bad id', [hi, assistant(text('x'), toolUse('a b')), bye]],
    ['a bad name', [hi, assistant(toolUse('a', {}, 'a b')), user(toolResult('a', 'x'))]],
    ['an input that is no object', [hi, assistant(toolUse('a', [])), user(toolResult('a', 'x'))]],
    ['a result from the assistant', [hi, assistant(text('x'), toolResult('a', 'x')), bye]],
    ['a call from the user', [user(text('x'), toolUse('a'))]],
    ['thinking from the user', [user(thinking('x'))]],
    ['thinking at the end', [hi, assistant(text('x'), thinking('x')), bye]],
    ['thinking alone', [hi, assistant(thinking('x')), bye]],
    ['unsigned thinking', [hi, assistant({ type: 'thinking', thinking: 'x' }, text('x')), bye]],
    ['redacted thinking without data', [hi, assistant({ type: 'redacted_thinking' }, text('x')), bye]],
    ['an error without words', [hi, assistant(toolUse('a')), user(toolResult('a', undefined, true))]],
    [
      'an error with an image',
      [hi, assistant(toolUse('a')), user(toolResult('a', [{ type: 'image' }], true))],
    ],
    ['a blank text in a result', [hi, assistant(toolUse('a')), user(toolResult('a', [text('')]))]],
    ['a result in a result', [hi, assistant(toolUse('a')), user(toolResult('a', [toolResult('b', 'x')]))]],
    [
      'is_error of another kind',
      [hi, assistant(toolUse('a')), user({ ...toolResult('a', 'x'), is_error: 1 })],
    ],
  ])('finds %s', (_, messages) => {
    expect(requestViolations(messages).length).toBeGreaterThan(0)
  })
})
