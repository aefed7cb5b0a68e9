/** The terminal and agents in the background: keys, Ctrl-C, Escape, and what is asked when the person leaves. */
import { afterEach, describe, expect, it } from 'vitest'
import type { Host, StopSignal } from '../../src/cli/host.ts'
import { main } from '../../src/cli/run-cli.ts'
import { systemClock } from '../../src/effects/clock.ts'
import { createManualModel } from '../../src/effects/model/manual.ts'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import { call, callMany, say } from '../../src/effects/model/scripted-reply.ts'
import type { ProcessRequest, ProcessRunner } from '../../src/effects/process/process-runner.ts'
import { standardTools } from '../../src/effects/tools/tool-table.ts'
import type { EngineOptions } from '../../src/engine/api.ts'
import { createEngine } from '../../src/engine/create-engine.ts'
import { createMemoryStorage } from '../../src/journal/memory-storage.ts'
import { countingIds, type Fact, noProcesses, settle } from '../helpers/engine.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { createFakeHost, type FakeHost } from './support/fake-host.ts'
import { createFakeTerminal, soon } from './support/terminal.ts'

const delegate = (name: string, more: object = {}) => ({
  name: 'Agent',
  input: { description: name, prompt: name, subagent_type: 'general-purpose', ...more },
})
const inBackground = { run_in_background: true }

/** A run at a terminal, or elsewhere: the command line and the engine are real, the model and the person are the test's. */
function world(
  line: readonly string[] = ['do it'],
  isTerminal = true,
  more: Pick<EngineOptions, 'processes' | 'tools'> = {},
) {
  const fake: FakeHost = createFakeHost(line, {
    env: { ANTHROPIC_API_KEY: 'k', NO_COLOR: '1' },
    cwd: temporaryFolder(),
  })
  const terminal = createFakeTerminal()
  const manual = createManualModel()
  const listeners = new Set<(signal: StopSignal) => void>()
  const facts: Fact[] = []
  let exited: ((code: number) => void) | undefined
  const exit = new Promise<number>((resolve) => (exited = resolve))
  let stops = 0
  const host: Host = {
    ...fake.host,
    clock: soon,
    ...(isTerminal && { stdin: terminal.stdin }),
    stderr: { ...terminal.output, isTTY: isTerminal },
    onStopSignal: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    stopProcess: () => {
      stops++
      expect(terminal.isRaw).toBe(false)
    },
    exitNow: (code) => exited?.(code),
    createEngine(options) {
      const engine = createEngine({
        ...options,
        model: manual.model,
        ids: countingIds(),
        storage: createMemoryStorage(),
        processes: noProcesses,
        tools: [],
        ...more,
      })
      engine.events$.subscribe((event) => event.kind === 'fact' && facts.push(event))
      return engine
    },
  }
  const code = main(host)
  const askedFor = (words: string) => manual.requests.filter(({ request }) => beginsWith(request, words))
  const typesOf = (): string[] => facts.map(({ event }) => event.type)
  return {
    terminal,
    code,
    exit,
    facts,
    typesOf,
    askedFor,
    get stops() {
      return stops
    },
    signal: (signal: StopSignal) => {
      for (const listener of [...listeners]) listener(signal)
    },
    /** Presses a key, and lets everything happen that it leads to. */
    async press(key: string) {
      terminal.type(key)
      await settle(40)
    },
    /** The next request of somebody whose conversation begins with these words. */
    async requestOf(words: string, index = 0) {
      // Files are read before the first request: no count of turns is enough for that.
      for (const until = systemClock.now() + 5_000; systemClock.now() < until; ) {
        const found = askedFor(words)[index]
        if (found !== undefined) return found
        await settle(1)
      }
      throw new Error(`nobody was asked for "${words}" (${index}); shown:\n${terminal.shown}`)
    },
  }
}

const beginsWith = ({ messages: [first] }: ModelRequest, words: string): boolean =>
  JSON.stringify(first?.content).includes(words)

/** A process that runs until it is told to end. */
function createHeldProcess() {
  let begin: (request: ProcessRequest) => void = () => {}
  const started = new Promise<ProcessRequest>((resolve) => (begin = resolve))
  const processes: ProcessRunner = {
    run: (request) =>
      new Promise((resolve) => {
        const aborted = {
          output: '',
          exitCode: null,
          signal: null,
          ended: 'aborted',
          omittedBytes: 0,
        } as const
        request.signal.addEventListener('abort', () => resolve(aborted))
        request.onStarted?.({ pid: 1, startTime: undefined })
        begin(request)
      }),
    endSurvivors: () => Promise.resolve(0),
  }
  return { processes, started }
}

