import { describe, expect, it } from 'vitest'
import type { HookDeclaration } from '../../../src/definitions/hook-declaration.ts'
import { combine } from '../../../src/definitions/hooks/combine.ts'
import { type HookInput, hookInput } from '../../../src/definitions/hooks/hook-input.ts'
import {
  type HookSource,
  hooksForAgent,
  hooksForAll,
  type ScopedHook,
} from '../../../src/definitions/hooks/scoped-hook.ts'
import { createHooks, type HooksOptions, type HooksRequest } from '../../../src/effects/hooks/create-hooks.ts'
import { type AnyHostHook, hostHook } from '../../../src/effects/hooks/hook.ts'
import type {
  HookProcesses,
  HookProcessOutcome,
  HookProcessRequest,
} from '../../../src/effects/hooks/hook-process.ts'
import { createVirtualClock } from '../../../src/effects/virtual-clock.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'

const FILE: HookSource = { kind: 'file', path: '/p/.claude/settings.json' }
const COMMON = { session_id: 's', transcript_path: '/logs/s.jsonl', cwd: '/p' }
const preToolUse = (tool_name: string, tool_input: unknown = {}): HookInput =>
  hookInput('PreToolUse', { ...COMMON, tool_name, tool_input, tool_use_id: 'toolu_1' })
const on = (event: HookDeclaration['event'], command: string, more: Partial<HookDeclaration> = {}) => ({
  event,
  command,
  ...more,
})
const request = (more: Partial<HooksRequest> = {}): HooksRequest => ({
  agentId: 'a1',
  signal: new AbortController().signal,
  cwd: '/p',
  mark: 'a1/hook:7',
  ...more,
})

/** Processes that wait until the test says how they end. */
function handDriven() {
  const running: {
    readonly request: HookProcessRequest
    readonly end: (end: Partial<HookProcessOutcome>) => void
  }[] = []
  const processes: HookProcesses = {
    run: (request) =>
      new Promise((resolve, reject) => {
        const end = (more: Partial<HookProcessOutcome>): void =>
          resolve({ ended: 'exit', exitCode: 0, stdout: '', stderr: '', isCut: false, ...more })
        running.push({ request, end })
        request.signal.addEventListener('abort', () => end({ ended: 'aborted', exitCode: null }))
        try {
          request.onStarted?.({ pid: 4_000 + running.length, startTime: '1' })
        } catch (error) {
          reject(error)
        }
      }),
  }
  return { processes, running, commands: () => running.map((process) => process.request.command) }
}

/** Processes that end at once, as the command says: `code:output`. */
const immediate: HookProcesses = {
  run: async ({ command, onStarted }) => {
    onStarted?.({ pid: 4_000, startTime: '1' })
    const [code = '0', stdout = ''] = command.split(/:(.*)/s)
    return { ended: 'exit', exitCode: Number(code), stdout, stderr: '', isCut: false }
  },
}

const hooksWith = (declared: readonly ScopedHook[], more: Partial<HooksOptions> = {}) =>
  createHooks({
    declarations: () => declared,
    processes: immediate,
    clock: createVirtualClock(),
    projectDir: '/p',
    ...more,
  })

const turns = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await Promise.resolve()
}

