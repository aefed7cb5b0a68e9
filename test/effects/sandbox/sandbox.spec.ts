/** What is asked of the package, with a hand-made one in its place. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { describe, expect, it, vi } from 'vitest'
import type { SandboxPlan } from '../../../src/definitions/sandbox/options.ts'
import type { ProcessRequest, ProcessRunner } from '../../../src/effects/process/process-runner.ts'
import { sandboxedRunner } from '../../../src/effects/process/sandboxed-runner.ts'
import { createSandbox } from '../../../src/effects/sandbox/sandbox.ts'
import { loadSandboxManager, type SandboxManager } from '../../../src/effects/sandbox/sandbox-manager.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'

const PLAN: SandboxPlan = {
  wantedBy: ['/etc/settings.json'],
  allowedDomains: ['a.org'],
  deniedDomains: ['b.a.org'],
  allowWrite: ['/allowed'],
  denyWrite: ['/denied'],
  denyRead: ['/unread'],
}

/** A manager that writes down what it is asked for. */
function fakeManager(over: Partial<SandboxManager> = {}) {
  const asked: unknown[] = []
  let port: number | undefined
  const manager: SandboxManager = {
    isSupportedPlatform: () => true,
    checkDependencies: () => ({ errors: [], warnings: [] }),
    initialize: async ({ network, filesystem }) => {
      asked.push(['initialize', network, filesystem])
      port = 1
    },
    wrapWithSandbox: async (command, _shell, { filesystem }) => {
      asked.push(['wrap', command.replace(/'.*?'/u, 'TEMP'), filesystem])
      return `boxed ${command}`
    },
    annotateStderrWithSandboxFailures: (_id, text) => `${text}!`,
    cleanupAfterCommand: () => void asked.push(['cleanup']),
    getProxyPort: () => port,
    reset: async () => {
      asked.push(['reset'])
      port = undefined
    },
    updateConfig: () => {},
    ...over,
  }
  return { asked, manager, names: () => asked.map((each) => Object(each)[0]) }
}

const boxOf = (manager: SandboxManager, plan = PLAN, warn: (message: string) => void = () => {}) =>
  createSandbox({
    ...{ plan, records: ['/logs'], warn, load: async () => manager },
    trial: async () => undefined,
  })

/** A runner that runs nothing. */
function fakeRunner(run: ProcessRunner['run'] = async () => OUTCOME) {
  const requests: ProcessRequest[] = []
  const runner: ProcessRunner = {
    run: (request) => {
      requests.push(request)
      return run(request)
    },
    endSurvivors: async () => 7,
  }
  return { requests, runner }
}
const OUTCOME = { output: 'out', exitCode: 0, signal: null, ended: 'exit', omittedBytes: 0 } as const

const request = (command: string): ProcessRequest => ({
  ...{ command, cwd: '/', mark: 'a/b', timeoutMs: 1, maxOutputBytes: 1, env: { A: '1' } },
  signal: new AbortController().signal,
})

