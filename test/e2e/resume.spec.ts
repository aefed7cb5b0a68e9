/** The built program killed, interrupted and resumed, as processes. */
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { call } from '../../src/effects/model/scripted-reply.ts'
import { type MessagesServer, startMessagesServer, streamed } from '../helpers/messages-server.ts'
import { turnOf } from '../helpers/scripts.ts'
import { requestsOf, resultsIn, script, violations } from './support/conversation.ts'
import {
  createPlace,
  type Finished,
  filesBelow,
  isRunning,
  type Json,
  jsonLines,
  type Place,
  type Started,
  until,
} from './support/program.ts'

const ID = '22222222-2222-4222-8222-222222222222'
const ASK = ['-p', 'where is the retry policy?', '--model', 'offline', '--session-id', ID]
const PROJECT = {
  'src/retry-policy.ts': 'export const retryPolicy = { maxRetries: 10 }\n',
  'src/use.ts': "import { retryPolicy } from './retry-policy.ts'\nretryPolicy.maxRetries\n",
  'docs/retry.md': '# The retry policy\nTen times.\n',
}

/**
 * Starts the offline model at a walking pace and waits until a child has found something: at least two replies are
 * still to come, so that a busy machine has time to strike in the middle.
 */
async function askSlowly(place: Place): Promise<Started> {
  const started = place.start(ASK, { env: { TROUPE_OFFLINE_PACE_MS: '700' } })
  const found = () =>
    [...place.logs()].some(([log, text]) => log.includes('agent-') && text.includes('tool_result'))
  await until(found, 'a child that has found something')
  return started
}

/** What reading the journal says; every one of the three must work at any time. */
async function readEverything(place: Place): Promise<{ readonly states: Json[]; readonly story: string }> {
  const [sessions, log, replay] = await Promise.all([
    place.troupe(['sessions', '--json']),
    place.troupe(['log', ID]),
    place.troupe(['replay', ID, '--json']),
  ])
  expect(jsonLines(sessions.stdout), sessions.stderr).toMatchObject([{ session_id: ID }])
  expect([log.code, log.stderr]).toEqual([0, ''])
  expect(replay.code, replay.stdout).toBe(0)
  return { states: jsonLines(replay.stdout), story: log.stdout }
}

/** The lifecycle events of the root's log. */
const rootEvents = (place: Place): Json[] => jsonLines([...place.logs().values()][0] ?? '')

const phasesOf = (states: readonly Json[]): unknown[] => states.map(({ agent }) => Object(agent)['phase'])

describe.concurrent('a program that is killed in the middle', () => {
  it('goes on where it was: the answer is the one that it would have given', async () => {
    await using whole = createPlace(PROJECT)
    const expected = await whole.troupe(ASK)

    await using place = createPlace(PROJECT)
    const started = await askSlowly(place)
    started.kill('SIGKILL')
    expect(await started.finished).toMatchObject({ code: null, signal: 'SIGKILL', stdout: '' })

    const before = await readEverything(place)
    expect(phasesOf(before.states)[0]).toBe('acting')
    expect(before.story).toContain('Explore')

    const resumed = await place.troupe(['-r', ID.slice(0, 8), '--model', 'offline'])
    expect([resumed.code, resumed.stdout], resumed.stderr).toEqual([0, expected.stdout])
    expect(resumed.stdout).toContain('src/retry-policy.ts')

    const after = await readEverything(place)
    expect(new Set(phasesOf(after.states))).toEqual(new Set(['completed']))
    expect(after.states).toHaveLength(before.states.length)
    const types = JSON.stringify(rootEvents(place))
    expect(types).toContain('run.suspended')
    expect(types).toContain('run.resumed')

    const again = await place.troupe(['-r', ID, '--model', 'offline'])
    expect([again.code, again.stdout]).toEqual([0, ''])
    expect(again.stderr).toMatch(/nothing is in flight/)
  })

  it('first gives the answer that is due, then the next one', async () => {
    await using place = createPlace(PROJECT)
    const started = await askSlowly(place)
    started.kill('SIGKILL')
    await started.finished
    const format = ['--output-format', 'stream-json']
    const end = await place.troupe(['-r', ID, '-p', 'what can you do?', '--model', 'offline', ...format])
    expect(end.code, end.stderr).toBe(0)
    const results = jsonLines(end.stdout).filter(({ type }) => type === 'result')
    expect(results).toMatchObject([
      { subtype: 'success', result: expect.stringContaining('src/retry-policy.ts') },
      { subtype: 'success', session_id: ID },
    ])
    expect(results[1]?.['result']).not.toBe(results[0]?.['result'])
  })
})

const SLEEP = 'echo $$ >> started; sleep 97'