describe('which hooks run', () => {
  it('are those of the event, the matcher and the agent, in the order given, functions last', async () => {
    const declared = [
      ...hooksForAll([on('PreToolUse', '0:one', { matcher: 'Bash' }), on('PostToolUse', '0:late')], FILE),
      ...hooksForAgent([on('PreToolUse', '0:mine')], 'a1', FILE),
      ...hooksForAgent([on('PreToolUse', '0:hers')], 'a2', FILE),
      ...hooksForAll(
        [on('PreToolUse', '0:never', { matcher: '^(?!x)' }), on('PreToolUse', '0:edit', { matcher: 'Edit' })],
        FILE,
      ),
    ]
    const functions: AnyHostHook[] = [
      hostHook({ event: 'PreToolUse', name: 'guard', run: () => undefined }),
      hostHook({ event: 'PreToolUse', scope: { kind: 'agent', agentId: 'a2' }, run: () => undefined }),
      hostHook({ event: 'Stop', run: () => undefined }),
    ]
    const hooks = hooksWith(declared, { functions })
    const runs = await hooks.run(preToolUse('Bash'), request())
    expect(runs.map(({ place, mark, label, command }) => ({ place, mark, label, command }))).toEqual([
      {
        place: 0,
        mark: 'a1/hook:7.0',
        label: 'PreToolUse hook of /p/.claude/settings.json',
        command: '0:one',
      },
      {
        place: 1,
        mark: 'a1/hook:7.1',
        label: 'PreToolUse hook of /p/.claude/settings.json',
        command: '0:mine',
      },
      { place: 2, mark: 'a1/hook:7.2', label: 'PreToolUse hook of guard', command: undefined },
    ])
    expect(hooks.has(preToolUse('Bash'), 'a1')).toBe(true)
    expect(hooks.has(hookInput('Notification', { ...COMMON, message: 'm' }), 'a1')).toBe(false)
  })

  it('are looked up at each event', async () => {
    let declared: readonly ScopedHook[] = []
    const hooks = createHooks({ declarations: () => declared, processes: immediate, projectDir: '/p' })
    expect(await hooks.run(preToolUse('Bash'), request())).toEqual([])
    declared = hooksForAll([on('PreToolUse', '0:')], FILE)
    expect(await hooks.run(preToolUse('Bash'), request())).toHaveLength(1)
  })

  it('run once each, however often they are declared; those of plugins are their own', async () => {
    const plugin = (root: string): HookSource => ({ kind: 'plugin', name: 'p', root })
    const declared = [
      ...hooksForAll(
        [on('PreToolUse', '0:x', { timeout: 3 }), on('PreToolUse', '0:x', { matcher: 'Bash' })],
        FILE,
      ),
      ...hooksForAgent([on('PreToolUse', '0:x')], 'a1', FILE),
      ...hooksForAll([on('PreToolUse', '0:x')], plugin('/one')),
      ...hooksForAll([on('PreToolUse', '0:x')], plugin('/two')),
    ]
    const { processes, running } = handDriven()
    const runs = hooksWith(declared, { processes }).run(preToolUse('Bash'), request())
    await turns()
    expect(running.map(({ request }) => [request.timeoutMs, request.env['CLAUDE_PLUGIN_ROOT']])).toEqual([
      [3_000, undefined],
      [60_000, '/one'],
      [60_000, '/two'],
    ])
    for (const { end } of running) end({})
    expect(await runs).toHaveLength(3)
  })
})

