import { describe, expect, it } from 'vitest'
import { CHILD, delegation, SESSION } from './support/facts.ts'
import { createFakeHost, type FakeHost, type FakeHostOptions, sessionsOf } from './support/fake-host.ts'

const KEY = { ANTHROPIC_API_KEY: 'k' }

/** Runs a line to its end; the fake engine plays the session with a child unless the test says otherwise. */
async function play(
  argv: readonly string[],
  options: FakeHostOptions = { env: KEY },
  act: (fake: FakeHost) => Promise<void> | void = async ({ engine }) => {
    const run = await engine.asked()
    engine.publish(...delegation().facts)
    run.end()
  },
): Promise<FakeHost & { code: number }> {
  const fake = createFakeHost(argv, options)
  const running = fake.run()
  await act(fake)
  const code = await running
  return Object.assign(fake, { code })
}

const nothing = (): void => {}

describe('a run', () => {
  it('puts the answer and nothing else on standard output', async () => {
    const { code, stdout } = await play(['-p', 'what is here?'])
    expect(stdout).toBe('There are two files.\n')
    expect(code).toBe(0)
  })

  it('sums up on standard error, with the session and how to see and resume it', async () => {
    const { stderr } = await play(['-p', 'what is here?'])
    expect(stderr).toBe(
      `troupe: 2 agents, 4 turns, 2 tool calls, 480 tokens, 1.5 s; session ${SESSION}: troupe log 07679179, troupe -r 07679179 "…"\n`,
    )
  })

  it('gives the engine what the flags say', async () => {
    const { engine } = await play([
      ...[
        '-p',
        'x',
        '--permission-mode',
        'plan',
        '--allowedTools',
        'Read',
        '--disallowedTools',
        'Bash(rm:*)',
      ],
      ...['--system-prompt', 'S', '--append-system-prompt', 'A', '--model', 'opus', '--durability', 'write'],
      ...['--max-turns', '3', '--session-id', SESSION],
      ...['--max-budget-usd', '2', '--max-time', '90', '--sandbox'],
    ])
    expect(engine.options).toMatchObject({
      modelId: 'opus',
      permissions: { mode: 'plan', allow: ['Read'], deny: ['Bash(rm:*)'] },
      systemPrompt: 'S',
      appendSystemPrompt: 'A',
      durability: 'write',
      sandbox: {},
      home: '/home/nobody/.troupe',
      limits: { usd: 2, runningMs: 90_000 },
    })
    expect(engine.runs[0]).toMatchObject({ prompt: 'x', options: { maxTurns: 3, sessionId: SESSION } })
  })

  it('leaves to the engine what the flags do not say', async () => {
    const { engine } = await play(['-p', 'x'])
    expect(Object.keys(engine.options ?? {})).not.toContain('modelId')
    expect(Object.keys(engine.options ?? {})).not.toContain('sandbox')
    expect(engine.options?.permissions).toEqual({ allow: [], deny: [] })
    expect(engine.runs[0]?.options).toEqual({})
  })

  it.each<[string, string[], FakeHostOptions, boolean]>([
    ['on a terminal', ['x'], { stderrIsTTY: true }, true],
    ['with -p', ['-p', 'x'], { stderrIsTTY: true }, false],
    ['with JSON for a program', ['x', '--output-format', 'json'], { stderrIsTTY: true }, false],
    ['with piped input', ['x'], { stderrIsTTY: true, stdin: 'text' }, false],
    ['with standard error in a file', ['x'], {}, false],
  ])('lets calls wait for the person only where one can answer: %s', async (_, argv, options, waits) => {
    const { engine } = await play(argv, { env: KEY, ...options })
    expect(engine.options?.permissions?.wait ?? false).toBe(waits)
  })

  it('keeps everything where TROUPE_HOME says', async () => {
    const { engine } = await play(['-p', 'x'], { env: { ...KEY, TROUPE_HOME: '/elsewhere' } })
    expect(engine.options?.home).toBe('/elsewhere')
  })

  it('closes the engine', async () => {
    expect((await play(['-p', 'x'])).engine.isClosed).toBe(true)
  })

  it('behaves the same without -p', async () => {
    expect((await play(['what is here?'])).stdout).toBe('There are two files.\n')
  })

  it('lets no text of an agent steer the terminal', async () => {
    const { stdout } = await play(['-p', 'x'], { env: KEY, stdoutIsTTY: true }, async ({ engine }) => {
      ;(await engine.asked()).end({ text: 'a\x1b]0;title\x07\x1b[2Jb\n\tc' })
    })
    expect(stdout).toBe('ab\n\tc\n')
  })
})

