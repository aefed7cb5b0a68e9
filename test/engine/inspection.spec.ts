import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createWebSocketInspector, type StatelyInspectionEvent } from '@statelyai/inspect'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocketServer } from 'ws'
import type { InspectionEvent } from 'xstate'
import { z } from 'zod'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import { call, callMany, say } from '../../src/effects/model/scripted-reply.ts'
import type { Tool } from '../../src/effects/tools/tool.ts'
import type { Agent } from '../../src/engine/agent.ts'
import type { Inspector } from '../../src/engine/api.ts'
import { createInspection } from '../../src/engine/inspection.ts'
import { RunActor } from '../../src/engine/run-actor.ts'
import { createMemoryStorage } from '../../src/journal/memory-storage.ts'
import type { RunEvent } from '../../src/machines/agent/events.ts'
import { agentMachine } from '../../src/machines/agent/machine.ts'
import type { AgentId } from '../../src/machines/ids.ts'
import { createBell } from '../helpers/bell.ts'
import { settle, testEngine } from '../helpers/engine.ts'
import { lookingTool } from '../helpers/tools.ts'

const SESSION = '11111111-1111-4111-8111-111111111111'

/** A tool that gives others a turn before it answers; with `isQuick` it answers at once. */
const lookTool = (isQuick = false): Tool =>
  lookingTool('Look', z.strictObject({}), async () => {
    if (!isQuick) await settle(1)
    return { content: 'seen' }
  })

/** A parent that looks once and delegates twice; each child looks once. */
function family(request: ModelRequest) {
  if (request.messages.length > 1) return say(request.source === 'main' ? 'all seen' : 'a report')
  if (request.source !== 'main') return call('Look')
  const explore = (description: string) => ({
    name: 'Agent',
    input: { description, prompt: `look at ${description}`, subagent_type: 'Explore' },
  })
  return callMany([{ name: 'Look', input: {} }, explore('names'), explore('tests')])
}

function inspected(inspect: Inspector | undefined, options: Partial<Parameters<typeof testEngine>[1]> = {}) {
  return testEngine(family, { tools: [lookTool()], ...(inspect && { inspect }), ...options })
}

/** Waits until everything that inspectors are told has been told. */
const told = () => settle(50)

/** All states of a value: `running.turn.acting`, `running.placement.foreground`. */
function statesOf(value: unknown, prefix = ''): string[] {
  if (typeof value === 'string') return [`${prefix}${value}`]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => statesOf(inner, `${prefix}${key}.`))
}

const withoutRepeats = (items: readonly string[]) => items.filter((item, i) => item !== items[i - 1])

describe("Stately's inspector over a WebSocket", () => {
  const closing: (() => void)[] = []
  afterEach(() => {
    for (const close of closing.splice(0)) close()
  })

  /** A server as the inspector's page has it, and what it has received. */
  async function inspectorPage() {
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
    const received: StatelyInspectionEvent[] = []
    const bell = createBell()
    closing.push(() => server.close())
    await once(server, 'listening')
    // A server that listens on a port has an address of this kind.
    const { port } = server.address() as AddressInfo
    server.on('connection', (socket) => {
      socket.on('message', (data) => {
        received.push(JSON.parse(String(data)))
        bell.ring()
      })
    })
    const inspector = createWebSocketInspector({ url: `ws://127.0.0.1:${port}`, maxDeferredEvents: 10_000 })
    closing.push(() => inspector.stop())
    await once(server, 'connection')
    return { inspect: inspector.inspect, received, until: bell.until }
  }

  const actorsIn = (received: readonly StatelyInspectionEvent[]) =>
    received.flatMap((event) => (event.type === '@xstate.actor' ? [event] : []))

  const snapshotsOf = (received: readonly StatelyInspectionEvent[], sessionId: string | undefined) =>
    received.flatMap((event) =>
      // Stately's own type for a snapshot knows nothing of the states of a machine.
      event.type === '@xstate.snapshot' && event.sessionId === sessionId
        ? [event.snapshot as { readonly status: string; readonly value?: unknown }]
        : [],
    )

  it('shows one tree, the states of every agent and the calls coming and going', async () => {
    const page = await inspectorPage()
    const { engine } = inspected(page.inspect)
    const { text } = await engine.run('go').result
    expect(text).toBe('all seen')
    const { received } = page
    const root = () => actorsIn(received)[0]
    await page.until(() => snapshotsOf(received, root()?.sessionId).at(-1)?.status === 'done')
    await engine.close()

    const actors = actorsIn(received)
    const named = (name: string) => actors.filter((actor) => actor.name === name)
    const [main, ...others] = named('main')
    expect(others).toEqual([])
    expect([main?.parentId, main?.rootId]).toEqual([undefined, main?.sessionId])

    // One tree: every message has the root's id, every parent was shown before its child.
    expect(new Set(received.map(({ rootId }) => rootId))).toEqual(new Set([main?.sessionId]))
    const shown = new Set<string | undefined>([undefined])
    for (const { sessionId, parentId } of actors) {
      expect(shown).toContain(parentId)
      expect(shown).not.toContain(sessionId)
      shown.add(sessionId)
    }

    // The children are the parent's, and every effect is under its agent.
    const children = [...named('Explore: names'), ...named('Explore: tests')]
    expect(children.map(({ parentId }) => parentId)).toEqual([main?.sessionId, main?.sessionId])
    const effectsOf = (agent: string | undefined) =>
      actors
        .filter(({ parentId, name }) => parentId === agent && !name.startsWith('Explore'))
        .map(({ name }) => name)
    expect(effectsOf(main?.sessionId)).toEqual([
      'prepare',
      'requestModel',
      expect.stringMatching(/^Look 1\.\d+\.0$/),
      expect.stringMatching(/^Agent 1\.\d+\.0$/),
      expect.stringMatching(/^Agent 1\.\d+\.0$/),
      'requestModel',
      'drain',
    ])
    for (const { sessionId } of children) {
      expect(effectsOf(sessionId)).toEqual([
        'prepare',
        'requestModel',
        expect.stringMatching(/^Look /),
        'requestModel',
        'drain',
      ])
    }

    for (const agent of [main, ...children]) {
      const states = snapshotsOf(received, agent?.sessionId).map(
        ({ value }) => statesOf(value).find((state) => !state.includes('placement')) ?? '',
      )
      expect(withoutRepeats(states)).toEqual([
        'resolving.awaitingPrompt',
        'resolving.preparing',
        'running.turn.requesting',
        'running.turn.acting',
        'running.turn.requesting',
        'settling.draining',
        'completed',
      ])
      // What an actor is when it is shown is what it was then, not what it has become since.
      expect(agent?.snapshot).toMatchObject({ status: 'active', value: { resolving: 'awaitingPrompt' } })
    }

    const calls = actors.filter(({ name }) => /^(Look|Agent) /.test(name))
    expect(calls).toHaveLength(5)
    for (const { sessionId } of calls) {
      expect(snapshotsOf(received, sessionId).map(({ status }) => status)).toEqual(['active', 'stopped'])
    }
  })
})

