/** An interrupt ends the turn of the root and whoever is waited for in it, however deep; the background goes on. */
import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import type { ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { callMany, say } from '../../src/effects/model/scripted-reply.ts'
import { checkTree } from '../../src/journal/check/check-tree.ts'
import type { MemoryStorage } from '../../src/journal/memory-storage.ts'
import { createMemoryStorage } from '../../src/journal/memory-storage.ts'
import { readEntries } from '../../src/journal/read-entries.ts'
import { Doors } from '../helpers/doors.ts'
import type { TestEngine } from '../helpers/engine.ts'
import { settle, testEngine } from '../helpers/engine.ts'
import { agentKind, turnOf } from '../helpers/scripts.ts'

const SESSION = '88888888-8888-4888-8888-888888888888'
const rest = (): Promise<void> => settle(60)

const pass = (door: string) => ({ name: 'Pass', input: { door } })
const agent = (name: string, background: boolean) => ({
  name: 'Agent',
  input: { description: name, prompt: `I am ${name}`, run_in_background: background },
})
const nameIn = ({ source, messages }: ModelRequest): string =>
  source === 'main' ? 'root' : (/I am ([\w-]+)/.exec(JSON.stringify(messages[0]?.content))?.[1] ?? 'nobody')

/** root → front → deeper in the foreground; each of these two has started one in the background before. */
const FIRST: Readonly<Record<string, ScriptedReply>> = {
  root: callMany([agent('front', false)]),
  front: callMany([agent('left', true), agent('deeper', false)]),
  deeper: callMany([agent('below', true), pass('deeper')]),
  left: callMany([pass('left')]),
  below: callMany([pass('below')]),
}

function engineOf(doors: Doors, more: { storage?: MemoryStorage; idsFrom?: number } = {}): TestEngine {
  return testEngine(
    (request) => {
      const name = nameIn(request)
      return (turnOf(request) === 0 && FIRST[name]) || say(`report of ${name}`)
    },
    {
      tools: [doors.tool],
      features: { nesting: true },
      definitions: [agentKind('general-purpose')],
      ...more,
    },
  )
}

const namesOf = ({ facts }: TestEngine): ReadonlyMap<string, string> =>
  new Map(
    facts.flatMap(({ agentId, event }) =>
      event.type === 'agent.spawned' ? [[agentId, event.plan.description ?? 'root'] as const] : [],
    ),
  )
/** Who has ended, and how. */
const endsIn = (test: TestEngine, names: ReadonlyMap<string, string> = namesOf(test)): readonly string[] =>
  test.facts
    .flatMap(({ agentId, event }) =>
      event.type === 'agent.ended' ? [`${names.get(agentId) ?? agentId} ${event.status}`] : [],
    )
    .toSorted()
/** Whose ends a conversation line tells. */
const toldIn = ({ facts }: TestEngine, names: ReadonlyMap<string, string>): readonly string[] =>
  facts
    .flatMap(({ event }) =>
      event.type === 'message.added' || event.type === 'run.started' ? (event.tells ?? []) : [],
    )
    .map(({ agentId }) => names.get(agentId) ?? agentId)
    .toSorted()

async function violations(storage: MemoryStorage): Promise<readonly string[]> {
  const logs = [...storage.files.keys()].filter((path) => path.endsWith('.jsonl'))
  const checked = await checkTree(logs.map((path) => ({ path, entries: readEntries(storage, path) })))
  return checked.flatMap(({ path, violation }) => (violation ? [`${path}: ${violation.reason}`] : []))
}

describe('an interrupt', () => {
  it('spares agents in the background of whoever the root waits for: the root is owed their ends', async () => {
    const doors = new Doors()
    const test = engineOf(doors)
    const run = test.engine.run('go', { sessionId: SESSION })
    await rest()
    await test.engine.interrupt(SESSION, 'enough')
    expect((await run.result).status).toBe('killed')
    const names = namesOf(test)
    expect([...names.values()].filter((name) => name === 'below' || name === 'left')).toHaveLength(2)
    expect(endsIn(test).filter((end) => /^(front|deeper|left|below)/.test(end))).toEqual([
      'deeper killed',
      'front killed',
    ])
    doors.open('left')
    doors.open('below')
    await rest()
    expect(endsIn(test)).toContain('left completed')
    expect(endsIn(test)).toContain('below completed')
    // A person has stopped the root: it is not woken.
    expect(toldIn(test, names)).toEqual([])
    const next = await test.engine.run('and?', { sessionId: SESSION }).result
    expect(next.status).toBe('completed')
    expect(toldIn(test, names)).toEqual(['below', 'left'])
    const total = test.facts.reduce(
      (sum, { event }) => sum + (event.type === 'reply.received' ? event.reply.usage.output_tokens : 0),
      0,
    )
    const first = (await run.result).totalUsage.output_tokens
    expect(first + next.totalUsage.output_tokens).toBe(total)
    expect(await violations(test.storage)).toEqual([])
    await test.engine.close()
  })

  it('that a crash cuts off anywhere still spares them', async () => {
    const doors = new Doors()
    const test = engineOf(doors)
    const run = test.engine.run('go', { sessionId: SESSION })
    await rest()
    const names = namesOf(test)
    const moments: ReadonlyMap<string, string>[] = []
    test.engine.events$.subscribe(({ kind }) => {
      if (kind === 'fact') moments.push(new Map(test.storage.files))
    })
    await test.engine.interrupt(SESSION)
    await run.result
    await test.engine.close()
    const interrupted = moments.filter((files) => [...files.values()].some((log) => log.includes('"spares"')))
    expect(interrupted.length).toBeGreaterThan(5)
    for (const files of interrupted) {
      const again = new Doors()
      for (const door of ['left', 'below', 'deeper']) again.open(door)
      const next = engineOf(again, { storage: createMemoryStorage({ files }), idsFrom: 500 })
      const resumed = await next.engine.resume(SESSION)
      await resumed?.result
      await rest()
      await next.engine.run('and?', { sessionId: SESSION }).result
      // A command that ran is not repeated: both may report that it was interrupted, and complete.
      expect(endsIn(next, names).filter((end) => /^(left|below)/.test(end))).toEqual([
        'below completed',
        'left completed',
      ])
      expect(toldIn(next, names)).toEqual(['below', 'left'])
      expect(await violations(next.storage)).toEqual([])
      await next.engine.close()
    }
  })
})