describe('a run of hooks', () => {
  it('gives commands the input, the project and what is not withheld', async () => {
    const { processes, running } = handDriven()
    const hooks = hooksWith(hooksForAll([on('PreToolUse', 'x')], FILE), {
      processes,
      env: { PATH: '/bin', SECRET: 's', UNSET: undefined },
      withheldEnv: ['SECRET'],
    })
    const runs = hooks.run(preToolUse('Bash', { command: 'ls' }), request({ cwd: '/p/tree' }))
    await turns()
    const given = running[0]?.request
    expect(given).toMatchObject({
      cwd: '/p/tree',
      mark: 'a1/hook:7.0',
      timeoutMs: 60_000,
      maxOutputBytes: 1_000_000,
    })
    expect(given?.env).toEqual({ PATH: '/bin', CLAUDE_PROJECT_DIR: '/p', TROUPE_PROJECT_DIR: '/p' })
    expect(JSON.parse(given?.input ?? '')).toEqual(preToolUse('Bash', { command: 'ls' }))
    running[0]?.end({})
    await runs
  })

  it('starts them side by side and gives them in their order, with the time that each took', async () => {
    const { processes, running, commands } = handDriven()
    const clock = createVirtualClock()
    const declared = hooksForAll([on('PreToolUse', 'one'), on('PreToolUse', 'two')], FILE)
    const runs = hooksWith(declared, { processes, clock }).run(preToolUse('Bash'), request())
    await turns()
    expect(commands()).toEqual(['one', 'two'])
    clock.advance(10)
    running[1]?.end({ exitCode: 2, stderr: 'no' })
    await turns()
    clock.advance(5)
    running[0]?.end({})
    expect(await runs).toMatchObject([
      { command: 'one', durationMs: 15, outcome: { kind: 'answered', answer: {} } },
      { command: 'two', durationMs: 10, outcome: { answer: { verdict: { kind: 'deny', reason: 'no' } } } },
    ])
  })

  it('tells of each hook before it runs, when its process is there, and when it ended', async () => {
    const { processes, running, commands } = handDriven()
    const told: string[] = []
    let letGo = (): void => {}
    const held = new Promise<void>((resolve) => {
      letGo = resolve
    })
    const runs = hooksWith(hooksForAll([on('PreToolUse', 'x')], FILE), { processes }).run(
      preToolUse('Bash'),
      request({
        onStarted: ({ mark }) => {
          told.push(`started ${mark}`)
          return held
        },
        onProcess: ({ mark }, { pid }) => void told.push(`process ${mark} ${pid}`),
        onEnded: ({ mark, outcome }) => void told.push(`ended ${mark} ${outcome.kind}`),
      }),
    )
    await turns()
    expect([told, commands()]).toEqual([['started a1/hook:7.0'], []])
    letGo()
    await turns()
    running[0]?.end({})
    await runs
    expect(told).toEqual(['started a1/hook:7.0', 'process a1/hook:7.0 4001', 'ended a1/hook:7.0 answered'])
  })

  it.each(['onStarted', 'onProcess', 'onEnded'] as const)(
    'rejects with what %s threw, and ends the others first',
    async (observer) => {
      const { processes, running } = handDriven()
      const declared = hooksForAll([on('PreToolUse', 'one'), on('PreToolUse', 'two')], FILE)
      const runs = hooksWith(declared, { processes }).run(
        preToolUse('Bash'),
        request({
          [observer]: ({ place }: { readonly place: number }) => {
            if (place === 0) throw new Error('the disk is full')
          },
        }),
      )
      await turns()
      running.find(({ request }) => request.command === 'one')?.end({})
      await expect(runs).rejects.toThrow('the disk is full')
      expect(
        running
          .filter(({ request }) => request.command === 'two')
          .every(({ request }) => request.signal.aborted),
      ).toBe(true)
    },
  )

  it('ends all hooks at an abort, runs no other, and lets no call through', async () => {
    const { processes, commands } = handDriven()
    const controller = new AbortController()
    const many = Array.from({ length: 20 }, (_, i) => on('PreToolUse', `hook ${i}`))
    const hooks = hooksWith(hooksForAll(many, FILE), { processes })
    const runs = hooks.run(preToolUse('Bash'), request({ signal: controller.signal }))
    await turns()
    expect(commands()).toHaveLength(16)
    controller.abort()
    const ended = await runs
    expect(commands()).toHaveLength(16)
    expect(ended.map(({ outcome }) => outcome.kind)).toEqual(Array.from({ length: 20 }, () => 'aborted'))
    expect(combine('PreToolUse', ended).verdict).toBe('ask')
    expect((await hooks.run(preToolUse('Bash'), request({ signal: controller.signal }))).length).toBe(20)
    expect(commands()).toHaveLength(16)
  })

  it('makes a fault of a command that cannot be started', async () => {
    const processes: HookProcesses = { run: () => Promise.reject(new Error('no shell')) }
    const runs = await hooksWith(hooksForAll([on('Stop', 'x')], FILE), { processes }).run(
      hookInput('Stop', { ...COMMON, stop_hook_active: false }),
      request(),
    )
    expect(runs).toMatchObject([
      { outcome: { kind: 'failed', fault: { code: 'hook-not-started', message: 'no shell' } } },
    ])
  })

  it('asks a person where an input cannot even be written down', async () => {
    const input = preToolUse('Bash', { size: 1n })
    const runs = await hooksWith(hooksForAll([on('PreToolUse', '0:')], FILE)).run(input, request())
    expect(runs).toMatchObject([{ outcome: { kind: 'lost' } }])
    expect(combine('PreToolUse', runs).verdict).toBe('ask')
  })
})