describe('the model', () => {
  it('is the offline one without a key: one line says so, and the engine uses no other name', async () => {
    const { models, stderr, engine } = await play(['-p', 'x'], {})
    expect(models).toEqual(['offline'])
    expect(stderr.split('\n')[0]).toMatch(/no ANTHROPIC_API_KEY.*offline/)
    expect(engine.options).toMatchObject({ modelId: 'offline', modelAliases: { haiku: 'offline' } })
  })

  it('has the pace that is asked for', async () => {
    const { models } = await play(['-p', 'x', '--model', 'offline'], {
      env: { TROUPE_OFFLINE_PACE_MS: '40' },
    })
    expect(models).toEqual(['offline at 40 ms'])
  })
})

describe('the prompt', () => {
  const promptOf = async (argv: string[], options: FakeHostOptions) =>
    (await play(argv, { env: KEY, ...options })).engine.runs[0]?.prompt

  it('comes from standard input when it is piped in', async () => {
    expect(await promptOf(['-p'], { stdin: 'wörds\n' })).toBe('wörds')
  })

  it('is the words, then what is piped in', async () => {
    expect(await promptOf(['-p', 'review this'], { stdin: 'a diff\n' })).toBe('review this\n\na diff')
  })

  it('is the words alone when nothing comes for three seconds, and a line says so', async () => {
    const fake = await play(
      ['-p', 'review this'],
      { env: KEY, stdin: { silent: true } },
      async ({ engine, clock }) => {
        while (clock.pending === 0) await new Promise((resolve) => setImmediate(resolve))
        await clock.advanceAsync(3000)
        ;(await engine.asked()).end()
      },
    )
    expect(fake.engine.runs[0]?.prompt).toBe('review this')
    expect(fake.stderr).toMatch(/nothing came from standard input in 3 s/)
  })

  it('is the default one of the start script only when there is no other', async () => {
    const start = ['-p', '--default-prompt', 'what can you do?']
    expect(await promptOf(start, {})).toBe('what can you do?')
    expect(await promptOf(start, { stdin: '' })).toBe('what can you do?')
    expect(await promptOf(start, { stdin: 'this' })).toBe('this')
    expect(await promptOf([...start, 'that'], {})).toBe('that')
  })

  it('must be there: without one nothing is made', async () => {
    const { code, stderr, stdout, engine } = await play(['-p'], { env: KEY, stdin: ' \n' }, nothing)
    expect([code, stdout, engine.options]).toEqual([2, '', undefined])
    expect(stderr).toMatch(/^troupe: there is no prompt; give one.*\n$/)
  })
})

describe('the exit code', () => {
  const ending = (more: Parameters<Awaited<ReturnType<FakeHost['engine']['asked']>>['end']>[0]) =>
    play(['-p', 'x'], { env: KEY }, async ({ engine }) => (await engine.asked()).end(more))

  it('of a run that met its limit is not 0, and what there is of an answer is printed', async () => {
    const { code, stdout, stderr } = await ending({
      outcome: { kind: 'limit', limit: 'turns' },
      text: 'so far',
    })
    expect([code, stdout]).toEqual([1, 'so far\n'])
    expect(stderr).toMatch(/ended without success: the limit of turns was reached after 2 turns/)
  })

  it('of a failed run is 1, its words are no answer, and the fault is named', async () => {
    const fault = { code: 'overloaded', message: 'too busy', retryable: true }
    const { code, stdout, stderr } = await ending({
      status: 'failed',
      outcome: { kind: 'failed', fault },
      text: 'I will',
    })
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/too busy \(overloaded\)/)
  })

  it.each([
    ['partial', /answer was cut/],
    ['no_report', /without an answer/],
  ] as const)('of a run that ended %s is 0, with a remark', async (kind, remark) => {
    const { code, stderr } = await ending({ outcome: { kind } })
    expect(code).toBe(0)
    expect(stderr).toMatch(remark)
  })

  it('is 1 when the engine cannot go on, with its reason in one line', async () => {
    const { code, stdout, stderr, engine } = await play(['-p', 'x'], { env: KEY }, async ({ engine }) => {
      ;(await engine.asked()).fail(new Error('session s is held by\n process 42 on this machine'))
    })
    expect([code, stdout, stderr]).toEqual([
      1,
      '',
      'troupe: session s is held by process 42 on this machine\n',
    ])
    expect(engine.isClosed).toBe(true)
  })

  it('comes with stacks only when they are asked for', async () => {
    const failing = async ({ engine }: FakeHost) => (await engine.asked()).fail(new Error('no'))
    expect((await play(['-p', 'x'], { env: KEY }, failing)).stderr).not.toMatch(/ at /)
    expect((await play(['-p', 'x', '--debug'], { env: KEY }, failing)).stderr).toMatch(/Error: no\n\s+at /)
  })

  it('is 1 for a directory that cannot be read, before anything is made', async () => {
    const { code, stderr, engine } = await play(['-p', 'x'], { env: KEY, cwd: '/no/such/place' }, nothing)
    expect([code, engine.options]).toEqual([1, undefined])
    expect(stderr).toBe('troupe: the directory /no/such/place cannot be read; go to one that can\n')
  })

  it('is 2 for a rule that the engine cannot read', async () => {
    const fake = createFakeHost(['-p', 'x', '--allowedTools', 'Bash()'], { env: KEY })
    const host = {
      ...fake.host,
      createEngine: () => {
        throw Object.assign(new Error('the rule "Bash()" says nothing'), { code: 'bad-rule' })
      },
    }
    const { main } = await import('../../src/cli/run-cli.ts')
    expect(await main(host)).toBe(2)
    expect(fake.stderr).toBe('troupe: the rule "Bash()" says nothing\n')
  })
})

