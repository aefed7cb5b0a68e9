/** Calls that wait for somebody's word: each is answered once, over restarts, whatever the order. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import type { ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { callMany, say } from '../../src/effects/model/scripted-reply.ts'
import type { Tool } from '../../src/effects/tools/tool.ts'
import type { ApprovalAnswer, ApprovalRequest, EngineOptions } from '../../src/engine/api.ts'
import type { MemoryStorage } from '../../src/journal/memory-storage.ts'
import { settle, testEngine } from '../helpers/engine.ts'
import { turnOf } from '../helpers/scripts.ts'

const SESSION = '44444444-4444-4444-8444-444444444444'

/** A tool that changes the world, and what it was called with. */
class World {
  readonly done: string[] = []

  readonly tool: Tool<{ id: string }> = {
    name: 'Act',
    description: 'Acts',
    inputSchema: z.strictObject({ id: z.string() }),
    resume: 'interrupt',
    isReadOnly: () => false,
    isConcurrencySafe: () => true,
    run: async ({ id }) => {
      this.done.push(id)
      return { content: `did ${id}` }
    },
  }
}

const act = (id: string) => ({ name: 'Act', input: { id } })

function engineOf(
  world: World,
  script: (request: ModelRequest) => ScriptedReply,
  permissions: EngineOptions['permissions'],
  more: { readonly storage?: MemoryStorage; readonly idsFrom?: number } = {},
) {
  return testEngine(script, {
    tools: [world.tool],
    permissions: { mode: 'default', ...permissions },
    ...more,
  })
}

const one = (request: ModelRequest): ScriptedReply =>
  turnOf(request) === 0 ? callMany([act('a')]) : say('done')

/** Lets the engine come to rest: everything that can happen without an answer has happened. */
const rest = () => settle(60)

describe('a call that needs approval', () => {
  it('is refused where nobody can be asked', async () => {
    const world = new World()
    const { engine } = engineOf(world, one, {})
    expect((await engine.run('go').result).denials).toHaveLength(1)
    await engine.close()
    expect(world.done).toEqual([])
  })

  it.each<[string, ApprovalAnswer, string[]]>([
    ['allowed', { decision: 'allow' }, ['a']],
    ['allowed with another input', { decision: 'allow', input: { id: 'b' } }, ['b']],
    ['allowed with an input that the tool does not take', { decision: 'allow', input: { no: 1 } }, []],
    ['denied', { decision: 'deny', message: 'not today' }, []],
  ])('is %s by the host', async (_, answer, done) => {
    const world = new World()
    const asked: ApprovalRequest[] = []
    const { engine, facts } = engineOf(world, one, {
      canUseTool: (request) => {
        asked.push(request)
        return answer
      },
    })
    await engine.run('go').result
    await engine.close()
    expect(world.done).toEqual(done)
    expect(asked).toMatchObject([{ toolName: 'Act', input: { id: 'a' }, agentType: 'main' }])
    const results = facts.flatMap(({ event }) => (event.type === 'call.ended' ? [event] : []))
    expect(results[0]?.outcome).toBe(done.length > 0 ? 'ok' : 'denied')
    if (answer.decision === 'deny') expect(JSON.stringify(results[0]?.result)).toContain('not today')
  })

  it('is refused when the host fails to decide, and the failure is told', async () => {
    const world = new World()
    const { engine, events } = engineOf(world, one, {
      canUseTool: () => {
        throw new Error('the dialog crashed')
      },
    })
    await engine.run('go').result
    await engine.close()
    expect(world.done).toEqual([])
    expect(events).toContainEqual(expect.objectContaining({ kind: 'diagnostic', code: 'approval-failed' }))
  })

  it('waits, and its answer is taken once', async () => {
    const world = new World()
    const { engine } = engineOf(world, one, { wait: true })
    const run = engine.run('go')
    await rest()
    const [request] = engine.approvals
    expect(world.done).toEqual([])
    engine.answer(request?.approvalId ?? '', { decision: 'allow' }, 'ann')
    expect(() => engine.answer(request?.approvalId ?? '', { decision: 'deny' })).toThrow(
      expect.objectContaining({ code: 'no-such-approval' }),
    )
    await run.result
    await engine.close()
    expect(world.done).toEqual(['a'])
  })

  it('ends with its agent: nothing waits any more, and nothing runs', async () => {
    const world = new World()
    const { engine } = engineOf(world, one, { wait: true })
    const run = engine.run('go')
    await rest()
    await engine.kill(await run.started)
    expect(engine.approvals).toEqual([])
    expect((await run.result).status).toBe('killed')
    await engine.close()
    expect(world.done).toEqual([])
  })

  it('allowed for always asks for no more of its kind, also after a restart', async () => {
    const world = new World()
    const asked: string[] = []
    const canUseTool = ({ approvalId }: ApprovalRequest): ApprovalAnswer => {
      asked.push(approvalId)
      return { decision: 'allow', always: true }
    }
    const script = (request: ModelRequest) =>
      turnOf(request) % 3 < 2 ? callMany([act(`t${turnOf(request)}`)]) : say('done')
    const first = engineOf(world, script, { canUseTool })
    await first.engine.run('go', { sessionId: SESSION }).result
    const storage = first.storage.crash()
    await first.engine.close()
    const second = engineOf(world, script, { canUseTool }, { storage, idsFrom: 100_000 })
    await second.engine.run('again', { sessionId: SESSION }).result
    await second.engine.close()
    expect(world.done).toEqual(['t0', 't1', 't3', 't4'])
    expect(asked).toHaveLength(1)
  })
})