describe('a function of the host', () => {
  const runFunction = async (hook: AnyHostHook, more: Partial<HooksOptions> = {}, requested = request()) =>
    (
      await hooksWith([], { functions: [hook], ...more }).run(
        preToolUse('Bash', { command: 'ls' }),
        requested,
      )
    )[0]?.outcome

  it('answers as a command does', async () => {
    const guard = hostHook({
      event: 'PreToolUse',
      matcher: 'Bash',
      run: async ({ tool_input }) => ({
        hookSpecificOutput: {
          permissionDecision: 'deny',
          permissionDecisionReason: JSON.stringify(tool_input),
        },
      }),
    })
    expect(await runFunction(guard)).toEqual({
      kind: 'answered',
      answer: { verdict: { kind: 'deny', reason: '{"command":"ls"}' } },
      problems: [],
    })
    expect(await runFunction(hostHook({ event: 'PreToolUse', run: () => undefined }))).toEqual({
      kind: 'answered',
      answer: {},
      problems: [],
    })
  })

  it('cannot change what other hooks are shown', async () => {
    const input = preToolUse('Bash', { command: 'ls' })
    const vandal = hostHook({
      event: 'PreToolUse',
      run: ({ tool_input }) => void Object.assign(tool_input as object, { command: 'rm' }),
    })
    await hooksWith([], { functions: [vandal] }).run(input, request())
    expect(input).toEqual(preToolUse('Bash', { command: 'ls' }))
  })

  it.each<[string, () => never]>([
    [
      'an error',
      () => {
        throw new Error('broken')
      },
    ],
    [
      'what has no text',
      () => {
        throw {
          toString: () => {
            throw new Error('x')
          },
        }
      },
    ],
  ])('that throws %s is a fault', async (_, run) => {
    expect(await runFunction(hostHook({ event: 'PreToolUse', run }))).toMatchObject({
      kind: 'failed',
      fault: { code: 'hook-threw', message: expect.stringMatching(/\w/) },
    })
  })

  it('is told when its time is over, and is not waited for', async () => {
    const clock = createVirtualClock()
    let signal: AbortSignal | undefined
    const endless = hostHook({
      event: 'PreToolUse',
      timeout: 2,
      run: (_, context) => {
        signal = context.signal
        return new Promise(() => {})
      },
    })
    const outcome = runFunction(endless, { clock })
    await turns()
    clock.advance(1_999)
    expect(signal?.aborted).toBe(false)
    clock.advance(1)
    expect(await outcome).toMatchObject({ kind: 'failed', fault: { code: 'hook-timed-out' } })
    expect(signal?.aborted).toBe(true)
  })

  it('is told of an abort, and may fail after it', async () => {
    const controller = new AbortController()
    const clock = createVirtualClock()
    const sulking = hostHook({
      event: 'PreToolUse',
      run: (_, { signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(new Error('sulking'))),
        ),
    })
    const outcome = runFunction(sulking, { clock }, request({ signal: controller.signal }))
    await turns()
    controller.abort()
    expect(await outcome).toEqual({ kind: 'aborted' })
    expect(clock.pending).toBe(0)
  })
})

describe('a real command', () => {
  it('reads its event and decides', async () => {
    const guard = `grep -q '"command":"rm' && { echo "not that: $TROUPE_PROJECT_DIR" >&2; exit 2; }; exit 0`
    const hooks = createHooks({
      declarations: () => hooksForAll([on('PreToolUse', guard, { matcher: 'Bash' })], FILE),
      projectDir: '/p',
    })
    const cwd = temporaryFolder()
    const decide = async (command: string) =>
      combine('PreToolUse', await hooks.run(preToolUse('Bash', { command }), request({ cwd })))
    expect(await decide('rm -rf /')).toMatchObject({
      verdict: 'deny',
      reasons: [{ text: 'not that: /p', hook: 'PreToolUse hook of /p/.claude/settings.json' }],
    })
    expect((await decide('ls')).verdict).toBe('none')
  })
})
