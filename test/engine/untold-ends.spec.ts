/** Ends that nobody could be told when they were due: recorded in a killed tree, and found again at the next resume. */
import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import type { ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { callMany, say } from '../../src/effects/model/scripted-reply.ts'
import { checkTree } from '../../src/journal/check/check-tree.ts'
import type { MemoryStorage } from '../../src/journal/memory-storage.ts'
import { createMemoryStorage } from '../../src/journal/memory-storage.ts'
import { readEntries } from '../../src/journal/read-entries.ts'
import { StorageError } from '../../src/journal/storage.ts'
import type { AgentEvent, AgentEventOf } from '../../src/machines/agent/events.ts'
import { Doors } from '../helpers/doors.ts'
import type { Fact, TestEngine } from '../helpers/engine.ts'
import { settle, testEngine } from '../helpers/engine.ts'
import { agentKind, turnOf } from '../helpers/scripts.ts'

const SESSION = '99999999-9999-4999-8999-999999999999'
const rest = (): Promise<void> => settle(60)

const pass = (door: string) => ({ name: 'Pass', input: { door } })
const agent = (name: string, type = 'general-purpose') => ({
  name: 'Agent',
  input: { description: name, prompt: `I am ${name}`, subagent_type: type, run_in_background: true },
})
const nameIn = ({ source, messages }: ModelRequest): string =>
  source === 'main' ? 'root' : (/I am ([\w-]+)/.exec(JSON.stringify(messages[0]?.content))?.[1] ?? 'nobody')

/** root → parent → child, both in the background; the parent is at a door when its child reports. */
const FIRST = (type: string): Readonly<Record<string, ScriptedReply>> => ({
  root: callMany([agent('parent', type)]),
  parent: callMany([agent('child'), pass('parent')]),
  child: callMany([pass('child')]),
})

const engineOf = (
  doors: Doors,
  { type = 'general-purpose', ...more }: { type?: string; storage?: MemoryStorage; idsFrom?: number } = {},
): TestEngine =>
  testEngine(
    (request) => {
      const name = nameIn(request)
      return (turnOf(request) === 0 && FIRST(type)[name]) || say(`report of ${name}`)
    },
    {
      tools: [doors.tool],
      features: { nesting: true },
      definitions: [agentKind('general-purpose'), agentKind('short', { maxTurns: 1 })],
      ...more,
    },
  )

const eventsOf = <T extends AgentEvent['type']>(facts: readonly Fact[], type: T) =>
  facts.flatMap(({ event }) => (event.type === type ? [event as AgentEventOf<T>] : []))
const idOf = (facts: readonly Fact[], name: string): string =>
  eventsOf(facts, 'agent.spawned').find(({ plan }) => plan.description === name)?.agentId ?? ''
const outputIn = (facts: readonly Fact[]): number =>
  eventsOf(facts, 'reply.received').reduce((sum, { reply }) => sum + reply.usage.output_tokens, 0)
const tellsIn = (facts: readonly Fact[]): readonly string[] =>
  [...eventsOf(facts, 'message.added'), ...eventsOf(facts, 'run.started')]
    .flatMap(({ tells }) => tells ?? [])
    .map(({ agentId }) => agentId)

async function violations(storage: MemoryStorage): Promise<readonly string[]> {
  const logs = [...storage.files.keys()].filter((path) => path.endsWith('.jsonl'))
  const checked = await checkTree(logs.map((path) => ({ path, entries: readEntries(storage, path) })))
  return checked.flatMap(({ path, violation }) => (violation ? [`${path}: ${violation.reason}`] : []))
}

describe('an end that a killed agent was not told', () => {
  it.each([
    ['came before the kill', ['child']],
    ['comes with it', []],
  ])('is recorded once, with its cost, when it %s', async (_, open) => {
    const doors = new Doors()
    const test = engineOf(doors)
    const run = test.engine.run('go', { sessionId: SESSION })
    await rest()
    for (const door of open) doors.open(door)
    await rest()
    const parent = idOf(test.facts, 'parent')
    const child = idOf(test.facts, 'child')
    await test.engine.kill(parent)
    const result = await run.result
    expect(result.status).toBe('completed')
    expect(eventsOf(test.facts, 'child.released')).toMatchObject([
      { child: { agentId: child, run: 1 }, isUndeliverable: true },
    ])
    expect(tellsIn(test.facts)).toEqual([parent])
    expect(result.totalUsage.output_tokens).toBe(outputIn(test.facts))
    expect(await violations(test.storage)).toEqual([])
    await test.engine.close()
  })
})

describe('TaskOutput of an agent that was killed and goes on', () => {
  it.each([
    ['came before the kill', ['child'], 'completed', 'report of child'],
    ['came with it', [], 'killed', ''],
  ] as const)(
    'still gives the end of an agent of its that %s, and tells nothing twice',
    async (_, open, status, text) => {
      const doors = new Doors()
      let child = ''
      const read: unknown[] = []
      const test = testEngine(
        (request) => {
          const name = nameIn(request)
          const turn = turnOf(request)
          if (turn === 0 && FIRST('general-purpose')[name] !== undefined)
            return FIRST('general-purpose')[name] ?? say('')
          const isAgain = JSON.stringify(request.messages).includes('look again')
          if (
            name === 'root' &&
            isAgain === false &&
            JSON.stringify(request.messages).includes('<task-id>')
          ) {
            const to = /<task-id>(a[0-9a-f]{16})/.exec(JSON.stringify(request.messages))?.[1]
            return callMany([{ name: 'SendMessage', input: { to, message: 'look again' } }])
          }
          if (name === 'parent' && turn === 1)
            return callMany([{ name: 'TaskOutput', input: { task_id: child, block: true } }])
          if (name === 'parent' && turn === 2) read.push(request.messages.at(-1))
          return say(`report of ${name}`)
        },
        { tools: [doors.tool], features: { nesting: true }, definitions: [agentKind('general-purpose')] },
      )
      const run = test.engine.run('go', { sessionId: SESSION })
      await rest()
      doors.open(...open)
      await rest()
      child = idOf(test.facts, 'child')
      await test.engine.kill(idOf(test.facts, 'parent'))
      const result = await run.result
      expect(JSON.stringify(read)).toContain(text)
      const outputs = eventsOf(test.facts, 'call.ended').filter(({ toolUseResult }) =>
        JSON.stringify(toolUseResult ?? '').includes('retrieval_status'),
      )
      expect(
        outputs.map(({ toolUseResult, delivered }) => [
          JSON.stringify(toolUseResult).includes(`"status":"${status}"`),
          delivered,
        ]),
      ).toEqual([[true, undefined]])
      // It was recorded as told to nobody, with what it cost: that is counted once.
      expect(eventsOf(test.facts, 'child.released')).toHaveLength(1)
      expect(result.totalUsage.output_tokens).toBe(outputIn(test.facts))
      expect(await violations(test.storage)).toEqual([])
      await test.engine.close()
    },
  )
})

describe('an end that nobody above could take, as the log of the root was full', () => {
  it('is the root’s from the next resume on, and told and counted once', async () => {
    const doors = new Doors()
    const memory = createMemoryStorage()
    let isFull = false
    const storage: MemoryStorage = {
      ...memory,
      append: (batch) => {
        if (isFull && batch.some(({ path }) => path.endsWith(`${SESSION}.jsonl`)))
          throw new StorageError('full', 'the log of the root', 'no space is left')
        return memory.append(batch)
      },
    }
    const test = engineOf(doors, { storage, type: 'short' })
    test.engine.run('go', { sessionId: SESSION }).result.catch(() => {})
    await rest()
    isFull = true
    // The parent is at its limit, and has nobody to give its child to.
    doors.open('parent')
    await rest()
    const parent = idOf(test.facts, 'parent')
    const child = idOf(test.facts, 'child')
    expect(eventsOf(test.facts, 'agent.ended')).toMatchObject([
      { outcome: { kind: 'limit', limit: 'turns' } },
    ])
    expect(eventsOf(test.facts, 'child.released')).toEqual([])
    const before = [...test.facts]
    const files = new Map(memory.files)

    const again = new Doors()
    again.open('child')
    const next = engineOf(again, { storage: createMemoryStorage({ files }), idsFrom: 500, type: 'short' })
    const resumed = await next.engine.resume(SESSION)
    const result = await resumed?.result
    expect(result?.status).toBe('completed')
    expect([...tellsIn(next.facts)].toSorted()).toEqual([parent, child].toSorted())
    expect(eventsOf(next.facts, 'child.released')).toMatchObject([{ child: { agentId: child } }])
    expect(result?.totalUsage.output_tokens).toBe(outputIn([...before, ...next.facts]))
    expect(await violations(next.storage)).toEqual([])
    await next.engine.close()
    await test.engine.close()
  })
})
