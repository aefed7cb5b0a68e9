/** Agents whose log cannot be written: they have no end, and give their places back all the same. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import type { ScriptedCall, ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { callMany, say } from '../../src/effects/model/scripted-reply.ts'
import type { MemoryStorage } from '../../src/journal/memory-storage.ts'
import { createMemoryStorage } from '../../src/journal/memory-storage.ts'
import { StorageError } from '../../src/journal/storage.ts'
import { Doors } from '../helpers/doors.ts'
import type { TestEngine } from '../helpers/engine.ts'
import { settle, testEngine } from '../helpers/engine.ts'
import { agentKind, turnOf } from '../helpers/scripts.ts'
import { lookingTool } from '../helpers/tools.ts'

const pass = (door: string) => ({ name: 'Pass', input: { door } })
const agent = (name: string, background = false) => ({
  name: 'Agent',
  input: { description: name, prompt: `I am ${name}`, run_in_background: background },
})
const whoOf = (request: ModelRequest): string =>
  request.source === 'main'
    ? 'root'
    : (/I am ([\w-]+)/.exec(JSON.stringify(request.messages[0]?.content))?.[1] ?? 'nobody')

type Play = Readonly<Record<string, readonly (ScriptedReply | ((request: ModelRequest) => ScriptedReply))[]>>

/** An engine in which at most four agents are alive, on a disk that has no room for one file when a test says so. */
function engineOf(play: Play, doors: Doors) {
  const memory = createMemoryStorage()
  let full = ''
  const storage: MemoryStorage = {
    ...memory,
    append: (batch) => {
      if (full !== '' && batch.some(({ path }) => path.endsWith(full)))
        throw new StorageError('full', full, 'no space is left')
      return memory.append(batch)
    },
  }
  const script = (request: ModelRequest): ScriptedReply => {
    const lines = play[whoOf(request)] ?? [say(`${whoOf(request)} is done`)]
    const line = lines[turnOf(request)] ?? lines.at(-1) ?? say('nothing')
    return typeof line === 'function' ? line(request) : line
  }
  const test = testEngine(script, {
    storage,
    tools: [doors.tool, slowTool(doors)],
    features: { nesting: true },
    limits: { liveAgents: 4 },
    definitions: [agentKind('general-purpose')],
  })
  const idOf = (name: string): string =>
    test.engine.agents.find(({ description }) => description === name)?.agentId ?? ''
  const fill = (name: string): void => {
    full = `agent-${idOf(name)}.jsonl`
  }
  return { ...test, idOf, fill }
}

/** Hears its signal, and takes until a door is open to come to its end. */
const slowTool = (doors: Doors) =>
  lookingTool('Slow', z.strictObject({ door: z.string() }), async ({ door }, { signal }) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    await doors.wait(door)
    return { content: 'too late' }
  })

const alive = ({ engine }: Pick<TestEngine, 'engine'>): readonly string[] =>
  engine.agents.map(({ description }) => description).toSorted()
const answers = ({ facts }: Pick<TestEngine, 'facts'>, agentId: string): readonly string[] =>
  facts.flatMap(({ agentId: of, event }) =>
    of === agentId && event.type === 'call.ended' ? [`${event.outcome} ${JSON.stringify(event.result)}`] : [],
  )