const worlds: { readonly signal: (signal: StopSignal) => void }[] = []
const open = (...options: Parameters<typeof world>) => {
  const opened = world(...options)
  worlds.push(opened)
  return opened
}
afterEach(() => {
  for (const { signal } of worlds.splice(0)) signal('SIGTERM')
})

describe('ctrl+b', () => {
  it('moves the agents that the main agent waits for, which has the word again at once', async () => {
    const { requestOf, askedFor, press, terminal, code } = open()
    ;(await requestOf('do it')).reply(callMany([delegate('count'), delegate('measure')]))
    const count = await requestOf('count')
    const measure = await requestOf('measure')
    expect(terminal.isRaw).toBe(true)
    await press('\x02')
    const again = await requestOf('do it', 1)
    expect(JSON.stringify(again.request.messages)).toContain('The agent works in the background')
    expect(terminal.shown).toContain('troupe: 2 agents are in the background now')
    expect([count.aborted, measure.aborted]).toEqual([false, false])
    again.reply(say('they are at it'))
    count.reply(say('42'))
    measure.reply(say('7'))
    const told = await requestOf('do it', 2)
    expect(JSON.stringify(told.request.messages)).toContain('task-notification')
    if (!told.ended) told.reply(say('done'))
    await settle(40)
    askedFor('do it')[3]?.reply(say('done'))
    expect(await code).toBe(0)
    expect(terminal.isRaw).toBe(false)
  })

  it('moves the command that the main agent waits for, and the agents with it', async () => {
    const process = createHeldProcess()
    const { requestOf, press, terminal, code } = open(
      ['do it', '--permission-mode', 'bypassPermissions'],
      true,
      {
        processes: process.processes,
        tools: standardTools(),
      },
    )
    const bash = { name: 'Bash', input: { command: 'make' } }
    ;(await requestOf('do it')).reply(callMany([bash, delegate('count')]))
    const started = await process.started
    started.onOutput?.(Buffer.from('half of it\n'))
    // Beside a command nothing else runs: the agent begins behind it.
    await press('\x02')
    expect(terminal.shown).toContain('troupe: 1 command is in the background now')
    const count = await requestOf('count')
    await press('\x02')
    expect(terminal.shown).toContain('troupe: 1 agent is in the background now')
    const again = await requestOf('do it', 1)
    expect(JSON.stringify(again.request.messages)).toMatch(
      /Moved to the background by the user.*bash_.*half of it/,
    )
    expect([started.signal.aborted, count.aborted]).toEqual([false, false])
    count.reply(say('42'))
    again.reply(say('done'))
    const told = await requestOf('do it', 2)
    told.reply(say('done'))
    expect(await code).toBe(0)
    expect(started.signal.aborted).toBe(true)
  })

  it('says so when there is nobody to move', async () => {
    const { requestOf, press, terminal, code } = open()
    const request = await requestOf('do it')
    await press('\x02')
    expect(terminal.shown).toContain('there is no agent and no command that the main agent waits for')
    request.reply(say('done'))
    expect(await code).toBe(0)
  })
})

describe('Escape', () => {
  it('ends the turn, with the agents that it waits for: exit code 130', async () => {
    const { requestOf, press, code, facts, terminal } = open()
    ;(await requestOf('do it')).reply(call('Agent', delegate('count').input))
    const child = await requestOf('count')
    await press('\x1b')
    expect(await code).toBe(130)
    expect(child.aborted).toBe(true)
    expect(facts.flatMap(({ event }) => (event.type === 'agent.ended' ? event.status : []))).toEqual([
      'killed',
      'killed',
    ])
    expect(terminal.shown).toMatch(/troupe: interrupted\n.*; session /)
    expect(terminal.shown).not.toContain('suspended')
  })

  it('spares agents in the background, and asks what becomes of them', async () => {
    const { requestOf, press, code, terminal } = open()
    ;(await requestOf('do it')).reply(call('Agent', delegate('count', inBackground).input))
    const child = await requestOf('count')
    await requestOf('do it', 1)
    await press('\x1b')
    await terminal.until('1 agent is at work in the background')
    await terminal.until('> ')
    expect(terminal.shown).toContain('│ general-purpose (count)')
    expect([child.aborted, terminal.isRaw]).toEqual([false, false])
    terminal.type('w\n')
    await terminal.until('waits for 1 agent')
    child.reply(say('42'))
    expect(await code).toBe(130)
    expect(terminal.shown).toContain('is told with the next prompt: troupe -r ')
  })

  it.each([
    ['k', 'killed'],
    ['s', 'suspended'],
    ['', 'suspended'],
  ])('and the answer %j leaves them %s', async (answer, fate) => {
    const { requestOf, press, code, terminal, typesOf } = open()
    ;(await requestOf('do it')).reply(call('Agent', delegate('count', inBackground).input))
    await requestOf('count')
    await requestOf('do it', 1)
    await press('\x1b')
    await terminal.until('> ')
    terminal.type('what?\n')
    await terminal.until('none of the answers')
    await terminal.until('> ', 2)
    terminal.type(`${answer}\n`)
    expect(await code).toBe(130)
    expect(typesOf().filter((type) => type === 'run.suspended')).toHaveLength(fate === 'suspended' ? 1 : 0)
    expect(terminal.shown.includes('suspended in the background; go on with: troupe -r')).toBe(
      fate === 'suspended',
    )
  })
})

