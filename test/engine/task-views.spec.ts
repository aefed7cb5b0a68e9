/** The list of tasks: what it shows, when it changes, how long an end stays; and the end of everything at once. */
import { firstValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import type { ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { callMany, say } from '../../src/effects/model/scripted-reply.ts'
import type { AgentView, EngineOptions } from '../../src/engine/api.ts'
import type { MemoryStorage } from '../../src/journal/memory-storage.ts'
import { Doors } from '../helpers/doors.ts'
import { settle, testEngine } from '../helpers/engine.ts'
import { turnOf } from '../helpers/scripts.ts'

const SESSION = '77777777-7777-4777-8777-777777777777'
const FIVE_MINUTES = 5 * 60_000
const rest = () => settle(25)

type Root = (request: ModelRequest, turn: number) => ScriptedReply

const agent = (prompt: string, run_in_background = true) => ({
  name: 'Agent',
  input: { description: prompt, prompt, run_in_background },
})

/** Children pass the door of their prompt and report. Every list of tasks is in `lists`. */
function engineOf(
  root: Root,
  {
    isWatched = true,
    ...more
  }: Partial<EngineOptions> & {
    readonly storage?: MemoryStorage
    readonly idsFrom?: number
    readonly isWatched?: boolean
  } = {},
) {
  const doors = new Doors()
  const test = testEngine(
    (request: ModelRequest): ScriptedReply => {
      const turn = turnOf(request)
      if (request.source === 'main') return root(request, turn)
      const door = /door-\w/.exec(JSON.stringify(request.messages[0]))?.[0] ?? ''
      return turn === 0 ? callMany([{ name: 'Pass', input: { door } }]) : say(`report of ${door}`)
    },
    { tools: [doors.tool], ...more },
  )
  const lists: (readonly AgentView[])[] = []
  if (isWatched) test.engine.tasks$.subscribe((list) => lists.push(list))
  const children = () => (lists.at(-1) ?? []).filter(({ depth }) => depth > 0)
  return { ...test, doors, lists, children }
}

const delegates =
  (...prompts: readonly string[]): Root =>
  (_, turn) =>
    turn === 0 ? callMany(prompts.map((prompt) => agent(prompt))) : say(`turn ${turn}`)

describe('the list of tasks', () => {
  it('has every agent, changes with it, and never says the same twice', async () => {
    const test = engineOf(delegates('door-a'))
    const run = test.engine.run('go')
    await rest()
    expect(test.children()).toMatchObject([
      { description: 'door-a', phase: 'acting', isInBackground: true, turns: 1, lastActivity: 'Pass' },
    ])
    expect(test.lists.at(-1)).toEqual(test.engine.agents)
    test.doors.open('door-a')
    await run.result
    await rest()
    expect(test.children()).toMatchObject([{ phase: 'completed', turns: 2, toolUses: 1 }])
    for (const [i, list] of test.lists.entries()) if (i > 0) expect(list).not.toEqual(test.lists[i - 1])
    // What has not changed is the same object: whoever shows it may compare.
    const shared = test.lists.slice(1).some((list, i) => list.some((view) => test.lists[i]?.includes(view)))
    expect(shared).toBe(true)
    await test.engine.close()
  })

  it('is the same for whoever looks for the first time as for who has looked all along', async () => {
    const shown = async (isWatched: boolean) => {
      const test = engineOf(delegates('door-a', 'door-b'), { isWatched })
      const run = test.engine.run('go')
      const seen: (readonly AgentView[])[] = []
      const look = async () => {
        await rest()
        seen.push(await firstValueFrom(test.engine.tasks$))
      }
      await look()
      test.doors.open('door-a')
      await look()
      test.doors.open('door-b')
      await run.result
      await look()
      await test.clock.advance(FIVE_MINUTES)
      await look()
      await test.engine.close()
      return seen.map((list) =>
        list.map(({ agentId, phase, turns, notified, tokenCount }) => ({
          agentId,
          phase,
          turns,
          notified,
          tokenCount,
        })),
      )
    }
    const [late, always] = [await shown(false), await shown(true)]
    expect(late).toEqual(always)
    expect(always.map((list) => list.length)).toEqual([3, 3, 3, 1])
  })

  it('is there for whoever comes late, and completes with the engine', async () => {
    const test = engineOf(delegates('door-a'))
    void test.engine.run('go')
    await rest()
    expect(await firstValueFrom(test.engine.tasks$)).toEqual(test.lists.at(-1))
    let isOver = false
    test.engine.tasks$.subscribe({ complete: () => (isOver = true) })
    await test.engine.close()
    expect([isOver, test.clock.pending]).toEqual([true, 0])
  })

  it('keeps an end for five minutes after it was told; then only the disk has it', async () => {
    const seen: string[] = []
    const test = engineOf((request, turn) => {
      const text = JSON.stringify(request.messages)
      const id = /agentId: (a[0-9a-f]{16})/.exec(text)?.[1]
      if (turn === 0) return callMany([agent('door-a'), { name: 'Pass', input: { door: 'door-r' } }])
      if (text.includes('what was it?') && !text.includes('TaskOutput')) seen.push(text)
      const isAsked = JSON.stringify(request.messages.at(-1)).includes('what was it?')
      return isAsked ? callMany([{ name: 'TaskOutput', input: { task_id: id } }]) : say('done')
    })
    const run = test.engine.run('go', { sessionId: SESSION })
    await rest()
    test.doors.open('door-a')
    await rest()
    // It has ended, its parent is busy: it stays however long that takes.
    test.clock.advance(2 * FIVE_MINUTES)
    expect(test.children()).toMatchObject([{ phase: 'completed' }])
    test.doors.open('door-r')
    await run.result
    test.clock.advance(FIVE_MINUTES - 1)
    expect(test.children()).toHaveLength(1)
    test.clock.advance(1)
    expect(test.children()).toEqual([])
    await test.engine.run('what was it?', { sessionId: SESSION }).result
    const read = test.facts.findLast(({ event }) => event.type === 'call.ended')
    expect(JSON.stringify(read?.event)).toContain('report of door-a')
    await test.engine.close()
  })

  it.each([true, false])(
    'keeps one whose result its parent waited for as long (killed: %s)',
    async (isKilled) => {
      const test = engineOf((_, turn) => (turn === 0 ? callMany([agent('door-a', false)]) : say('done')), {
        limits: { taskRetentionMs: 1_000 },
      })
      const run = test.engine.run('go')
      await rest()
      if (isKilled) await test.engine.kill(await run.started)
      else test.doors.open('door-a')
      await run.result
      await rest()
      expect(test.children()).toMatchObject([{ phase: isKilled ? 'killed' : 'completed' }])
      test.clock.advance(1_000)
      expect(test.lists.at(-1)).toMatchObject([{ depth: 0 }])
      await test.engine.close()
    },
  )

  it('keeps one that goes on', async () => {
    const test = engineOf((request, turn) => {
      const id = /agentId: (a[0-9a-f]{16})/.exec(JSON.stringify(request.messages))?.[1]
      if (turn === 0) return callMany([agent('door-a')])
      return turn === 2 ? callMany([{ name: 'SendMessage', input: { to: id, message: 'more' } }]) : say('so')
    })
    test.doors.open('door-a')
    await test.engine.run('go', { sessionId: SESSION }).result
    await rest()
    expect(test.children()).toHaveLength(1)
    await test.engine.close()
  })

  it('has what a session that is brought back goes on with', async () => {
    const first = engineOf(delegates('door-a'))
    first.engine.run('go', { sessionId: SESSION }).result.catch(() => {})
    await rest()
    const next = engineOf(delegates('door-a'), { storage: first.storage.crash(), idsFrom: 500 })
    await next.engine.resume(SESSION)
    await rest()
    expect(next.lists.at(-1)).toHaveLength(2)
    expect(next.lists.at(-1)).toEqual(next.engine.agents)
    await next.engine.close()
  })
})

describe('the end of everything', () => {
  it('ends all runs of all sessions, also one that is about to start, and says why', async () => {
    const test = engineOf(delegates('door-a', 'door-b'))
    const runs = [test.engine.run('go'), test.engine.run('go')]
    await rest()
    runs.push(test.engine.run('go'))
    await test.engine.killAll('closing time')
    for (const { result } of runs)
      expect(await result).toMatchObject({ outcome: { kind: 'killed', by: 'user', reason: 'closing time' } })
    const ended = test.facts.filter(({ event }) => event.type === 'agent.ended')
    const born = test.facts.filter(({ event }) => event.type === 'agent.spawned')
    expect(ended).toHaveLength(born.length)
    expect(born.length).toBeGreaterThanOrEqual(7)
    await test.engine.close()
  })

  it('wakes nobody: what ended is told with the next prompt', async () => {
    const test = engineOf(delegates('door-a', 'door-b'))
    await test.engine.run('go', { sessionId: SESSION, leavesChildren: true }).result
    await test.engine.killAll()
    await rest()
    const runs = () =>
      test.facts.filter(({ event }) => event.type === 'run.started' && event.origin.from !== 'agent')
    expect(runs()).toHaveLength(1)
    expect(test.engine.agents.map(({ phase }) => phase)).toEqual(['completed'])
    await test.engine.run('and?', { sessionId: SESSION }).result
    const news = test.facts.flatMap(({ event }) =>
      event.type === 'message.added' && event.tells !== undefined ? [event] : [],
    )
    expect(news.map(({ tells }) => tells?.length)).toEqual([2])
    expect(JSON.stringify(news)).toContain('<status>killed</status>')
    await test.engine.close()
  })

  it('is nothing where nothing runs', async () => {
    const test = engineOf(() => say('done'))
    await test.engine.killAll()
    expect((await test.engine.run('go').result).status).toBe('completed')
    await test.engine.killAll()
    await test.engine.close()
    await test.engine.killAll()
    expect(test.facts.filter(({ event }) => event.type === 'agent.ended')).toHaveLength(1)
  })
})