describe('an inspector', () => {
  it.each<[string, Inspector]>([
    [
      'throws on every event',
      () => {
        throw new Error('inspector out of order')
      },
    ],
    ['rejects on every event', () => Promise.reject(new Error('inspector out of order'))],
    [
      'is an observer that throws',
      {
        next: () => {
          throw new Error('inspector out of order')
        },
      },
    ],
    [
      'drives the actors that it is shown',
      ({ actorRef }) => {
        expect(() => actorRef.send({ type: 'kill.requested', by: 'inspector' })).toThrow('not driven')
        expect(() => 'stop' in actorRef && typeof actorRef.stop === 'function' && actorRef.stop()).toThrow(
          'not driven',
        )
        throw new Error('inspector out of order')
      },
    ],
  ])('that %s leaves results, facts and logs as they are, and is told of once', async (_, inspect) => {
    const plain = await outcomeOf(undefined)
    const { diagnostics, ...outcome } = await outcomeOf(inspect)
    expect(outcome).toEqual({ ...plain, diagnostics: undefined } satisfies object)
    expect(diagnostics).toEqual([
      {
        kind: 'diagnostic',
        code: 'inspector-failed',
        message: expect.stringContaining('inspector out of order'),
      },
    ])
  })

  it('that blocks for 50 ms on each event leaves results, facts and logs as they are, and nobody waits for it', async () => {
    const plain = await outcomeOf(undefined)
    let events = 0
    let whenDone: number | undefined
    const outcome = await outcomeOf(
      () => {
        events += 1
        if (whenDone === undefined) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50)
      },
      () => {
        whenDone = events
      },
    )
    expect(outcome).toEqual(plain)
    expect(whenDone).toBeLessThan(events / 2)
  })

  it('that is flooded loses what does not fit, which is said, and leaves results, facts and logs as they are', async () => {
    // A run that never waits for anything: all its events come before the inspector has its first turn.
    const chatty = (inspect: Inspector | undefined) =>
      outcomeOf(inspect, undefined, {
        script: ({ messages }) => (messages.length < 2 * 530 ? call('Look') : say('enough')),
        tools: [lookTool(true)],
      })
    const plain = await chatty(undefined)
    let events = 0
    const { diagnostics, ...flooded } = await chatty(() => {
      events += 1
    })
    expect({ ...flooded, diagnostics: [] }).toEqual(plain)
    expect(events).toBe(10_000)
    expect(diagnostics).toMatchObject([
      { code: 'inspector-slow', message: expect.stringMatching(/^\d+ inspection events were dropped/) },
    ])
  })

  it('gets as many events as may wait for it, the first of them, and the number of the others', async () => {
    const all = await toldOf(agentLike, 1_000)
    const few = await toldOf(agentLike, 3)
    expect(all.reports).toEqual([])
    expect(few.types).toEqual(all.types.slice(0, 3))
    expect(few.reports).toEqual([
      `inspector-slow: ${all.types.length - 3} inspection events were dropped: 3 were waiting for the inspector; no agent is touched`,
    ])
  })

  it('that cannot even be asked, because we have a bug, is told of once and leaves the agent as it is', async () => {
    const { reports, types, value } = await toldOf({} as Agent, 1_000)
    expect(types).toEqual([])
    expect(reports).toEqual([expect.stringMatching(/^inspector-failed: /)])
    expect(value).toEqual({ settling: 'draining' })
  })

  // Only its name and its session are looked at.
  const agentLike = {
    birth: { plan: { agentType: 'main' } },
    runNumber: 1,
    session: { inspectionRootId: 'x' },
  } as unknown as Agent

  /** What is told of a run that is killed before it begins. */
  async function toldOf(agent: Agent, maxWaiting: number) {
    const reports: string[] = []
    const types: string[] = []
    const inspect = createInspection(
      ({ type }) => void types.push(type),
      (code, message) => void reports.push(`${code}: ${message}`),
      maxWaiting,
    )
    const run = { agentId: 'a0123456789abcdef' as AgentId, run: 1 }
    const actor = RunActor.begin(agentMachine, run, () => {}, inspect(agent))
    actor.start()
    const kill: RunEvent = { type: 'kill.requested', by: 'test' }
    actor.stage(kill)
    actor.apply(kill)
    await told()
    return { reports, types, value: actor.snapshot.value }
  }

  /** Everything that an inspector must not change, and what was said about it. */
  async function outcomeOf(
    inspect: Inspector | undefined,
    onResult?: () => void,
    { script, tools }: { readonly script?: typeof family; readonly tools?: readonly Tool[] } = {},
  ) {
    const { engine, facts, events, storage } = testEngine(script ?? family, {
      tools: tools ?? [lookTool()],
      ...(inspect && { inspect }),
    })
    const result = await engine.run('go', { sessionId: SESSION }).result
    onResult?.()
    await told()
    await engine.close()
    return {
      result,
      facts: [...facts],
      files: [...storage.files],
      diagnostics: events.filter(({ kind }) => kind === 'diagnostic'),
    }
  }
})