describe('Ctrl-C', () => {
  it.each([
    ['as a key', 'key'],
    ['as a signal', 'signal'],
  ])('suspends at once when nobody is in the background: %s', async (_, how) => {
    const { requestOf, press, signal, code, terminal } = open()
    await requestOf('do it')
    if (how === 'key') await press('\x03')
    else signal('SIGINT')
    expect(await code).toBe(130)
    expect(terminal.shown).toMatch(/troupe: suspended; go on with: troupe -r /)
    expect(terminal.isRaw).toBe(false)
  })

  const withBackground = async () => {
    const opened = open()
    ;(await opened.requestOf('do it')).reply(call('Agent', delegate('count', inBackground).input))
    const child = await opened.requestOf('count')
    const root = await opened.requestOf('do it', 1)
    await opened.press('\x03')
    await opened.terminal.until('> ')
    return { ...opened, child, root }
  }

  it('asks while agents are at work in the background, and everything goes on meanwhile', async () => {
    const { child, root, terminal, code, typesOf } = await withBackground()
    expect([child.aborted, root.aborted]).toEqual([false, false])
    terminal.type('k\n')
    expect(await code).toBe(130)
    expect(typesOf().filter((type) => type === 'agent.ended')).toHaveLength(2)
    expect(typesOf()).not.toContain('run.suspended')
  })

  it('suspends with all of them when it comes again', async () => {
    const { signal, code, typesOf, terminal } = await withBackground()
    signal('SIGINT')
    expect(await code).toBe(130)
    expect(typesOf().filter((type) => type === 'run.suspended')).toHaveLength(2)
    expect(terminal.shown).toMatch(/troupe: suspended; go on with/)
  })

  it('asks once: after «wait» the next one suspends', async () => {
    const { terminal, press, code, root, askedFor } = await withBackground()
    terminal.type('w\n')
    await settle(40)
    expect([root.aborted, terminal.isRaw]).toEqual([false, true])
    root.reply(say('I wait for it'))
    await settle(10)
    await press('\x03')
    expect(await code).toBe(130)
    expect(terminal.shown.split('at work in the background')).toHaveLength(2)
    expect(askedFor('do it')).toHaveLength(2)
  })

  it('ends the process at once when it comes after that', async () => {
    const { signal, exit } = await withBackground()
    signal('SIGINT')
    signal('SIGINT')
    expect(await exit).toBe(130)
  })
})

describe('without a terminal', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)('%s suspends everything, and nothing is asked', async (which) => {
    const { requestOf, signal, code, terminal, typesOf } = open(['-p', 'do it'], false)
    ;(await requestOf('do it')).reply(call('Agent', delegate('count', inBackground).input))
    await requestOf('count')
    await requestOf('do it', 1)
    signal(which)
    expect(await code).toBe(which === 'SIGINT' ? 130 : 143)
    expect(terminal.shown).not.toContain('?')
    expect(typesOf().filter((type) => type === 'run.suspended')).toHaveLength(2)
  })

  it('a main agent that fails leaves no agent untold: what is suspended is said, and the exit code is not 0', async () => {
    const { requestOf, code, terminal } = open(['-p', 'do it'], false)
    ;(await requestOf('do it')).reply(call('Agent', delegate('count', inBackground).input))
    const child = await requestOf('count')
    ;(await requestOf('do it', 1)).fail(new Error('out of order'))
    expect(await code).toBe(1)
    expect([child.aborted, terminal.shown.includes('1 agent is suspended in the background')]).toEqual([
      true,
      true,
    ])
  })
})

describe('the terminal', () => {
  it('is as it was while the process is stopped with Ctrl-Z, and gives keys again afterwards', async () => {
    const opened = open()
    await opened.requestOf('do it')
    await opened.press('\x1a')
    expect([opened.stops, opened.terminal.isRaw]).toEqual([1, true])
  })

  it('is not touched by a process in the background', async () => {
    const { terminal, requestOf, code } = open()
    terminal.takeAway(true)
    ;(await requestOf('do it')).reply(say('done'))
    expect(await code).toBe(0)
    expect(terminal.isRaw).toBe(false)
  })

  it('ends at once with Ctrl-\\', async () => {
    const { requestOf, press, exit } = open()
    await requestOf('do it')
    await press('\x1c')
    expect(await exit).toBe(131)
  })
})