describe('many approvals', () => {
  const CHILDREN = 5
  const script = (request: ModelRequest): ScriptedReply => {
    const opening = JSON.stringify(request.messages[0])
    const child = /child (\d)/.exec(opening)?.[1]
    if (child !== undefined)
      return turnOf(request) === 0 ? callMany([act(`${child}a`), act(`${child}b`)]) : say(`report ${child}`)
    if (turnOf(request) > 0) return say('done')
    return callMany(
      Array.from({ length: CHILDREN }, (_, i) => ({
        name: 'Agent',
        input: { description: 'a part', prompt: `child ${i}` },
      })),
    )
  }

  it('of five children, two each, answered in any order around a crash: every body runs exactly once', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray(
          Array.from({ length: 2 * CHILDREN }, (_, i) => i),
          { minLength: 2 * CHILDREN },
        ),
        fc.nat(2 * CHILDREN),
        async (order, before) => {
          const world = new World()
          const first = engineOf(world, script, { wait: true })
          first.engine.run('go', { sessionId: SESSION }).result.catch(() => {})
          await rest()
          const ids = first.engine.approvals.map(({ approvalId }) => approvalId)
          expect(new Set(ids).size).toBe(2 * CHILDREN)
          const answer = (engine: typeof first.engine, i: number | undefined) =>
            engine.answer(ids[i ?? -1] ?? '', { decision: 'allow' })
          for (const i of order.slice(0, before)) answer(first.engine, i)
          await rest()
          const storage = first.storage.crash()
          const second = engineOf(world, script, { wait: true }, { storage, idsFrom: 100_000 })
          const run = await second.engine.resume(SESSION)
          await rest()
          const waiting = second.engine.approvals.map(({ approvalId }) => approvalId)
          // Who was answered is not asked again, and the others keep their names.
          expect(new Set(waiting)).toEqual(new Set(order.slice(before).map((i) => ids[i])))
          for (const i of order.slice(before)) answer(second.engine, i)
          if (run !== undefined) expect((await run.result).text).toBe('done')
          await second.engine.close()
          await first.engine.close().catch(() => {})
          expect(world.done.toSorted()).toEqual(
            Array.from({ length: CHILDREN }, (_, i) => [`${i}a`, `${i}b`]).flat(),
          )
        },
      ),
      { numRuns: 12 },
    )
  })
})