describe('a signal', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('%s suspends the session, says how to go on and exits with %i', async (signal, expected) => {
    const { code, stdout, stderr, engine, exits } = await play(['-p', 'x'], { env: KEY }, async (fake) => {
      await fake.engine.asked()
      fake.signal(signal)
    })
    expect([code, stdout, engine.isClosed, exits]).toEqual([expected, '', true, []])
    expect(stderr).toBe(`troupe: suspended; go on with: troupe -r ${SESSION}\n`)
  })

  it('that comes twice ends the process at once', async () => {
    const { exits } = await play(['-p', 'x'], { env: KEY }, async (fake) => {
      await fake.engine.asked()
      fake.signal('SIGINT')
      fake.signal('SIGINT')
    })
    expect(exits).toEqual([130])
  })

  it('leaves no half result in any format', async () => {
    const { stdout } = await play(['-p', 'x', '--output-format', 'json'], { env: KEY }, async (fake) => {
      await fake.engine.asked()
      fake.signal('SIGTERM')
    })
    expect(stdout).toBe('')
  })
})

describe('the formats', () => {
  it('json: one result object', async () => {
    const { stdout } = await play(['-p', 'x', '--output-format', 'json'])
    expect(stdout.endsWith('}\n')).toBe(true)
    expect(JSON.parse(stdout)).toMatchObject({
      type: 'result',
      subtype: 'success',
      is_error: false,
      result: 'There are two files.',
      session_id: SESSION,
      num_turns: 2,
      duration_ms: 1500,
      duration_api_ms: 900,
      stop_reason: 'end_turn',
      usage: { input_tokens: 200 },
      permission_denials: [],
    })
  })

  it('stream-json: a line for each thing that happens, the result last', async () => {
    const { stdout } = await play(['-p', 'x', '--output-format', 'stream-json', '--permission-mode', 'plan'])
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines[0]).toMatchObject({
      type: 'system',
      subtype: 'init',
      session_id: SESSION,
      permissionMode: 'plan',
      tools: ['Agent', 'Read', 'Bash'],
      agents: ['general-purpose', 'Explore'],
      troupe_version: '1.2.3',
      apiKeySource: 'ANTHROPIC_API_KEY',
    })
    expect(lines.at(-1)).toMatchObject({ type: 'result' })
    expect(lines).toHaveLength(12)
  })

  it('json says why an error is one', async () => {
    const { stdout, code } = await play(
      ['-p', 'x', '--output-format', 'json'],
      { env: KEY },
      async ({ engine }) => {
        ;(await engine.asked()).end({ outcome: { kind: 'limit', limit: 'turns' } })
      },
    )
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({ subtype: 'error_max_turns', is_error: true })
  })
})

