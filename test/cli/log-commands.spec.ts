import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { factsInFlight } from '../../src/cli/in-flight.ts'
import { callId } from '../../src/machines/ids.ts'
import { CHILD, createTeller, delegation, ROOT, SESSION, text, toolUse } from './support/facts.ts'
import { createFakeHost, sessionsOf } from './support/fake-host.ts'
import { STEERS } from './support/steers.ts'
import { type WrittenSession, writeSession } from './support/written-session.ts'

let written: WrittenSession | undefined
afterEach(() => {
  written?.remove()
  written = undefined
})

const onDisk = (...args: Parameters<typeof writeSession>): WrittenSession => {
  written = writeSession(...args)
  return written
}

async function run(
  argv: readonly string[],
  session: WrittenSession,
  options: { stdoutIsTTY?: boolean } = {},
) {
  const fake = createFakeHost(argv, { cwd: session.project, sessions: session.reader, ...options })
  const code = await fake.run()
  return { code, stdout: fake.stdout, stderr: fake.stderr, lines: fake.stdout.trimEnd().split('\n') }
}

const untimed = (line: string): string => line.replace(/^\d\d:\d\d:\d\d {2}/, '')

describe('troupe sessions', () => {
  it('lists what was asked first, when, and with how many agents', async () => {
    const { code, stdout } = await run(['sessions'], onDisk())
    expect(code).toBe(0)
    expect(stdout).toMatch(new RegExp(`^${SESSION}  2026-11-30 \\d\\d:00  2 agents   what is here\\?\n$`))
  })

  it('is one JSON object per session for programs', async () => {
    const { stdout } = await run(['sessions', '--json'], onDisk())
    expect(JSON.parse(stdout)).toEqual({
      session_id: SESSION,
      started_at: '2026-11-30T12:00:00.010Z',
      last_at: '2026-11-30T12:00:00.160Z',
      first_prompt: 'what is here?',
      agents: 2,
    })
  })

  it('says on standard error that there is none', async () => {
    const fake = createFakeHost(['sessions'])
    expect([await fake.run(), fake.stdout]).toEqual([0, ''])
    expect(fake.stderr).toMatch(/no session of .* yet/)
  })
})

describe('troupe log', () => {
  it('tells what happened in the order in which it did, each agent indented by its depth', async () => {
    const { code, lines } = await run(['log'], onDisk())
    expect(code).toBe(0)
    expect(lines.map(untimed)).toEqual([
      'main  + the session (model claude-sonnet-4-6, mode acceptEdits)',
      'main  « what is here?',
      'main  » I ask.',
      'main  → Agent Explore: list files',
      '  Explore a1569  + list files (model claude-sonnet-4-6, mode acceptEdits)',
      '  Explore a1569  « list the files',
      '  Explore a1569  → Bash ls',
      '  Explore a1569  ← Bash ok 0.0 s: README.md (+1 line)',
      '  Explore a1569  » README.md and a.txt',
      '  Explore a1569  ■ completed · 2 turns · 1 tool call · 240 tokens · 1.5 s',
      'main  ← Agent ok 0.1 s: README.md and a.txt',
      'main  » There are two files.',
      'main  ■ completed · 2 turns · 1 tool call · 240 tokens · 1.5 s',
    ])
  })

  it.each([
    ['the start of an id', ['log', '0767']],
    ['a file', ['log', 'FILE']],
  ])('takes %s', async (_, argv) => {
    const session = onDisk()
    const { lines } = await run(
      argv.map((word) => (word === 'FILE' ? session.paths.rootLog : word)),
      session,
    )
    expect(lines).toHaveLength(13)
  })

  it.each([
    ['the start of its id', 'a1569', 6],
    ['the name of its file', `agent-${CHILD}`, 6],
    ['main', 'main', 7],
    ['the id of the root', ROOT, 7],
  ])('tells of one agent alone, by %s', async (_, agent, count) => {
    expect((await run(['log', '--agent', agent], onDisk())).lines).toHaveLength(count)
  })

  it('gives events as they are, one JSON object per line', async () => {
    const session = onDisk()
    const { lines } = await run(['log', '--json'], session)
    const events = lines.map((line) => JSON.parse(line))
    expect(events).toHaveLength(16)
    expect(events[0]).toMatchObject({
      log: session.paths.rootLog,
      seq: 0,
      at: '2026-11-30T12:00:00.010Z',
      event: { type: 'agent.spawned', agentId: ROOT },
    })
    expect(events.map(({ event }) => event.type)).toContain('call.started')
  })

  it('tells also of a child that nothing leads to any more', async () => {
    const session = onDisk((log, agent) =>
      agent === 'root' ? `${log.split('\n').slice(0, 3).join('\n')}\n` : log,
    )
    const { stdout } = await run(['log'], session)
    expect(stdout).toContain('→ Bash ls')
  })

  it('shows what a kill left', async () => {
    const session = onDisk()
    appendFileSync(session.childLog, '{"type":"sys')
    const { stdout, code } = await run(['log'], session)
    expect(code).toBe(0)
    expect(stdout).toMatch(/! torn at byte \d+/)
  })

  it.each([
    ['a session that is not there', ['log', 'ffff'], /there is no session "ffff" of .*; see troupe sessions/],
    ['a file that is not there', ['log', 'x.jsonl'], /there is no log at .*x\.jsonl; see troupe sessions/],
    [
      'an agent that is not there',
      ['log', '--agent', 'afff'],
      /no agent of this session has an id that begins with afff/,
    ],
  ])('says what to do about %s', async (_, argv, message) => {
    const { code, stdout, stderr } = await run(argv, onDisk())
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(message)
    expect(stderr.trimEnd()).not.toContain('\n')
  })

  it('says that there is no session yet', async () => {
    const fake = createFakeHost(['log'])
    expect(await fake.run()).toBe(1)
    expect(fake.stderr).toMatch(/there is no session of .* yet; start one with/)
  })
})

