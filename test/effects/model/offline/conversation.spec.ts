import { describe, expect, it } from 'vitest'
import type { RequestMessage } from '../../../../src/effects/model/model.ts'
import { readEpisodes } from '../../../../src/effects/model/offline/conversation.ts'

const calls = (...ids: readonly string[]): RequestMessage => ({
  role: 'assistant',
  content: [
    { type: 'text', text: 'I look.' },
    ...ids.map((id) => ({ type: 'tool_use', id, name: 'Grep', input: { pattern: id } })),
  ],
})

const results = (...blocks: readonly object[]): RequestMessage => ({
  role: 'user',
  content: blocks.map((block) => ({ type: 'tool_result', ...block })),
})

describe('a conversation that is read', () => {
  it('is a question and the rounds of calls made for it, each call with its result', () => {
    const [episode, ...others] = readEpisodes([
      { role: 'user', content: 'where?' },
      calls('a', 'b'),
      results(
        { tool_use_id: 'b', content: 'no such file', is_error: true },
        {
          tool_use_id: 'a',
          content: [{ type: 'text', text: 'x:1:y' }, { type: 'image' }, { type: 'text', text: 'z' }],
        },
      ),
    ])
    expect(others).toEqual([])
    expect(episode?.question).toBe('where?')
    expect(episode?.rounds).toEqual([
      [
        { tool: 'Grep', input: { pattern: 'a' }, result: 'x:1:y\nz', failed: false },
        { tool: 'Grep', input: { pattern: 'b' }, result: 'no such file', failed: true },
      ],
    ])
  })

  it('begins a new episode with each text of the user, also beside results', () => {
    const episodes = readEpisodes([
      { role: 'user', content: 'one' },
      calls('a'),
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: 'r' },
          { type: 'text', text: 'two' },
        ],
      },
      { role: 'assistant', content: 'Done.' },
      { role: 'user', content: [{ type: 'text', text: 'three' }] },
    ])
    expect(episodes.map(({ question, rounds }) => [question, rounds.length])).toEqual([
      ['one', 1],
      ['two', 0],
      ['three', 0],
    ])
  })

  it('takes nothing that the engine says in an envelope for a question', () => {
    const reminder = '<system-reminder>\nAgents: Explore, where is it?\n</system-reminder>'
    const episodes = readEpisodes([
      {
        role: 'user',
        content: [
          { type: 'text', text: reminder },
          { type: 'text', text: `where? ${reminder}` },
        ],
      },
      calls('a'),
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: 'r' },
          { type: 'text', text: reminder },
        ],
      },
    ])
    expect(episodes.map((episode) => episode.question)).toEqual(['where?'])
  })

  it('keeps the notices of background agents by the call that started them', () => {
    const notice =
      '<task-notification>\n<task-id>a1</task-id><tool-use-id>t1</tool-use-id>\n<status>completed</status>' +
      '<summary>s</summary><result>a &lt;b&gt; &amp; c</result>\n</task-notification>'
    const [episode] = readEpisodes([
      { role: 'user', content: 'where?' },
      { role: 'user', content: notice },
    ])
    expect(episode?.notices.get('t1')).toEqual({ status: 'completed', result: 'a <b> & c' })
  })

  it('is nothing before anybody asked', () => {
    expect(readEpisodes([])).toEqual([])
    expect(readEpisodes([{ role: 'user', content: '  ' }, calls('a')])).toEqual([])
  })
})
