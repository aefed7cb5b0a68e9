/** Start and stop hooks of children: one pair for each run, with one id, whatever ends it and whoever is there by then. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { z } from 'zod'
import type { AnyHostHook } from '../../src/effects/hooks/hook.ts'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import type { ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { call, say } from '../../src/effects/model/scripted-reply.ts'
import type { MemoryStorage } from '../../src/journal/memory-storage.ts'
import type { Fact, TestEngine } from '../helpers/engine.ts'
import { settle, testEngine } from '../helpers/engine.ts'
import { turnOf } from '../helpers/scripts.ts'
import { lookingTool } from '../helpers/tools.ts'

const SESSION = '55555555-5555-4555-8555-555555555555'

const WAYS = ['done', 'error', 'limit', 'kill', 'shutdown', 'crash'] as const
type Way = (typeof WAYS)[number]

const look = lookingTool('Look', z.strictObject({ n: z.number() }), async () => ({ content: 'seen' }))

interface Plan {
  readonly way: Way
  readonly isInBackground: boolean
  /** The root speaks to the child when that has ended. */
  readonly hasSecondRun: boolean
  /** The stop hook sends it back once. */
  readonly sendsBack: boolean
  /** Turns of the event loop before it is killed, closed or dies. */
  readonly after: number
  /** Turns that each hook and each reply takes, one after the other. */
  readonly paces: readonly number[]
}

const plans: fc.Arbitrary<Plan> = fc.record({
  way: fc.constantFrom(...WAYS),
  isInBackground: fc.boolean(),
  hasSecondRun: fc.boolean(),
  sendsBack: fc.boolean(),
  after: fc.nat(40),
  paces: fc.array(fc.nat(6), { minLength: 1, maxLength: 8 }),
})

function engineOf(
  plan: Plan,
  heard: string[],
  more: { storage?: MemoryStorage; idsFrom?: number } = {},
): TestEngine {
  let step = 0
  const pause = (): Promise<void> => settle(plan.paces[step++ % plan.paces.length] ?? 0)
  const hook = (event: 'SubagentStart' | 'SubagentStop'): AnyHostHook => ({
    event,
    run: async (input) => {
      if ('agent_id' in input) heard.push(`${event} ${input.agent_id}`)
      await pause()
      const isFirst = 'stop_hook_active' in input && input.stop_hook_active === false
      return plan.sendsBack && isFirst ? { decision: 'block', reason: 'look again' } : undefined
    },
  })
  return testEngine(
    async (request) => {
      await pause()
      return request.source === 'main' ? root(plan, request) : child(plan, request)
    },
    {
      tools: [look],
      hooks: [hook('SubagentStart'), hook('SubagentStop')],
      retries: { maxRetries: 0 },
      ...(plan.way === 'limit' && { limits: { childMaxTurns: 2 } }),
      ...more,
    },
  )
}

function root({ isInBackground, hasSecondRun }: Plan, request: ModelRequest): ScriptedReply {
  const turn = turnOf(request)
  if (turn === 0)
    return call('Agent', { description: 'a part', prompt: 'THE TASK', run_in_background: isInBackground })
  const told = JSON.stringify(request.messages)
  const id = /agentId: (a[0-9a-f]{16})/.exec(told)?.[1]
  // The result of the call speaks of notifications, too.
  const hasEnded = !isInBackground || told.split('<task-notification>').length > 2
  const hasSpoken = told.includes('"name":"SendMessage"')
  return hasSecondRun && id !== undefined && hasEnded && !hasSpoken
    ? call('SendMessage', { to: id, message: 'and now?' })
    : say('all done')
}

function child({ way }: Plan, request: ModelRequest): ScriptedReply {
  if (way === 'error') return new Error('the model broke')
  return way === 'limit' || turnOf(request) === 0 ? call('Look', { n: turnOf(request) }) : say('the report')
}

/** Plays the session to its end: its facts, over both processes where there are two. */
async function play(plan: Plan, heard: string[]): Promise<readonly Fact[]> {
  const first = engineOf(plan, heard)
  const run = first.engine.run('go', { sessionId: SESSION })
  if (plan.way === 'done' || plan.way === 'error' || plan.way === 'limit') {
    await run.result
    await first.engine.close()
    return first.facts
  }
  run.result.catch(() => {})
  await settle(plan.after)
  if (plan.way === 'kill') {
    const live = first.engine.agents.find(({ depth }) => depth === 1)
    if (live !== undefined) await first.engine.kill(live.agentId).catch(() => {})
    await run.result
    await first.engine.close()
    return first.facts
  }
  if (plan.way === 'shutdown') await first.engine.close()
  const before = [...first.facts]
  const second = engineOf(plan, heard, { storage: first.storage.crash(), idsFrom: 100_000 })
  const resumed = await second.engine.resume(SESSION).catch(() => undefined)
  await resumed?.result
  await second.engine.close()
  return [...before, ...second.facts]
}

/** Runs of children whose hooks do not pair, in words; and how many runs there were. */
function unpaired(facts: readonly Fact[]): { readonly problems: readonly string[]; readonly runs: number } {
  const children = facts.flatMap(({ event }) =>
    event.type === 'agent.spawned' && event.parent !== undefined ? [String(event.agentId)] : [],
  )
  const problems: string[] = []
  let runs = 0
  for (const id of new Set(children)) {
    let counts = { start: 0, stop: 0, blocks: 0, ends: 0 }
    for (const { agentId, event } of facts) {
      if (agentId !== id) continue
      if (event.type === 'run.started') counts = { start: 0, stop: 0, blocks: 0, ends: 0 }
      if (event.type === 'hook.started' && event.event === 'SubagentStart') counts.start += 1
      if (event.type === 'hook.started' && event.event === 'SubagentStop') counts.stop += 1
      if (event.type === 'hook.ended') counts.ends += 1
      if (event.type === 'stop.blocked') counts.blocks += 1
      if (event.type !== 'agent.ended') continue
      runs += 1
      // Whoever was killed before a hook was told of its start is told of by none.
      const isPair =
        counts.start === 0 ? counts.stop === 0 : counts.start === 1 && counts.stop === 1 + counts.blocks
      if (!isPair || counts.ends !== counts.start + counts.stop)
        problems.push(`${id} run ${event.run}: ${JSON.stringify(counts)}`)
    }
  }
  return { problems, runs }
}

const count = (heard: readonly string[], name: string): number => heard.filter((each) => each === name).length

it('pair one to one for each run: done, error, limit, kill, shutdown and crash; in the background, and run again', async () => {
  let runs = 0
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const heard: string[] = []
      const facts = await play(plan, heard)
      const found = unpaired(facts)
      runs += found.runs
      expect(found.problems).toEqual([])
      // What ran is what the log knows of, and of that nothing ran twice.
      for (const name of new Set(heard)) {
        const [event, id] = name.split(' ')
        const logged = facts.filter(
          (fact) => fact.agentId === id && fact.event.type === 'hook.started' && fact.event.event === event,
        )
        expect(count(heard, name), name).toBeLessThanOrEqual(logged.length)
      }
    }),
    { numRuns: 50 },
  )
  expect(runs).toBeGreaterThan(40)
})

it.each(WAYS)('a second run has a pair of its own: %s', async (way) => {
  const plan = { way, isInBackground: true, hasSecondRun: true, sendsBack: false, after: 12, paces: [1] }
  const facts = await play(plan, [])
  expect(unpaired(facts)).toEqual({ problems: [], runs: 2 })
})
