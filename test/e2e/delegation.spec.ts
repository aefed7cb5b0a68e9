/** A parent with two children at work on real files through the built program: what goes over the wire. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RequestMessage } from '../../src/effects/model/model.ts'
import { callMany, type ScriptedCall } from '../../src/effects/model/scripted-reply.ts'
import {
  type MessagesBody,
  type ReceivedRequest,
  startMessagesServer,
  streamed,
} from '../helpers/messages-server.ts'
import { turnOf } from '../helpers/scripts.ts'
import {
  cacheMarksOf,
  meetingOf,
  requestsOf,
  resultsIn,
  script,
  toolsOf,
  violations,
} from './support/conversation.ts'
import { createPlace, type Finished, jsonLines, type Place } from './support/program.ts'

const PROJECT = {
  'src/policy.ts': 'export const maxRetries = 10\nexport const retry = () => maxRetries\n',
  'src/use.ts': "import { retry } from './policy.ts'\nretry()\n",
  'README.md': '# Demo\nRetries ten times.\n',
}

const child = (type: string, prompt: string): ScriptedCall => ({
  name: 'Agent',
  input: { description: prompt.toLowerCase(), prompt, subagent_type: type },
})

/** One finds, one counts; each waits with its first answer until the other has asked, too. */
function answers() {
  const meet = meetingOf(2)
  const together = async (calls: readonly ScriptedCall[]) => {
    await meet()
    return streamed(callMany(calls), { chunks: 13 })
  }
  return script({
    'Who retries': [
      streamed(
        callMany(
          [child('Explore', 'FIND the policy'), child('general-purpose', 'COUNT the lines')],
          'I ask two.',
        ),
      ),
      streamed({ text: 'maxRetries is 10, see src/policy.ts:1.' }, { chunks: 5 }),
    ],
    FIND: [
      () =>
        together([
          { name: 'Grep', input: { pattern: 'maxRetries', output_mode: 'content', '-n': true } },
          { name: 'Read', input: { file_path: 'src/policy.ts' } },
        ]),
      'src/policy.ts:1 defines it',
    ],
    COUNT: [
      () => together([{ name: 'Bash', input: { command: 'cat src/*.ts | wc -l', description: 'count' } }]),
      'there are 4 lines',
    ],
  })
}

