/** A parent with two children at work on real files through the built program: what goes over the wire. */
import { realpathSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { callMany, type ScriptedCall } from '../../src/effects/model/scripted-reply.ts'
import { type MessagesServer, startMessagesServer, streamed } from '../helpers/messages-server.ts'
import {
  cacheMarksOf,
  meetingOf,
  requestsOf,
  resultsIn,
  script,
  toolsOf,
  turnOf,
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
async function delegate(args: readonly string[], use: (ran: Ran) => Promise<void> | void): Promise<void> {
  await using place = createPlace(PROJECT)
  const meet = meetingOf(2)
  const together = async (calls: readonly ScriptedCall[]) => {
    await meet()
    return streamed(callMany(calls), { chunks: 13 })
  }
  await using server = await startMessagesServer(
    script({
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
    }),
  )
  const end = await place.troupe(['-p', 'Who retries?', '--allowedTools', 'Bash', ...args], {
    env: server.env,
  })
  await use({ ...end, server, place })
}

interface Ran extends Finished {
  readonly server: MessagesServer
  readonly place: Place
}

describe('a parent and two children', () => {
  it('speak valid conversations, each with its own prompt, model and tools', async () => {
    await delegate([], ({ code, stdout, stderr, server, place }) => {
      expect([code, stdout], stderr).toEqual([0, 'maxRetries is 10, see src/policy.ts:1.\n'])
      expect(violations(server.requests)).toEqual([])
      expect(server.requests).toHaveLength(6)

      const parent = requestsOf(server.requests, 'Who retries')
      const finder = requestsOf(server.requests, 'FIND')
      const counter = requestsOf(server.requests, 'COUNT')
      const all = { parent, finder, counter }

      // Both children were asked for before either was answered: they ran at the same time.
      expect(Object.values(all).map((requests) => requests.map(turnOf))).toEqual([
        [0, 1],
        [0, 1],
        [0, 1],
      ])
      expect(Object.values(all).map(([first]) => first?.model)).toEqual([
        'claude-sonnet-5-5',
        'claude-haiku-5-5',
        'claude-sonnet-5-5',
      ])

      const own = ['Bash', 'Edit', 'Glob', 'Grep', 'Read', 'Write']
      const tools = Object.values(all).map(([first]) => (first === undefined ? [] : toolsOf(first).sort()))
      expect(tools[0]).toEqual(['Agent', ...own])
      expect(tools[1]).toEqual(['Bash', 'Glob', 'Grep', 'Read'])
      expect(tools[2]).toEqual(own)

      const systems = Object.values(all).map(([first]) => JSON.stringify(first?.['system']))
      expect(new Set(systems).size).toBe(3)
      for (const system of systems) expect(system).toContain(realpathSync(place.project))
      expect(systems[0]).toContain('You are Troupe')
      expect(systems[1]).toContain('You only read')

      for (const requests of Object.values(all)) {
        const [first, second] = requests
        // The prefix is what the cache knows again: it must not change from turn to turn.
        expect(second?.['system']).toEqual(first?.['system'])
        expect(second?.['tools']).toEqual(first?.['tools'])
        expect(first?.['max_tokens']).toBe(32_000)
        expect(first?.['stream']).toBe(true)
      }
    })
  })

  it('mark the prompt and the newest messages for the cache, at most four places', async () => {
    await delegate([], ({ server }) => {
      expect(server.requests).toHaveLength(6)
      for (const { body } of server.requests) {
        const marks = cacheMarksOf(body)
        expect(marks.length).toBeLessThanOrEqual(4)
        expect(marks.some((place) => place.startsWith('system.'))).toBe(true)
        expect(marks.some((place) => place.startsWith(`messages.${body.messages.length - 1}.`))).toBe(true)
      }
    })
  })

  it('work with real tools, and the parent gets reports and nothing else', async () => {
    await delegate([], ({ server }) => {
      const results = (agent: string) =>
        requestsOf(server.requests, agent)
          .filter((request) => turnOf(request) === 1)
          .flatMap(resultsIn)
      const [grep, read] = results('FIND')
      expect(grep).toMatch(/src\/policy\.ts:2:.*maxRetries/)
      expect(read).toMatch(/1\s+export const maxRetries = 10\n/)
      expect(results('COUNT')).toEqual(['4'])
      const [found, counted] = results('Who retries')
      expect(found).toContain('src/policy.ts:1 defines it')
      expect(counted).toContain('there are 4 lines')
      expect(JSON.stringify(requestsOf(server.requests, 'Who retries'))).not.toContain('export const')
    })
  })

  it('leave logs that fold to their ends, one per agent', async () => {
    await delegate(['--output-format', 'json'], async ({ stdout, place }) => {
      const { session_id, modelUsage, num_turns } = JSON.parse(stdout)
      expect(num_turns).toBe(2)
      expect(Object.keys(modelUsage).sort()).toEqual(['claude-haiku-5-5', 'claude-sonnet-5-5'])
      const replay = await place.troupe(['replay', session_id, '--json'])
      expect(replay.code, replay.stdout).toBe(0)
      const agents = jsonLines(replay.stdout)
      expect(agents).toHaveLength(3)
      for (const agent of agents) {
        expect(agent).toMatchObject({ sound: true, agent: { phase: 'completed', turns: 2, openCalls: [] } })
      }
      const story = await place.troupe(['log', session_id])
      for (const word of ['Explore', 'general-purpose', 'Grep', 'wc -l', 'there are 4 lines']) {
        expect(story.stdout).toContain(word)
      }
    })
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
    expect(resultsIn(server.requests[1]?.body ?? { model: '', messages: [] })[0]).toMatch(/permission|allow/i)
    const { stdout: files } = await place.troupe(['replay', JSON.parse(stdout).session_id])
    expect(files).toContain('completed')
  })
})
