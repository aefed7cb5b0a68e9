/** Many agents: one after the other, at once, without an end, and as forks of a long conversation. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import type { ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { callMany, say } from '../../src/effects/model/scripted-reply.ts'
import { testEngine } from '../helpers/engine.ts'
import { turnOf } from '../helpers/scripts.ts'

const isRoot = ({ source }: ModelRequest): boolean => source === 'main'

const agent = (prompt: string, run_in_background = false) => ({
  name: 'Agent',
  input: { description: 'part', prompt, run_in_background },
})
const agents = (count: number, background = false) =>
  Array.from({ length: count }, (_, i) => agent(`part ${i}`, background))

const ends = (facts: ReturnType<typeof testEngine>['facts']) =>
  facts.flatMap(({ event }) => (event.type === 'agent.ended' ? [event] : []))
const errors = (facts: ReturnType<typeof testEngine>['facts']) =>
  facts.flatMap(({ event }) =>
    event.type === 'call.ended' && event.outcome !== 'ok' ? [JSON.stringify(event.result.content)] : [],
  )

describe('many agents', () => {
  it('run one after the other, a thousand of them, where four may live at once', async () => {
    const test = testEngine(
      (request) => {
        if (!isRoot(request)) return say('done')
        const turn = turnOf(request)
        return turn < 334 ? callMany(agents(3, turn % 2 === 1)) : say('all done')
      },
      { limits: { liveAgents: 4, spawns: 2_000 } },
    )
    const result = await test.engine.run('go').result
    expect(result.text).toBe('all done')
    expect(ends(test.facts).length).toBeGreaterThan(900)
    // One in the background may still live when the next three are asked for: those are refused, and say why.
    for (const error of errors(test.facts)) expect(error).toContain('limits.liveAgents')
    expect(test.engine.agents.filter(({ parentAgentId }) => parentAgentId !== undefined)).toEqual([])
    await test.engine.close()
  })

  it.each([true, false])('run at once, two hundred of them (in the background: %s)', async (background) => {
    const test = testEngine(
      (request) => {
        if (!isRoot(request)) return say('done')
        return turnOf(request) === 0 ? callMany(agents(200, background)) : say('all done')
      },
      { limits: { liveAgents: 201 } },
    )
    expect((await test.engine.run('go').result).text).toBe('all done')
    expect(ends(test.facts)).toHaveLength(201)
    expect(errors(test.facts)).toEqual([])
    await test.engine.close()
  })

  it.each([
    // At the depth there is no Agent tool any more; the call is refused all the same.
    ['depth', { depth: 3 }, 'has no tool Agent'],
    ['the number of spawns', { depth: 50, spawns: 30, liveAgents: 1_000 }, 'limits.spawns'],
  ])('that start agents without an end are stopped by %s, and told so', async (_, limits, name) => {
    const spawner = (request: ModelRequest): ScriptedReply =>
      turnOf(request) === 0 ? callMany(agents(2)) : say('stopped')
    const test = testEngine(spawner, { limits, features: { nesting: true } })
    expect((await test.engine.run('go').result).status).toBe('completed')
    expect(errors(test.facts).length).toBeGreaterThan(0)
    for (const error of errors(test.facts)) expect(error).toContain(name)
    expect(ends(test.facts).every(({ status }) => status === 'completed')).toBe(true)
    await test.engine.close()
  })
})

describe('forks of a conversation of 200,000 tokens', () => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const heap = (): number => {
    collect()
    return process.memoryUsage().heapUsed
  }

  it('take less than 100 KiB each', async () => {
    const FORKS = 20
    let before = 0
    let after = 0
    let asked = 0
    const test = testEngine(
      (request: ModelRequest): ScriptedReply => {
        const turn = turnOf(request)
        if (request.source === 'fork') return say('Scope: done')
        // 4 characters a token: 200 turns of 4,000 characters.
        if (turn < 200) return callMany([{ name: 'ListAgents', input: {} }], `${turn} `.padEnd(4_000, 'x'))
        if (turn === 200)
          return callMany(
            Array.from({ length: FORKS }, (_, i) => ({
              name: 'Agent',
              input: { description: 'f', prompt: `${i}` },
            })),
          )
        return say('the end')
      },
      {
        features: { fork: true },
      },
    )
    test.engine.events$.subscribe((event) => {
      if (event.kind !== 'fact' || event.event.type !== 'call.started' || event.event.child === undefined)
        return
      if (before === 0) before = heap()
    })
    test.engine.events$.subscribe((event) => {
      // Behind the reply of each fork: it has been asked, with all of its conversation.
      if (event.kind !== 'fact' || event.event.type !== 'reply.received' || event.event.calls.length > 0)
        return
      asked += 1
      if (asked === FORKS) after = heap()
    })
    await test.engine.run('go').result
    expect(asked).toBeGreaterThanOrEqual(FORKS)
    expect((after - before) / FORKS / 1024).toBeLessThan(100)
    await test.engine.close()
  })
})