describe('what an inspector is told', () => {
  /** Collects inspection events in the words of this test. */
  function collector() {
    const events: InspectionEvent[] = []
    const actors = () =>
      events.filter(({ type }) => type === '@xstate.actor').map(({ actorRef }) => nameOf(actorRef))
    return { inspect: (event: InspectionEvent) => void events.push(event), events, actors }
  }
  const nameOf = (ref: object) => ('id' in ref ? String(ref.id) : '')
  const rootsOf = (events: readonly InspectionEvent[]) => new Set(events.map(({ rootId }) => rootId))

  it('has one root id for all runs of a session, and another for another session', async () => {
    const { inspect, events, actors } = collector()
    const { engine } = inspected(inspect)
    const { sessionId } = await engine.run('one').result
    await engine.run('two', { sessionId }).result
    await told()
    expect(actors().filter((name) => name.startsWith('main'))).toEqual(['main', 'main (run 2)'])
    expect(rootsOf(events)).toEqual(new Set([events[0]?.actorRef.sessionId]))
    await engine.run('another').result
    await told()
    expect(rootsOf(events).size).toBe(2)
    await engine.close()
  })

  it('is what happened: an event that could not be written shows nothing', async () => {
    const { inspect, events, actors } = collector()
    const { engine, storage } = testEngine(
      () => {
        storage.failNextAppend('full')
        return call('Look')
      },
      { tools: [lookTool()], inspect },
    )
    await expect(engine.run('go').result).rejects.toMatchObject({ code: 'journal-full' })
    await told()
    await engine.close()
    expect(actors()).toEqual(['main', 'prepare', 'requestModel'])
    expect(events.some((event) => 'event' in event && event.event.type === 'reply.received')).toBe(false)
  })

  it('is the tree that goes on, after a crash: each unfinished run once, below its parent', async () => {
    let hold = true
    const script = (request: ModelRequest) => {
      if (hold && request.source !== 'main') return new Promise<never>(() => {})
      return family(request)
    }
    const storage = createMemoryStorage()
    const before = testEngine(script, { tools: [lookTool()], storage })
    void before.engine.run('go', { sessionId: SESSION }).result.catch(() => {})
    await settle(20)
    hold = false

    const { inspect, events, actors } = collector()
    const after = testEngine(script, {
      tools: [lookTool()],
      storage: storage.crash(),
      inspect,
      idsFrom: 1_000,
    })
    const run = await after.engine.resume(SESSION)
    expect(await run?.result).toMatchObject({ status: 'completed', text: 'all seen' })
    await told()
    await after.engine.close()
    const agents = actors().filter((name) => /^(main|Explore)/.test(name))
    expect(agents).toEqual(['main', 'Explore: names', 'Explore: tests'])
    expect(rootsOf(events)).toEqual(new Set([events[0]?.actorRef.sessionId]))
  })
})