describe('an agent that is waited for and whose log cannot be written', () => {
  it('gives its place back: as many further agents as the limit allows can be started', async () => {
    const doors = new Doors()
    const three = ['x', 'y', 'z'].map((name) => agent(name, true))
    const test = engineOf(
      {
        root: [callMany([agent('a')]), callMany(three), say('the end')],
        a: [callMany([agent('of-a')]), say('report of a')],
        'of-a': [callMany([pass('of-a')]), say('report of it')],
      },
      doors,
    )
    const run = test.engine.run('go')
    await settle(40)
    const root = test.idOf('main agent')
    test.fill('of-a')
    doors.open('of-a')
    expect(await run.result).toMatchObject({ status: 'completed', text: 'the end' })
    const [first, ...others] = answers(test, root)
    expect(first).toContain('could not be written')
    expect(others.map((text) => text.split(' ')[0])).toEqual(['ok', 'ok', 'ok'])
    expect(alive(test)).toEqual(['main agent'])
    await test.engine.close()
  })

  it('keeps it while anything of it runs, and so long its parent does not end either', async () => {
    const doors = new Doors()
    const test = engineOf(
      {
        root: [callMany([agent('a')]), say('the end')],
        a: [callMany([agent('of-a')]), say('report of a')],
        'of-a': [callMany([{ name: 'Slow', input: { door: 'slow' } }, pass('of-a')]), say('report of it')],
      },
      doors,
    )
    const run = test.engine.run('go')
    await settle(40)
    test.fill('of-a')
    doors.open('of-a')
    await settle(40)
    expect(alive(test)).toEqual(['a', 'main agent', 'of-a'])
    expect(test.facts.filter(({ event }) => event.type === 'agent.ended')).toEqual([])
    doors.open('slow')
    expect((await run.result).status).toBe('completed')
    expect(alive(test)).toEqual(['main agent'])
    await test.engine.close()
  })

  it('takes along what it has in the background, whose ends nobody could be told', async () => {
    const doors = new Doors()
    const test = engineOf(
      {
        root: [callMany([agent('a')]), say('the end')],
        a: [callMany([agent('of-a')]), say('report of a')],
        'of-a': [callMany([agent('below', true)]), callMany([pass('of-a')]), say('report of it')],
        below: [callMany([pass('never')]), say('x')],
      },
      doors,
    )
    const run = test.engine.run('go')
    await settle(60)
    const below = test.idOf('below')
    test.fill('of-a')
    doors.open('of-a')
    expect((await run.result).status).toBe('completed')
    const end = test.facts.find(({ agentId, event }) => agentId === below && event.type === 'agent.ended')
    expect(end?.event).toMatchObject({ status: 'killed' })
    expect(alive(test)).toEqual(['main agent'])
    await test.engine.close()
  })
})

describe('an agent in the background whose log cannot be written', () => {
  const play = (look: (id: string) => ScriptedCall): Play => ({
    root: [
      callMany([agent('a', true)]),
      ({ messages }) =>
        callMany([look(/agentId: (a[0-9a-f]{16})/.exec(JSON.stringify(messages))?.[1] ?? '')]),
      say('the end'),
    ],
    a: [callMany([pass('a')]), say('report of a')],
  })

  it.each([
    ['waits for its result', (id: string): ScriptedCall => ({ name: 'TaskOutput', input: { task_id: id } })],
    ['stops it', (id: string): ScriptedCall => ({ name: 'TaskStop', input: { task_id: id } })],
  ])('costs whoever %s nothing but that call, and its end is told as lost', async (_, look) => {
    const doors = new Doors()
    const test = engineOf(play(look), doors)
    let isFull = false
    test.engine.events$.subscribe((event) => {
      // In the middle of the call.
      if (event.kind !== 'fact' || event.event.type !== 'reply.received' || isFull) return
      if (test.facts.filter((fact) => fact.event.type === 'reply.received').length < 3) return
      isFull = true
      test.fill('a')
      setImmediate(() => doors.open('a'))
    })
    const run = test.engine.run('go')
    await settle(60)
    const result = await run.result
    expect(result).toMatchObject({ status: 'completed', text: 'the end' })
    const [, second] = answers(test, test.idOf('main agent'))
    expect(second).toMatch(/^error .*is lost: .*could not be written/)
    const told = test.facts.flatMap(({ event }) =>
      event.type === 'message.added' && event.tells !== undefined ? event.tells : [],
    )
    // With what it has cost.
    expect(told).toMatchObject([{ isLost: true, modelUsage: expect.any(Object) }])
    expect(alive(test)).toEqual(['main agent'])
    await test.engine.close()
  })
})