describe('the story', () => {
  it('tells how calls fail, runs are suspended and go on, and agents are killed', async () => {
    const root = createTeller().agent(ROOT)
    root.spawned()
    root.started('go')
    root.replies([toolUse('t', 'Bash', { command: 'rm -rf /' })])
    root.gets('t', 'not allowed\nby a rule', { outcome: 'denied', isError: true })
    root.event({ type: 'run.suspended', reason: 'crashed' })
    root.event({ type: 'run.resumed', survivors: 2 })
    root.event({
      type: 'request.failed',
      attempts: 11,
      fault: { code: 'x', message: 'too busy', retryable: true },
    })
    root.ends({ kind: 'failed', fault: { code: 'x', message: 'too busy', retryable: true } })
    const fake = createFakeHost(['log'], { sessions: sessionsOf({ [SESSION]: { 'root.jsonl': root.log } }) })
    await fake.run()
    expect(fake.stdout.trimEnd().split('\n').map(untimed).slice(2)).toEqual([
      'main  → Bash rm -rf /',
      'main  ← Bash denied 0.0 s: not allowed (+1 line)',
      'main  ◌ suspended (crashed)',
      'main  ● goes on, 2 processes of the dead engine ended',
      'main  ✖ no reply after 11 attempts: too busy',
      'main  ■ failed: too busy · 1 turn · 1 tool call · 120 tokens · 1.5 s',
    ])
  })

  it('tells what agents say they are at, and what they ask of each other', async () => {
    const root = createTeller().agent(ROOT)
    root.spawned()
    root.started('go')
    const from = { from: 'agent', agentId: CHILD } as const
    const modelUsage = { haiku: { input_tokens: 30, output_tokens: 2 } }
    root.event({ type: 'progress.summarised', text: 'counting the files', modelUsage })
    root.event({ type: 'progress.summarised', text: '', modelUsage })
    const accepted = { type: 'message.accepted', messageId: 'm', content: 'x', origin: from } as const
    root.event(accepted)
    root.event({ ...accepted, means: { kind: 'shutdown_request' } })
    root.event({ ...accepted, means: { kind: 'shutdown_response', requestId: 'r', approve: false } })
    root.event({ ...accepted, means: { kind: 'plan_approval_request' } })
    root.event({ ...accepted, means: { kind: 'plan_approval_response', requestId: 'r', approve: true } })
    root.replies([toolUse('toolu_1', 'SendMessage', {})])
    root.event({
      type: 'call.ended',
      callId:
        root.log.flatMap(({ event }) => (event.type === 'reply.received' ? event.calls : []))[0]?.callId ??
        callId(1, 1, 0),
      outcome: 'ok',
      result: { type: 'tool_result', tool_use_id: 'toolu_1', content: 'agreed' },
      answers: { requestId: 'r', approve: true },
    })
    const fake = createFakeHost(['log'], { sessions: sessionsOf({ [SESSION]: { 'root.jsonl': root.log } }) })
    await fake.run()
    expect(fake.stdout.trimEnd().split('\n').map(untimed).slice(2)).toEqual([
      'main  · is at: counting the files',
      `main  · has a message of ${CHILD}`,
      `main  · is asked to stop by ${CHILD}`,
      `main  · ${CHILD} does not agree to stop`,
      `main  · is shown a plan by ${CHILD}`,
      `main  · has the word on its plan of ${CHILD}: approved`,
      'main  → SendMessage',
      'main  ← SendMessage ok 0.0 s: agreed',
      'main  ■ has agreed to stop',
    ])
  })

  it('gives no control character to the terminal', async () => {
    const root = createTeller().agent(ROOT)
    root.spawned()
    root.started('\x1b[2Jgo\x07')
    const fake = createFakeHost(['log'], { sessions: sessionsOf({ [SESSION]: { 'root.jsonl': root.log } }) })
    await fake.run()
    expect(fake.stdout).toMatch(/« go\n/)
    expect(fake.stdout).not.toContain('\x1b[2J')
  })
})