describe('going on with a session', () => {
  const { facts, root, child } = delegation()
  const before = { root: root.log.slice(0, 5), child: child.log.slice(0, 3) }
  const sessions = sessionsOf({
    [SESSION]: { 'root.jsonl': before.root, [`agent-${CHILD}.jsonl`]: before.child },
  })
  const options = { env: KEY, sessions }

  it('-c takes the latest of this directory', async () => {
    const { engine } = await play(['-c', '-p', 'and its tests?'], options)
    expect(engine.resumes).toMatchObject([{ sessionId: SESSION }])
    expect(engine.runs[0]).toMatchObject({ prompt: 'and its tests?', options: { sessionId: SESSION } })
  })

  it('-c without any session says how to start one', async () => {
    const { code, stderr } = await play(['-c', '-p', 'x'], { env: KEY }, nothing)
    expect(code).toBe(1)
    expect(stderr).toMatch(/there is no session of .* to continue; start one with/)
  })

  it('-r with nothing in flight and no prompt says so and is no failure', async () => {
    const { code, stdout, stderr, engine } = await play(['-r', '0767'], options, nothing)
    expect([code, stdout, engine.runs.length]).toEqual([0, '', 0])
    expect(stderr).toMatch(new RegExp(`nothing is in flight in session ${SESSION}; give a prompt`))
  })

  it('-r lets what was in flight go on and prints its answer', async () => {
    const { code, stdout, stderr } = await play(['-r', '0767'], options, async ({ engine }) => {
      engine.onResume = () => engine.runInFlight()
      const run = await engine.asked()
      engine.publish(...facts.slice(8))
      run.end()
    })
    expect([code, stdout]).toEqual([0, 'There are two files.\n'])
    expect(stderr).toMatch(/troupe: 2 agents, 4 turns/)
  })

  it('-r with a prompt asks it after what was in flight, and only its answer is printed', async () => {
    const { code, stdout, engine } = await play(['-r', '0767', 'and then?'], options, async ({ engine }) => {
      engine.onResume = () => engine.runInFlight()
      ;(await engine.asked(1)).end({ text: 'the old answer' })
      ;(await engine.asked(2)).end({ text: 'the new answer' })
    })
    expect([code, stdout]).toEqual([0, 'the new answer\n'])
    expect(engine.runs[1]).toMatchObject({ prompt: 'and then?', options: { sessionId: SESSION } })
  })

  it('in stream-json shows whose lines the old children speak', async () => {
    const { stdout } = await play(
      ['-r', '0767', '--output-format', 'stream-json'],
      options,
      async ({ engine }) => {
        engine.onResume = () => engine.runInFlight()
        const run = await engine.asked()
        engine.publish(...facts.slice(8))
        run.end()
      },
    )
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.find((line) => line.subtype === 'task_progress')).toMatchObject({ tool_use_id: 'toolu_1' })
    expect(lines.at(-1)).toMatchObject({ type: 'result', session_id: SESSION })
  })

  it('hands on --take-over and --accept-damage', async () => {
    const { engine } = await play(['-r', '0767', '--take-over', '--accept-damage'], options, nothing)
    expect(engine.resumes[0]?.options).toEqual({ takeOver: true, acceptDamage: true })
  })

  it('ends with the reason when another process holds the session', async () => {
    const { code, stderr, stdout } = await play(['-r', '0767', 'x'], options, ({ engine }) => {
      engine.onResume = () => Promise.reject(new Error('session 0767 is held by process 42 on host h'))
    })
    expect([code, stdout, stderr]).toEqual([1, '', 'troupe: session 0767 is held by process 42 on host h\n'])
  })

  it('does not take a limit that it cannot keep', async () => {
    const { code, stderr } = await play(['-r', '0767', '--max-turns', '2'], options, nothing)
    expect(code).toBe(2)
    expect(stderr).toMatch(/--max-turns limits a new run/)
  })

  it('can be interrupted while it is being brought back', async () => {
    const { code, stderr } = await play(['-r', '0767'], options, async (fake) => {
      let begun = (): void => {}
      const resuming = new Promise<void>((resolve) => {
        begun = resolve
      })
      fake.engine.onResume = () => {
        begun()
        return new Promise(() => {})
      }
      await resuming
      fake.signal('SIGINT')
    })
    expect(code).toBe(130)
    expect(stderr).toMatch(/suspended/)
  })
})

describe('progress', () => {
  it('is silent without a terminal', async () => {
    const { stderr } = await play(['-p', 'x'])
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
  })

  it('is plain lines without a terminal when it is asked for', async () => {
    const { stderr, stdout } = await play(['-p', 'x', '--verbose'])
    expect(stderr).toMatch(/main: starts: what is here\?\n/)
    expect(stderr).toMatch(/ {2}Explore a1569: Bash ls\n/)
    expect(stdout).toBe('There are two files.\n')
  })

  it('reports what could not be honoured, always', async () => {
    const { stderr } = await play(['-p', 'x'], { env: KEY }, async ({ engine }) => {
      const run = await engine.asked()
      engine.publish({ kind: 'diagnostic', code: 'tool-unknown', message: 'there is no tool Foo' })
      run.end()
    })
    expect(stderr).toMatch(/^troupe: there is no tool Foo\n/)
  })

  it('has no tree where lines of JSON scroll by', async () => {
    const tty = { env: KEY, stdoutIsTTY: true, stderrIsTTY: true, columns: 80 }
    const { stderr } = await play(['-p', 'x', '--output-format', 'stream-json'], tty)
    expect(stderr).not.toContain('\x1b[')
  })
})