describe('a command of an agent', () => {
  it('is run inside, with bounds made of where its agent works, not of where it asks to be run', async () => {
    const { asked, manager } = fakeManager()
    const { requests, runner } = fakeRunner()
    const [one, two] = [temporaryFolder(), temporaryFolder()]
    const sandbox = boxOf(manager)
    for (const [cwd, writableRoots] of [[one, [two]] as const, [two, []] as const])
      expect(await sandboxedRunner(runner, sandbox, { cwd, writableRoots }).run(request('echo'))).toEqual({
        ...OUTCOME,
        output: 'out!',
      })
    const writable = (roots: readonly string[]) =>
      expect.objectContaining({
        allowWrite: [...roots, '/allowed', expect.stringContaining('troupe-sandbox-')],
        denyRead: ['/unread'],
      })
    expect(asked).toEqual([
      [
        'initialize',
        { allowedDomains: ['a.org'], deniedDomains: ['b.a.org'] },
        { allowWrite: [], denyWrite: [], denyRead: [] },
      ],
      ['wrap', 'export TMPDIR=TEMP; echo', writable([one, two])],
      ['cleanup'],
      ['wrap', 'export TMPDIR=TEMP; echo', writable([two])],
      ['cleanup'],
    ])
    expect(requests[0]?.command).toMatch(/^boxed export TMPDIR='[^']+'; echo$/u)
    expect(requests[0]).toMatchObject({
      cwd: '/',
      mark: 'a/b',
      env: { A: '1', TROUPE_BOX: expect.any(String) },
    })
    await sandbox.close()
  })

  it('is not run at all where it cannot be put inside', async () => {
    const { manager } = fakeManager({ wrapWithSandbox: () => Promise.reject(new Error('no room')) })
    const { requests, runner } = fakeRunner()
    const sandbox = boxOf(manager)
    const place = { cwd: temporaryFolder(), writableRoots: [] }
    await expect(sandboxedRunner(runner, sandbox, place).run(request('echo'))).rejects.toThrow('no room')
    expect(requests).toEqual([])
    await sandbox.close()
    await expect(sandboxedRunner(runner, sandbox, place).run(request('echo'))).rejects.toThrow('closed')
    expect(requests).toEqual([])
  })

  it('is cleaned up after once, also when it could not be started', async () => {
    const { manager, names } = fakeManager()
    const sandbox = boxOf(manager)
    const { runner } = fakeRunner(() => Promise.reject(new Error('no shell')))
    const boxed = sandboxedRunner(runner, sandbox, { cwd: temporaryFolder(), writableRoots: [] })
    await expect(boxed.run(request('echo'))).rejects.toThrow('no shell')
    expect(names()).toEqual(['initialize', 'wrap', 'cleanup'])
    await sandbox.close()
  })

  it.skipIf(process.platform !== 'linux')(
    'has ended when nothing of it runs inside, and not before',
    async () => {
      const { manager, names } = fakeManager()
      const sandbox = boxOf(manager)
      let left: ChildProcess | undefined
      const { runner } = fakeRunner(async ({ env }) => {
        left = spawn('sleep', ['30'], { env: { ...process.env, ...env }, stdio: 'ignore' })
        await new Promise((resolve) => left?.once('spawn', resolve))
        return OUTCOME
      })
      const boxed = sandboxedRunner(runner, sandbox, { cwd: temporaryFolder(), writableRoots: [] })
      let hasEnded = false
      const running = boxed.run(request('echo')).then(() => {
        hasEnded = true
      })
      await vi.waitFor(() => expect(left?.pid).toBeDefined())
      await new Promise((resolve) => setTimeout(resolve, 100))
      expect([hasEnded, names()]).toEqual([false, ['initialize', 'wrap']])
      left?.kill('SIGKILL')
      await running
      expect(names()).toEqual(['initialize', 'wrap', 'cleanup'])
      await sandbox.close()
    },
  )

  it('survives like any other: the runner that is inside ends it', async () => {
    const boxed = sandboxedRunner(fakeRunner().runner, boxOf(fakeManager().manager), {
      cwd: '/',
      writableRoots: [],
    })
    expect(await boxed.endSurvivors([], [])).toBe(7)
  })
})

describe('a sandbox that somebody wants', () => {
  const refusing = (over: Partial<SandboxManager>) => boxOf(fakeManager(over).manager).open()

  it('is refused where the system has it all and forbids what it does', async () => {
    const { manager, names } = fakeManager()
    const sandbox = createSandbox({
      ...{ plan: PLAN, records: [], warn: () => {}, load: async () => manager },
      trial: async () => 'bwrap: No permissions to create new namespace',
    })
    await expect(sandbox.open()).rejects.toMatchObject({
      code: 'sandbox-unsupported',
      message: expect.stringContaining('No permissions to create new namespace'),
    })
    expect(names()).toEqual(['initialize', 'reset'])
  })

  it('says how to install it where it is not installed', async () => {
    const missing = Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })
    const sandbox = createSandbox({
      ...{ plan: PLAN, records: [], warn: () => {} },
      load: () => loadSandboxManager(() => Promise.reject(missing)),
    })
    await expect(sandbox.open()).rejects.toMatchObject({
      code: 'sandbox-missing',
      message: expect.stringMatching(/\/etc\/settings\.json.*npm install @anthropic-ai\/sandbox-runtime/u),
    })
  })

  it('is refused where the package cannot be loaded, or is another than the known one', async () => {
    const load = (result: unknown) => loadSandboxManager(async () => Object(await result))
    await expect(load(Promise.reject(new Error('no such syntax')))).rejects.toMatchObject({
      code: 'sandbox-unsupported',
    })
    const { reset: _, ...other } = fakeManager().manager
    await expect(load({ SandboxManager: other })).rejects.toThrow('has no reset')
  })

  it('is refused where the system has none, or lacks what it needs', async () => {
    await expect(refusing({ isSupportedPlatform: () => false })).rejects.toMatchObject({
      code: 'sandbox-unsupported',
    })
    const checkDependencies = () => ({ errors: ['bubblewrap not found'], warnings: [] })
    await expect(refusing({ checkDependencies })).rejects.toThrow('bubblewrap not found')
    const initialize = () => Promise.reject(new Error('no proxy'))
    await expect(refusing({ initialize })).rejects.toMatchObject({ code: 'sandbox-unsupported' })
  })

  it('is refused where a file that wants it cannot be read, before anything is loaded', async () => {
    const { manager, names } = fakeManager()
    const sandbox = boxOf(manager, { ...PLAN, problem: '"sandbox.enabled" cannot be read' })
    await expect(sandbox.open()).rejects.toMatchObject({ code: 'sandbox-unreadable' })
    expect(names()).toEqual([])
  })

  it('is tried again after a failure', async () => {
    let isThere = false
    const { manager } = fakeManager({ isSupportedPlatform: () => isThere })
    const sandbox = boxOf(manager)
    await expect(sandbox.open()).rejects.toThrow()
    isThere = true
    await sandbox.open()
    await sandbox.close()
  })

  it('says what protects less', async () => {
    const told: string[] = []
    const checkDependencies = () => ({ errors: [], warnings: ['no filter for sockets'] })
    const sandbox = boxOf(fakeManager({ checkDependencies }).manager, PLAN, (message) => told.push(message))
    await sandbox.open()
    expect(told).toEqual([expect.stringContaining('no filter for sockets')])
    await sandbox.close()
  })
})

