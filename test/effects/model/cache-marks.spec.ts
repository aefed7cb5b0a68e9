import { describe, expect, it } from 'vitest'
import { withCacheMarks, withoutCacheMarks } from '../../../src/effects/model/cache-marks.ts'
import type { ModelRequest } from '../../../src/effects/model/model.ts'
import { aRequest } from './requests.ts'

const tool = (name: string) => ({ name, description: name, input_schema: { type: 'object' } })
const conversation: ModelRequest['messages'] = [
  { role: 'user', content: 'first' },
  { role: 'assistant', content: [{ type: 'text', text: 'a' }] },
  { role: 'user', content: [{ type: 'text', text: 'second' }] },
  { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'Read', input: {} }] },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'x' }] },
]

/** Where marks stand: `messages.<i>.<block>` and the like. */
function marksIn(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return []
  if ('cache_control' in value) return [path]
  return Object.entries(value).flatMap(([key, part]) => marksIn(part, path === '' ? key : `${path}.${key}`))
}

/** The request without its marks, and texts as strings again. */
const stripped = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (key, part) => (key === 'cache_control' ? undefined : part)))

describe('cache marks', () => {
  it('stand on the system prompt, the last tool, the last message and the user message before it', () => {
    const request = aRequest({ tools: [tool('A'), tool('B')], messages: conversation })
    expect(marksIn(withCacheMarks(request))).toEqual([
      'system.0',
      'tools.1',
      'messages.2.content.0',
      'messages.4.content.0',
    ])
  })

  it('change nothing but themselves, and leave the request as it was', () => {
    const request = aRequest({ tools: [tool('A')], messages: conversation })
    const before = structuredClone(request)
    const marked = withCacheMarks(request)
    expect(request).toEqual(before)
    expect(stripped({ ...marked, system: request.system })).toEqual(stripped(withoutCacheMarks(request)))
    expect(marked.messages[0]).toBe(request.messages[0])
  })

  it('skip what may not carry one: thinking and empty text', () => {
    const content = [
      { type: 'text', text: 'here' },
      { type: 'text', text: '' },
      { type: 'thinking', thinking: 'hm', signature: 's' },
      { type: 'redacted_thinking', data: 'd' },
    ]
    const marks = (blocks: typeof content): string[] =>
      marksIn(withCacheMarks(aRequest({ system: '', messages: [{ role: 'assistant', content: blocks }] })))
    expect(marks(content)).toEqual(['messages.0.content.0'])
    expect(marks(content.slice(1))).toEqual([])
  })

  it('need neither system prompt nor tools: an empty one is not sent at all', () => {
    const body = withCacheMarks(aRequest({ system: ' \n', tools: [] }))
    expect(Object.keys(body)).toEqual(['messages'])
  })
})
