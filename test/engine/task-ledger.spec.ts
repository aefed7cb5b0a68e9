/** What a task shows: a fold of the log, the same while it is lived and when it is read. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import type { ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { callMany, say } from '../../src/effects/model/scripted-reply.ts'
import type { AgentView } from '../../src/engine/api.ts'
import { readAgent } from '../../src/engine/read-agent.ts'
import { TaskLedger, TaskValue } from '../../src/engine/task-ledger.ts'
import type { Recorded } from '../../src/machines/agent/events.ts'
import { isToolUse } from '../../src/machines/agent/messages.ts'
import { plausibleHistory } from '../helpers/arbitraries.ts'
import { Doors } from '../helpers/doors.ts'
import { settle, testEngine } from '../helpers/engine.ts'
import { writeLog } from '../helpers/logs.ts'

const ledgerOf = (recorded: readonly Pick<Recorded, 'at' | 'event'>[]): TaskLedger => {
  const ledger = new TaskLedger()
  for (const each of recorded) ledger.push(each)
  return ledger
}

/** What of a view is the fold of the agent's own log. */
const shownBy = ({ status, startedAt, endedAt, why, tokenCount, activities }: TaskLedger) => ({
  ...{ status, startedAt, endedAt, why, tokenCount },
  recentActivities: activities,
})
const shownIn = ({ status, startedAt, endedAt, why, tokenCount, recentActivities }: AgentView) => ({
  status: status === 'waiting' ? 'running' : status,
  ...{ startedAt, endedAt, why, tokenCount, recentActivities },
})

describe('a ledger', () => {
  it('goes on from its value, in JSON, wherever a log is cut', () => {
    fc.assert(
      fc.property(plausibleHistory, fc.nat(), (history, where) => {
        const { recorded } = writeLog(history)
        const cut = where % (recorded.length + 1)
        const value = TaskValue.parse(JSON.parse(JSON.stringify(ledgerOf(recorded.slice(0, cut)).value())))
        const ledger = TaskLedger.from(value)
        for (const each of recorded.slice(cut)) ledger.push(each)
        expect(ledger.value()).toEqual(ledgerOf(recorded).value())
      }),
      { numRuns: 60 },
    )
  })

  it('says of a log what looking through the last run of it says', () => {
    fc.assert(
      fc.property(plausibleHistory, (history) => {
        const { recorded } = writeLog(history)
        const begin = recorded.findLastIndex(({ event }) => event.type === 'run.started')
        const run = recorded.slice(begin)
        const replies = run.flatMap(({ event }) => (event.type === 'reply.received' ? [event.reply] : []))
        const end = run.find(({ event }) => event.type === 'agent.ended')
        const last = replies.at(-1)?.usage
        const input =
          (last?.input_tokens ?? 0) +
          (last?.cache_creation_input_tokens ?? 0) +
          (last?.cache_read_input_tokens ?? 0)
        const ledger = ledgerOf(recorded)
        expect(ledger.tokenCount).toBe(replies.reduce((sum, { usage }) => sum + usage.output_tokens, input))
        expect([ledger.startedAt, ledger.endedAt]).toEqual([run[0]?.at, end?.at])
        expect(ledger.status === 'running' || ledger.status === 'suspended').toBe(end === undefined)
        const calls = replies.flatMap(({ content }) => content.filter(isToolUse))
        expect(ledger.activities).toHaveLength(Math.min(5, calls.length))
      }),
      { numRuns: 60 },
    )
  })

  it('stays small whatever a model writes', () => {
    const input = { command: 'é\n'.repeat(100_000) }
    const content = Array.from({ length: 50 }, (_, i) => ({
      ...{ type: 'tool_use' as const, id: `toolu_${i}`, name: 'Bash', input },
    }))
    const { recorded } = writeLog([
      {
        type: 'agent.ended',
        run: 1,
        status: 'killed',
        outcome: { kind: 'killed', by: 'user', reason: 'x'.repeat(9_999) },
        turns: 0,
        toolUses: 0,
        usage: { input_tokens: 0, output_tokens: 0 },
        totalUsage: { input_tokens: 0, output_tokens: 0 },
        durationMs: 0,
      },
    ])
    const ledger = ledgerOf(recorded)
    ledger.push({
      at: 1,
      event: {
        type: 'reply.received',
        reply: { content, usage: { input_tokens: 1, output_tokens: 1 } },
      } as never,
    })
    expect(Buffer.byteLength(JSON.stringify(ledger.value()))).toBeLessThan(1_300)
    expect(ledger.activities.join('')).not.toContain('\n')
  })
})