describe('what steers a terminal', () => {
  const hostileTree = () => {
    const teller = createTeller()
    const root = teller.agent(ROOT)
    root.spawned()
    root.started('go \u009b2J')
    const child = teller.agent(CHILD)
    root.replies([toolUse('toolu_1', 'Agent', { prompt: 'x' })])
    root.starts('toolu_1', CHILD)
    child.spawned({
      kind: 'Ex\x1b]0;title\x07plore\u009b',
      description: 'd\x1b[2J',
      parent: { agentId: ROOT, callId: callId(1, 4, 0), toolUseId: 'toolu_1' },
    })
    child.started('x')
    const reader = sessionsOf({ [SESSION]: { 'root.jsonl': root.log, [`agent-${CHILD}.jsonl`]: child.log } })
    const list: typeof reader.list = async () =>
      (await reader.list()).map((session) => ({ ...session, firstPrompt: 'a\x1b[2J\u009bb\u061c' }))
    return { ...reader, list }
  }

  it.each([[['log']], [['log', '--json']], [['sessions']], [['sessions', '--json']]])(
    'is in no output of %j',
    async (argv) => {
      const fake = createFakeHost(argv, { sessions: hostileTree() })
      await fake.run()
      expect(fake.stdout).not.toBe('')
      expect(fake.stdout).not.toMatch(STEERS)
    },
  )

  it.each([
    [['log', './no\x1b[2J.jsonl']],
    [['replay', './no\u009b2J.jsonl']],
    [['--session-id', '\x1b[2Jx', 'p']],
    [['--unknown\x1b[2J']],
    [['--debug', '--unknown\u009b']],
  ])('is in no error about %j', async (argv) => {
    const { code, stderr } = await run(argv, onDisk())
    expect(code).not.toBe(0)
    expect(stderr).not.toBe('')
    expect(stderr).not.toMatch(STEERS)
  })
})