describe('the one sandbox of a process', () => {
  it('is shared by engines with the same network, and ended with the last of them', async () => {
    const { manager, names } = fakeManager()
    const [a, b] = [boxOf(manager), boxOf(manager, { ...PLAN, denyRead: [] })]
    await Promise.all([a.open(), b.open()])
    await a.close()
    await a.close()
    expect(names()).toEqual(['initialize'])
    await b.close()
    expect(names()).toEqual(['initialize', 'reset'])
    const c = boxOf(manager, { ...PLAN, allowedDomains: [] })
    await c.open()
    await c.close()
    expect(names()).toEqual(['initialize', 'reset', 'initialize', 'reset'])
  })

  it('is refused to an engine with another network', async () => {
    const { manager, names } = fakeManager()
    const [a, b] = [boxOf(manager), boxOf(manager, { ...PLAN, deniedDomains: [] })]
    await a.open()
    await expect(b.open()).rejects.toMatchObject({ code: 'sandbox-taken' })
    await b.close()
    expect(names()).toEqual(['initialize'])
    await a.close()
    await b.open().catch((error: unknown) => expect(String(error)).toContain('closed'))
  })

  it('is refused where somebody else has it at work', async () => {
    const { manager, names } = fakeManager({ getProxyPort: () => 80 })
    await expect(boxOf(manager).open()).rejects.toMatchObject({ code: 'sandbox-taken' })
    expect(names()).toEqual([])
  })

  it('is not started again before it has ended', async () => {
    let end = (): void => {}
    const { manager, names } = fakeManager({ reset: () => new Promise((resolve) => (end = resolve)) })
    const [a, b] = [boxOf(manager), boxOf(manager, { ...PLAN, allowedDomains: [] })]
    await a.open()
    const closing = a.close()
    await Promise.resolve()
    const opening = b.open()
    await new Promise(setImmediate)
    expect(names()).toEqual(['initialize'])
    Object.assign(manager, { getProxyPort: () => undefined })
    end()
    await Promise.all([closing, opening])
    expect(names()).toEqual(['initialize', 'initialize'])
    const last = b.close()
    await new Promise(setImmediate)
    end()
    await last
  })

  it('leaves no listener and no temporary file, and none of the package that would keep a signal from ending us', async () => {
    const initialize = async (): Promise<void> => {
      process.once('SIGTERM', () => String('Cleanup failed in registerCleanup'))
    }
    const counts = () => [process.listenerCount('SIGTERM'), process.listenerCount('SIGINT')]
    const before = counts()
    let temp = ''
    const { manager } = fakeManager({
      initialize,
      wrapWithSandbox: async (command) => {
        temp = /'(.*?)'/u.exec(command)?.[1] ?? ''
        return command
      },
    })
    const sandbox = boxOf(manager)
    await sandbox.open()
    expect(counts()).toEqual(before.map((count) => count + 1))
    await sandbox.box('true', { cwd: '/', writableRoots: [] }, new AbortController().signal)
    expect(existsSync(temp)).toBe(true)
    await sandbox.close()
    expect(counts()).toEqual(before)
    expect(existsSync(temp)).toBe(false)
  })
})