const agent = (prompt: string, run_in_background: boolean) => ({
  name: 'Agent',
  input: { description: prompt, prompt, run_in_background },
})

/** A root that has one child in the foreground, then two in the background, of which it reads one itself. */
function engineOf() {
  const doors = new Doors()
  const script = (request: ModelRequest): ScriptedReply => {
    const turn = request.messages.filter(({ role }) => role === 'assistant').length
    const text = JSON.stringify(request.messages)
    if (request.source !== 'main') {
      const door = /door-\w/.exec(text)?.[0] ?? ''
      return turn === 0 ? callMany([{ name: 'Pass', input: { door } }]) : say(`report of ${door}`)
    }
    if (turn === 0) return callMany([agent('door-a', false)])
    if (turn === 1) return callMany([agent('door-b', true), agent('door-c', true)])
    const ids = [...text.matchAll(/agentId: (a[0-9a-f]{16})/g)].map(([, id]) => id)
    return turn === 2 ? callMany([{ name: 'TaskOutput', input: { task_id: ids.at(-2) } }]) : say('done')
  }
  return { doors, ...testEngine(script, { tools: [doors.tool] }) }
}

describe('the view of an agent', () => {
  it('is at every fact what the facts so far come to, and what its log comes to in the end', async () => {
    const { engine, doors, storage } = engineOf()
    const facts = new Map<string, Recorded[]>()
    const last = new Map<string, AgentView>()
    let compared = 0
    engine.events$.subscribe((event) => {
      if (event.kind !== 'fact') return
      const own = facts.get(event.agentId) ?? []
      own.push(event)
      facts.set(event.agentId, own)
      const view = engine.agents.find(({ agentId }) => agentId === event.agentId)
      if (view === undefined) return
      last.set(event.agentId, view)
      expect(shownIn(view)).toEqual(shownBy(ledgerOf(own)))
      compared++
    })
    const run = engine.run('go')
    for (const door of ['door-a', 'door-b', 'door-c']) {
      await settle(25)
      doors.open(door)
    }
    await run.result
    await settle(25)
    await engine.close()
    expect([facts.size, compared]).toEqual([4, [...facts.values()].flat().length])
    const logs = [...storage.files.keys()].filter((path) => path.endsWith('.jsonl'))
    expect(logs).toHaveLength(4)
    for (const path of logs) {
      const { digest, state } = await readAgent(storage, path)
      const view = last.get(state.birth?.agentId ?? '')
      expect(view && shownIn(view)).toEqual(shownBy(digest.task))
    }
  })

  it('says how its end was told: as the result of a call, or in a notice; and before that, nothing', async () => {
    const { engine, doors } = engineOf()
    const lists: (readonly AgentView[])[] = []
    engine.tasks$.subscribe((list) => lists.push(list))
    const of = (door: string) => lists.at(-1)?.find(({ description }) => description === door)
    const run = engine.run('go')
    await settle(25)
    expect(of('door-a')).toMatchObject({
      ...{ run: 1, status: 'running', notified: false, retrieved: false, endedAt: undefined },
      ...{ toolUseId: expect.stringMatching(/./), lastActivity: 'Pass', recentActivities: ['Pass'] },
    })
    doors.open('door-a')
    await settle(25)
    expect(of('door-a')).toMatchObject({ status: 'completed', notified: false, retrieved: true })
    doors.open('door-b')
    await settle(25)
    expect(of('door-b')).toMatchObject({ status: 'completed', notified: false, retrieved: true })
    doors.open('door-c')
    await run.result
    await settle(25)
    expect(of('door-c')).toMatchObject({ status: 'completed', notified: true, retrieved: false })
    expect(of('door-c')?.tokenCount).toBeGreaterThan(0)
    await engine.close()
  })

  it('says by whom it was killed, and why', async () => {
    const { engine } = engineOf()
    const run = engine.run('go')
    await settle(25)
    const child = engine.agents.find(({ depth }) => depth === 1)
    let shown: readonly AgentView[] = []
    engine.tasks$.subscribe((list) => (shown = list))
    await engine.kill(child?.agentId ?? '', 'enough')
    await settle(5)
    expect(shown.find(({ depth }) => depth === 1)).toMatchObject({ status: 'killed', why: 'by user: enough' })
    run.result.catch(() => {})
    await engine.close()
  })
})