describe('a parent and two children', () => {
  let place: Place
  let requests: readonly ReceivedRequest[]
  let end: Finished

  // One run; each test looks at it from another side.
  beforeAll(async () => {
    place = createPlace(PROJECT)
    await using server = await startMessagesServer(answers())
    const flags = ['--allowedTools', 'Bash', '--output-format', 'json']
    end = await place.troupe(['-p', 'Who retries?', ...flags], { env: server.env })
    requests = server.requests
  })
  afterAll(() => place[Symbol.asyncDispose]())

  /** The two requests of each agent. */
  const conversations = (): [first: MessagesBody, second: MessagesBody][] =>
    ['Who retries', 'FIND', 'COUNT'].map((beginning) => {
      const [first, second, ...more] = requestsOf(requests, beginning)
      if (first === undefined || second === undefined || more.length > 0) {
        throw new Error(`${beginning} made ${requestsOf(requests, beginning).length} requests`)
      }
      return [first, second]
    })

  it('come to an answer by valid conversations, both children at the same time', () => {
    expect(end.code, end.stderr).toBe(0)
    expect(JSON.parse(end.stdout)).toMatchObject({
      result: 'maxRetries is 10, see src/policy.ts:1.',
      num_turns: 2,
      modelUsage: { 'claude-haiku-5-5': {}, 'claude-sonnet-5-5': {} },
    })
    expect(violations(requests)).toEqual([])
    expect(requests).toHaveLength(6)
    // Neither was answered before both had asked.
    for (const turns of conversations()) expect(turns.map(turnOf)).toEqual([0, 1])
  })

  it('have models and tools of their own: who explores can neither edit nor delegate', () => {
    const first = conversations().map(([request]) => request)
    expect(first.map(({ model }) => model)).toEqual([
      'claude-sonnet-5-5',
      'claude-haiku-5-5',
      'claude-sonnet-5-5',
    ])
    const reading = [
      'Bash',
      'BashOutput',
      'Glob',
      'Grep',
      'KillShell',
      'Read',
      'Skill',
      'TodoWrite',
      'WebFetch',
    ]
    const own = [...reading, 'Edit', 'ListAgents', 'NotebookEdit', 'SendMessage', 'Write']
    expect(first.map((request) => toolsOf(request).sort())).toEqual([
      ['Agent', 'TaskOutput', 'TaskStop', ...own].sort(),
      reading,
      ['AskParent', ...own].sort(),
    ])
  })

  it('have prompts of their own, which do not change from turn to turn', () => {
    const systems = conversations().map(([{ system }]) => JSON.stringify(system))
    expect(new Set(systems).size).toBe(3)
    for (const system of systems) expect(system).toContain(place.project)
    expect(systems[0]).toContain('You are Troupe')
    expect(systems[1]).toContain('You only read')
    for (const [first, second] of conversations()) {
      const { messages, ...rest } = first
      expect(second).toMatchObject(rest)
      expect(rest).toMatchObject({ max_tokens: 32_000, stream: true })
      const words = ({ content }: RequestMessage) =>
        JSON.stringify(content, (key, value) => (key === 'cache_control' ? undefined : value))
      expect(second.messages.slice(0, messages.length).map(words)).toEqual(messages.map(words))
    }
  })

  it('mark the prompt and the newest messages for the cache, at most four places', () => {
    for (const { body } of requests) {
      const marks = cacheMarksOf(body)
      expect(marks.length).toBeLessThanOrEqual(4)
      expect(marks.some((at) => at.startsWith('system.'))).toBe(true)
      expect(marks.some((at) => at.startsWith(`messages.${body.messages.length - 1}.`))).toBe(true)
    }
  })

  it('work with real tools, and the parent gets reports and nothing else', () => {
    const [parent = [], finder = [], counter = []] = conversations().map(([, second]) => resultsIn(second))
    expect(finder).toEqual([
      expect.stringMatching(/src\/policy\.ts:2:.*maxRetries/),
      expect.stringMatching(/1\s+export const maxRetries = 10\n/),
    ])
    expect(counter).toEqual(['4'])
    expect(parent).toEqual([
      expect.stringContaining('src/policy.ts:1 defines it'),
      expect.stringContaining('there are 4 lines'),
    ])
    expect(JSON.stringify(requestsOf(requests, 'Who retries'))).not.toContain('export const')
  })

  it('leave logs that fold to their ends, one per agent', async () => {
    const { session_id } = JSON.parse(end.stdout)
    const [replay, story] = await Promise.all([
      place.troupe(['replay', session_id, '--json']),
      place.troupe(['log', session_id]),
    ])
    expect(replay.code, replay.stdout).toBe(0)
    const agents = jsonLines(replay.stdout)
    expect(agents).toHaveLength(3)
    for (const agent of agents) {
      expect(agent).toMatchObject({ sound: true, agent: { phase: 'completed', turns: 2, openCalls: [] } })
    }
    for (const word of ['Explore', 'general-purpose', 'Grep', 'wc -l', 'there are 4 lines']) {
      expect(story.stdout).toContain(word)
    }
  })
})

describe('a call that nobody allowed', () => {
  it('is refused, the model is told, and the result names it', async () => {
    await using place = createPlace()
    await using server = await startMessagesServer(
      script({
        go: [streamed(callMany([{ name: 'Bash', input: { command: 'touch made' } }])), 'it was refused'],
      }),
    )
    const { code, stdout } = await place.troupe(['-p', 'go', '--output-format', 'json'], { env: server.env })
    expect(code).toBe(0)
    expect(JSON.parse(stdout).permission_denials).toMatchObject([
      { tool_name: 'Bash', tool_input: { command: 'touch made' } },
    ])
    expect(server.requests.map(({ body }) => resultsIn(body)).at(1)?.[0]).toMatch(/permission|allow/i)
    expect(existsSync(path.join(place.project, 'made'))).toBe(false)
  })
})
