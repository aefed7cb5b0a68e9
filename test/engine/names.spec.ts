/** Names of agents: given with the call, held by the living, found again after a restart; and messages to everybody. */
import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import type { ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { callMany, say } from '../../src/effects/model/scripted-reply.ts'
import type { EngineOptions } from '../../src/engine/api.ts'
import type { MemoryStorage } from '../../src/journal/memory-storage.ts'
import { createMemoryStorage } from '../../src/journal/memory-storage.ts'
import type { AgentEvent, AgentEventOf } from '../../src/machines/agent/events.ts'
import { Doors } from '../helpers/doors.ts'
import type { TestEngine } from '../helpers/engine.ts'
import { settle, testEngine } from '../helpers/engine.ts'
import { turnOf } from '../helpers/scripts.ts'

const SESSION = '66666666-6666-4666-8666-666666666666'

/** Starts an agent that passes a door and reports. */
const start = (
  door: string,
  more: { readonly name?: string; readonly run_in_background?: boolean } = {},
) => ({
  name: 'Agent',
  input: { description: `look at ${door}`, prompt: door, run_in_background: true, ...more },
})
const send = (to: string, message: string) => ({ name: 'SendMessage', input: { to, message } })

type Calls = Parameters<typeof callMany>[0]

interface Options extends Partial<EngineOptions> {
  readonly storage?: MemoryStorage
  readonly idsFrom?: number
}

/** The root makes these calls, turn after turn, and then says that it is done. */
function engineOf(doors: Doors, turns: readonly Calls[], more: Options = {}): TestEngine {
  const script = (request: ModelRequest): ScriptedReply => {
    const turn = turnOf(request)
    if (request.source === 'main') {
      const calls = turns[turn]
      return calls === undefined ? say('done') : callMany(calls)
    }
    const door = /door-\w+/.exec(JSON.stringify(request.messages[0]?.content))?.[0] ?? 'door-none'
    return turn === 0 ? callMany([{ name: 'Pass', input: { door } }]) : say(`report of ${door}`)
  }
  return testEngine(script, { tools: [doors.tool], features: { names: true }, ...more })
}

function factsOf<T extends AgentEvent['type']>({ facts }: TestEngine, type: T): AgentEventOf<T>[] {
  return facts.flatMap(({ event }) => (event.type === type ? [event as AgentEventOf<T>] : []))
}

const begin = ({ engine }: TestEngine) => engine.run('go', { sessionId: SESSION })
const rest = () => settle(60)

const childrenOf = (test: TestEngine): string[] =>
  factsOf(test, 'agent.spawned').flatMap(({ parent, agentId }) => (parent === undefined ? [] : [agentId]))

const refusalsOf = (test: TestEngine): string[] =>
  factsOf(test, 'call.ended')
    .filter(({ outcome }) => outcome === 'error')
    .map(({ result }) => JSON.stringify(result.content))

const readersOf = ({ facts }: TestEngine): string[] =>
  facts.flatMap(({ agentId, event }) => (event.type === 'message.accepted' ? [agentId] : []))

function openDoors(...names: readonly string[]): Doors {
  const doors = new Doors()
  for (const name of names) doors.open(name)
  return doors
}

describe('a name', () => {
  it('stands in the log of the root before its agent is in any, and is where messages go', async () => {
    const doors = new Doors()
    const test = engineOf(doors, [[start('door-a', { name: 'ada' })], [send('ada', 'look at b, too')]])
    const run = begin(test)
    await rest()
    const [ada] = childrenOf(test)
    const order = test.facts.map(({ event }) => event.type)
    expect(order.indexOf('name.registered')).toBeLessThan(order.indexOf('call.started'))
    expect(test.facts.find(({ event }) => event.type === 'name.registered')).toMatchObject({
      agentId: await run.started,
      event: { name: 'ada', agentId: ada },
    })
    expect(readersOf(test)).toEqual([ada])
    expect(test.engine.agents.find(({ agentId }) => agentId === ada)?.name).toBe('ada')
    doors.open('door-a')
    await run.result
    await test.engine.close()
  })

  it('of an agent that lives is refused with who has it, and the call makes nothing', async () => {
    const doors = new Doors()
    const test = engineOf(doors, [[start('door-a', { name: 'ada' }), start('door-b', { name: 'ada' })]])
    const run = begin(test)
    await rest()
    const [ada, ...others] = childrenOf(test)
    expect(others).toEqual([])
    expect(refusalsOf(test)).toEqual([expect.stringContaining(`is that of agent ${ada}`)])
    expect(test.engine.agents).toHaveLength(2)
    doors.open('door-a')
    await run.result
    await test.engine.close()
  })

  it('of an agent that has ended goes to the next who asks; the first keeps its id', async () => {
    const doors = openDoors('door-a', 'door-b')
    const inForeground = { name: 'ada', run_in_background: false }
    const test = engineOf(doors, [
      [start('door-a', inForeground)],
      [start('door-b', inForeground)],
      [send('ada', 'go on')],
    ])
    await begin(test).result
    const [first, second] = childrenOf(test)
    expect(factsOf(test, 'name.registered').map(({ agentId }) => agentId)).toEqual([first, second])
    const again = test.facts.filter(({ event }) => event.type === 'run.started' && event.run === 2)
    expect(again.map(({ agentId }) => agentId)).toEqual([second])
    await test.engine.close()

    const byId = engineOf(doors, [
      [start('door-a', inForeground)],
      [start('door-b', inForeground)],
      [send(String(first), 'go on')],
    ])
    await begin(byId).result
    const reached = byId.facts.filter(({ event }) => event.type === 'run.started' && event.run === 2)
    expect(reached.map(({ agentId }) => agentId)).toEqual([first])
    await byId.engine.close()
  })

  it('is found again after a restart, that of an agent that has ended too', async () => {
    const doors = openDoors('door-a')
    // One disk for both engines: the first lets go of its logs, not of the disk.
    const storage = { ...createMemoryStorage(), close: () => Promise.resolve() }
    const first = engineOf(doors, [[start('door-a', { name: 'ada' })]], { storage })
    await begin(first).result
    const [ada] = childrenOf(first)
    await first.engine.close()
    // Its turns go on behind those of the first engine.
    const goOn = Array.from({ length: 4 }, (): Calls => [send('ada', 'go on')])
    const second = engineOf(doors, goOn, { storage, idsFrom: 1_000 })
    await begin(second).result
    const again = second.facts.filter(({ event }) => event.type === 'run.started' && event.run === 2)
    expect(again.map(({ agentId }) => agentId)).toContain(ada)
    await second.engine.close()
  })

  it.each([
    ['main', 'is taken'],
    ['Parent', 'is taken'],
    ['*', 'a name has 1 to 64'],
    ['a0123456789abcdef', 'looks like the id'],
    ['two words', 'a name has 1 to 64'],
  ])('%j is none, and the refusal says why', async (name, why) => {
    const test = engineOf(openDoors('door-a'), [[start('door-a', { name })]])
    await begin(test).result
    expect(childrenOf(test)).toEqual([])
    expect(refusalsOf(test)).toEqual([expect.stringContaining(why)])
    await test.engine.close()
  })

  it('is not offered where the feature is off', async () => {
    const test = engineOf(openDoors('door-a'), [[start('door-a', { name: 'ada' })]], { features: {} })
    await begin(test).result
    expect(childrenOf(test)).toEqual([])
    expect(refusalsOf(test)).toEqual([expect.stringContaining('name')])
    await test.engine.close()
  })
})

describe('a message to everybody', () => {
  it('reaches each agent at work but its sender, once', async () => {
    const doors = new Doors()
    const test = engineOf(doors, [[start('door-a'), start('door-b', { name: 'bob' })], [send('*', 'hurry')]])
    const run = begin(test)
    await rest()
    expect(readersOf(test).toSorted()).toEqual(childrenOf(test).toSorted())
    const receipt = factsOf(test, 'call.ended').find(({ result }) =>
      JSON.stringify(result).includes('Sent to'),
    )
    expect(receipt?.toolUseResult).toMatchObject({ success: true, to: childrenOf(test) })
    expect(JSON.stringify(receipt?.result.content)).toContain('(\\"bob\\")')
    doors.open('door-a')
    doors.open('door-b')
    await run.result
    await test.engine.close()
  })

  it('is refused when nobody else is at work', async () => {
    const test = engineOf(new Doors(), [[send('*', 'hello?')]])
    await begin(test).result
    expect(refusalsOf(test)).toEqual([expect.stringContaining('sent to nobody')])
    await test.engine.close()
  })
})
