import { describe, expect, it } from 'vitest'
import {
  contentText,
  isText,
  isThinking,
  isToolResult,
  isToolUse,
  textOf,
} from '../../../src/machines/agent/messages.ts'

const text = (said: string) => ({ type: 'text', text: said })

describe('a block of content', () => {
  it('is what its type says, if it has what that must have', () => {
    expect(isText(text('x'))).toBe(true)
    expect(isText({ type: 'text', text: 7 })).toBe(false)
    expect(isText({ type: 'document', text: 'x' })).toBe(false)
    expect(isToolUse({ type: 'tool_use', id: 't', name: 'Read' })).toBe(true)
    expect(isToolUse({ type: 'tool_use', id: 't' })).toBe(false)
    expect(isToolUse({ type: 'tool_use', name: 'Read' })).toBe(false)
    expect(isToolUse({ type: 'server_tool_use', id: 't', name: 'Read' })).toBe(false)
    expect(isToolResult({ type: 'tool_result', tool_use_id: 't' })).toBe(true)
    expect(isToolResult({ type: 'tool_result' })).toBe(false)
    expect(isToolResult({ type: 'mcp_tool_result', tool_use_id: 't' })).toBe(false)
    expect(isThinking({ type: 'thinking' })).toBe(true)
    expect(isThinking({ type: 'redacted_thinking' })).toBe(true)
    expect(isThinking(text('I think'))).toBe(false)
  })
})

describe('the text of a reply', () => {
  it('is that of its text blocks, each on lines of its own', () => {
    expect(textOf([text('one'), { type: 'thinking', text: 'hm' }, text('two')])).toBe('one\ntwo')
    expect(contentText([text('one'), text('two')])).toBe('one\ntwo')
    expect(contentText(' as it is ')).toBe(' as it is ')
  })

  it('is none where there is nothing but space', () => {
    expect(textOf([])).toBe('')
    expect(textOf([text(' '), text('\n')])).toBe('')
    expect(textOf([text(' x ')])).toBe(' x ')
  })
})