/** A child whose command sleeps, against a server; `use` is called while it does. */
async function whileItSleeps(use: (asleep: Asleep) => Promise<void>): Promise<void> {
  await using place = createPlace()
  const runningAt: boolean[] = []
  let shell = 0
  await using server = await startMessagesServer((request) => {
    if (shell > 0) runningAt.push(isRunning(shell))
    return answer(request)
  })
  const program = place.start(['-p', 'go', '--session-id', ID, '--allowedTools', 'Bash'], { env: server.env })
  const file = path.join(place.project, 'started')
  // The file is there a moment before its line is.
  const written = () => existsSync(file) && /^\d+\n$/.test(readFileSync(file, 'utf8'))
  await until(written, 'the command')
  shell = Number(readFileSync(file, 'utf8'))
  expect(isRunning(shell)).toBe(true)
  try {
    await use({ place, server, program, shell, runningAt })
  } finally {
    if (isRunning(shell)) process.kill(-shell, 'SIGKILL')
  }
  expect(readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(1)
}

interface Asleep {
  readonly place: Place
  readonly server: MessagesServer
  readonly program: Started
  /** The shell of the command: leader of its process group. */
  readonly shell: number
  /** For each request since the command started: whether it still ran. */
  readonly runningAt: readonly boolean[]
}

const answer = script({
  go: [
    streamed(call('Agent', { description: 'wait', prompt: 'WAIT', subagent_type: 'general-purpose' })),
    'all is done',
  ],
  WAIT: [streamed(call('Bash', { command: SLEEP, description: 'sleep' })), 'it was interrupted'],
})

describe.concurrent('a command that runs when', () => {
  it('the program is killed is ended before anything else, and is not repeated', async () => {
    await whileItSleeps(async ({ place, server, program, shell, runningAt }) => {
      program.kill('SIGKILL')
      await program.finished
      expect(isRunning(shell), 'nobody ended it yet').toBe(true)
      const before = await readEverything(place)
      expect(before.story).toContain('sleep 97')

      const resumed = await place.troupe(['-r', ID], { env: server.env })
      expect([resumed.code, resumed.stdout], resumed.stderr).toEqual([0, 'all is done\n'])
      expect(runningAt).toEqual([false, false])
      expect(groupIsRunning(shell)).toBe(false)

      const told = requestsOf(server.requests, 'WAIT').filter((request) => turnOf(request) === 1)
      expect(told.map(resultsIn)).toEqual([[expect.stringMatching(/interrupted/)]])
      expect(violations(server.requests)).toEqual([])
      expect(rootEvents(place)).toContainEqual(
        expect.objectContaining({ event: expect.objectContaining({ type: 'run.resumed', survivors: 1 }) }),
      )
      const after = await readEverything(place)
      expect(phasesOf(after.states)).toEqual(['completed', 'completed'])
    })
  })

  it('the program is interrupted is ended by it, and the session is suspended', async () => {
    await whileItSleeps(async ({ place, server, program, shell }) => {
      program.kill('SIGINT')
      const end = await program.finished
      expect([end.code, end.stdout], end.stderr).toEqual([130, ''])
      expect(groupIsRunning(shell)).toBe(false)
      const resumed = await place.troupe(wordsAfterTroupe(end), { env: server.env })
      expect([resumed.code, resumed.stdout], resumed.stderr).toEqual([0, 'all is done\n'])
      expect(violations(server.requests)).toEqual([])
    })
  })
})

describe.concurrent('a program that is told to stop', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('by %s suspends, says how to go on, and exits with %d', async (signal, code) => {
    await using place = createPlace(PROJECT)
    const started = await askSlowly(place)
    started.kill(signal)
    const end = await started.finished
    expect([end.code, end.stdout]).toEqual([code, ''])
    expect(end.stderr).toMatch(new RegExp(`^troupe: suspended; go on with: troupe -r ${ID}\n$`))
    expect(filesBelow(place.troupeHome, 'lock')).toEqual([])
    expect(rootEvents(place).at(-1)).toMatchObject({ event: { type: 'run.suspended', reason: 'closed' } })

    const { states } = await readEverything(place)
    expect(states[0]).toMatchObject({ sound: true, agent: { isSuspended: true } })
    const resumed = await place.troupe([...wordsAfterTroupe(end), '--model', 'offline'])
    expect(resumed.code, resumed.stderr).toBe(0)
    expect(resumed.stdout).toContain('src/retry-policy.ts')
  })
})

/** What the program says to type. */
function wordsAfterTroupe({ stderr }: Finished): string[] {
  const command = /go on with: troupe (.*)/.exec(stderr)?.[1]
  if (command === undefined) throw new Error(`it does not say how to go on: ${stderr}`)
  return command.split(' ')
}

function groupIsRunning(leader: number): boolean {
  try {
    process.kill(-leader, 0)
    return isRunning(leader)
  } catch {
    return false
  }
}