describe('troupe replay', () => {
  it('tells the state that each log of a session leads to', async () => {
    const session = onDisk()
    const { code, lines } = await run(['replay', '0767'], session)
    expect(code).toBe(0)
    expect(lines).toEqual([
      session.paths.rootLog,
      `  agent     ${ROOT} (main)`,
      '  events    8, the last at position 8',
      '  phase     completed',
      '  run 1     2 turns, 1 tool call, 240 tokens',
      '  open      no calls',
      session.childLog,
      `  agent     ${CHILD} (Explore)`,
      '  events    8, the last at position 7',
      '  phase     completed',
      '  run 1     2 turns, 1 tool call, 240 tokens',
      '  open      no calls',
    ])
  })

  it.each([
    [0, { phase: 'idle', events: 1 }],
    [2, { phase: 'requesting', events: 3 }],
    // The reply has two lines, 3 and 4: it counts with its last.
    [3, { phase: 'requesting', events: 3 }],
    [4, { phase: 'acting', events: 4 }],
    [5, { phase: 'acting', events: 5 }],
    [99, { phase: 'completed', events: 8 }],
  ])('goes back to position %i', async (at, { phase, events }) => {
    const { stdout } = await run(['replay', '0767', '--at', String(at), '--json'], onDisk())
    expect(JSON.parse(stdout)).toMatchObject({ sound: true, events, agent: { phase } })
  })

  it('names the calls that are open', async () => {
    const { stdout } = await run(['replay', '0767', '--at', '5'], onDisk())
    expect(stdout).toContain('open      Agent 1.4.0 (started)')
  })

  it('says that a run is suspended', async () => {
    const root = createTeller().agent(ROOT)
    root.spawned()
    root.started('go')
    root.event({ type: 'run.suspended', reason: 'closed' })
    const fake = createFakeHost(['replay', '0767'], {
      sessions: sessionsOf({ [SESSION]: { 'root.jsonl': root.log } }),
    })
    expect(await fake.run()).toBe(0)
    expect(fake.stdout).toContain('phase     preparing, suspended')
  })

  it('takes a torn last line for what it is', async () => {
    const session = onDisk()
    appendFileSync(session.paths.rootLog, '{"type":"sys')
    const { code, stdout } = await run(['replay', session.paths.rootLog], session)
    expect(code).toBe(0)
    expect(stdout).toMatch(/torn {6}line 10 \(byte \d+\)/)
  })

  it('fails on a damaged log, with the line and the byte', async () => {
    const session = onDisk((log, agent) =>
      agent === 'root' ? log.split('\n').toSpliced(2, 1).join('\n') : log,
    )
    const { code, stdout } = await run(['replay', session.paths.rootLog], session)
    expect(code).toBe(1)
    expect(stdout).toMatch(/DAMAGE {4}line 3 \(byte \d+\): 1 line\(s\) missing/)
  })

  describe('fails on the first event that cannot follow, with its line:', () => {
    const story = () => {
      const { root } = delegation()
      return root
    }
    it.each([
      ['a second birth', () => story().log.toSpliced(1, 0, ...story().log.slice(0, 1)), 2, /spawned twice/],
      ['a run without an agent', () => story().log.slice(1), 1, /comes before agent\.spawned/],
      ['a reply to nothing', () => story().log.toSpliced(2, 1), 3, /preparing does not take reply\.received/],
      [
        'a result without a call',
        () => story().log.toSpliced(3, 1),
        4,
        /requesting does not take call\.started \(call 1\.4\.0\)/,
      ],
      [
        'a life after the end',
        () => [...story().log, ...story().log.slice(-2, -1)],
        9,
        /completed does not take reply\.received/,
      ],
    ])('%s', async (_, log, line, reason) => {
      const fake = createFakeHost(['replay', '0767', '--json'], {
        sessions: sessionsOf({ [SESSION]: { 'root.jsonl': log() } }),
      })
      expect(await fake.run()).toBe(1)
      const { violation, sound } = JSON.parse(fake.stdout)
      expect([violation.line, sound]).toEqual([line, false])
      expect(violation.reason).toMatch(reason)
    })

    it('an end that says something else than its events', async () => {
      const { root } = delegation()
      const log = root.log.map((recorded) =>
        recorded.event.type === 'agent.ended'
          ? { ...recorded, event: { ...recorded.event, turns: 7 } }
          : recorded,
      )
      const fake = createFakeHost(['replay', '0767'], {
        sessions: sessionsOf({ [SESSION]: { 'root.jsonl': log } }),
      })
      expect(await fake.run()).toBe(1)
      expect(fake.stdout).toMatch(/VIOLATION line 8 \(position 8\): its end says turns 7, its events say 2/)
    })

    it('an end of a child that is told twice', async () => {
      const root = createTeller().agent(ROOT)
      root.spawned()
      root.started('go')
      root.prepared()
      root.replies([toolUse('t1', 'Agent', {}), toolUse('t2', 'Agent', {})])
      root.gets('t1', 'done', { delivered: CHILD })
      root.gets('t2', 'done', { delivered: CHILD })
      const fake = createFakeHost(['replay', '0767'], {
        sessions: sessionsOf({ [SESSION]: { 'root.jsonl': root.log } }),
      })
      expect(await fake.run()).toBe(1)
      expect(fake.stdout).toMatch(new RegExp(`the end of ${CHILD} run 1 is told twice`))
    })
  })

  it('reads a log that is relative to the working directory', async () => {
    const session = onDisk()
    const relative = join('..', 'home', session.paths.rootLog.split('/home/')[1] ?? '')
    expect((await run(['replay', relative], session)).code).toBe(0)
  })
})

describe('what is in flight in a session', () => {
  it('is the last run of the root and the children that it waits for', async () => {
    const { root, child } = delegation()
    const done = await factsInFlight(
      sessionsOf({ [SESSION]: { 'root.jsonl': root.log, [`agent-${CHILD}.jsonl`]: child.log } }),
      SESSION,
    )
    expect(new Set(done.map((fact) => 'agentId' in fact && fact.agentId))).toEqual(new Set([ROOT]))
    const waiting = await factsInFlight(
      sessionsOf({
        [SESSION]: { 'root.jsonl': root.log.slice(0, 5), [`agent-${CHILD}.jsonl`]: child.log.slice(0, 3) },
      }),
      SESSION,
    )
    expect(waiting.map((fact) => 'agentId' in fact && fact.agentId)).toEqual([
      ...Array(5).fill(ROOT),
      ...Array(3).fill(CHILD),
    ])
  })

  it('leaves out what the root did in runs before', async () => {
    const root = createTeller().agent(ROOT)
    root.spawned()
    root.started('one')
    root.replies([text('1')])
    root.ends()
    root.started('two', { run: 2 })
    const facts = await factsInFlight(sessionsOf({ [SESSION]: { 'root.jsonl': root.log } }), SESSION)
    expect(facts.map((fact) => fact.kind === 'fact' && fact.event.type)).toEqual([
      'agent.spawned',
      'run.started',
    ])
  })
})
