/** What a resume does with the agents of a tree: re-attached, delivered, brought to an end; and who may resume. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { call, say } from '../../src/effects/model/scripted-reply.ts'
import { appendToRoot } from './support/append-to-root.ts'
import { expectLawful, expectNoProcesses } from './support/laws.ts'
import { append, rootOf, ticking, useWorker, withChild } from './support/lives.ts'
import type { AgentLog, LifeOptions, Stage } from './support/stage.ts'
import { callsIn, linesIn, ofType, readLogs, requestsOf, setStage, startLife } from './support/stage.ts'

const lives = useWorker()

describe('an Agent call', () => {
  const put = call('Put', { id: 'of the child' })
  const child = withChild(put, say('the report'))

  /** The child's report reached the parent once, and the child asked its model no more often than it had to. */
  async function expectDelivered(stage: Stage, childRequests: readonly number[]) {
    const { root, children, calls } = await lives.resumed(stage)
    expect(children).toHaveLength(1)
    expect(calls[0]?.ended?.outcome).toBe('ok')
    expect(JSON.stringify(calls[0]?.ended?.result.content)).toContain('the report')
    expect(requestsOf(stage).flatMap(({ prompt, turn }) => (prompt === 'the child' ? [turn] : []))).toEqual(
      childRequests,
    )
    expect(linesIn(stage, 'keyed')).toHaveLength(1)
    return { root, children }
  }

  it('is re-attached to a child that is running', async () => {
    const stage = setStage(child)
    await lives.killedAt(stage, { at: 'request', prompt: 'the child', turn: 1 })
    await expectDelivered(stage, [0, 1, 1])
  })

  it('delivers a child that had finished and was not delivered, without running anything of it', async () => {
    const stage = setStage(child)
    const logs = await lives.killedAt(stage, append('agent.ended', 'after', 'child'))
    expect(ofType(logs[0]?.events ?? [], 'call.ended')).toEqual([])
    const { children } = await expectDelivered(stage, [0, 1])
    expect(children[0]?.events.map(({ type }) => type)).not.toContain('run.resumed')
  })

  it('delivers it when the delivery itself was cut off', async () => {
    const stage = setStage(child)
    await lives.killedAt(stage, append('call.ended', 0.5))
    await expectDelivered(stage, [0, 1])
  })

  it('spawns the child whose file was never made, under the id that the parent has recorded', async () => {
    const stage = setStage(child)
    const logs = await lives.killedAt(stage, append('agent.spawned', 'before', 'child'))
    expect(logs).toHaveLength(1)
    const recorded = ofType(logs[0]?.events ?? [], 'call.started')[0]?.child?.agentId
    const { children } = await expectDelivered(stage, [0, 1])
    expect(ofType(children[0]?.events ?? [], 'agent.spawned')[0]?.agentId).toBe(recorded)
  })

  it('spawns the child whose birth was cut off', async () => {
    const stage = setStage(child)
    await lives.killedAt(stage, append('agent.spawned', 0.7, 'child'))
    await expectDelivered(stage, [0, 1])
  })

  it.each([0, 0.5])(
    'starts the run of a child that was born and no more (%s of the next line is there)',
    async (share) => {
      const stage = setStage(child)
      const logs = await lives.killedAt(stage, append('run.started', share, 'child'))
      expect(logs[1]?.events.map(({ type }) => type)).toEqual(['agent.spawned'])
      const { children } = await expectDelivered(stage, [0, 1])
      expect(ofType(children[0]?.events ?? [], 'agent.spawned')).toHaveLength(1)
    },
  )

  it('goes on behind the torn last line of its child', async () => {
    const stage = setStage(child)
    const logs = await lives.killedAt(stage, append('call.ended', 0.9, 'child'))
    expect(logs[1]?.log.torn).toBeDefined()
    await expectDelivered(stage, [0, 1])
  })

  it('survives a second kill after a torn line was gone past', async () => {
    const stage = setStage(child)
    await lives.killedAt(stage, append('call.ended', 0.9, 'child'))
    await lives.killedAt(stage, { at: 'request', prompt: 'the child', turn: 1 }, { life: 2 })
    await expectDelivered(stage, [0, 1, 1])
  })

  it('writes what others read about the child again when a kill has swallowed it', async () => {
    const stage = setStage(child)
    await lives.killedAt(stage, append('agent.spawned', 'after', 'child'))
    const metas = () => readdirSync(stage.paths.subagents).filter((name) => name.endsWith('.meta.json'))
    expect(metas()).toEqual([])
    await expectDelivered(stage, [0, 1])
    expect(metas()).toHaveLength(1)
  })
})

describe('a run that was being ended', () => {
  const killed = { type: 'kill.requested', by: 'user' } as const

  /** What is left when the innermost of these agents was running a command and everything died. */
  async function leftBehind(stage: Stage, options: LifeOptions = {}): Promise<readonly AgentLog[]> {
    await lives.killedAt(stage, append('process.started', 'after', 'child'), options)
    return readLogs(stage)
  }

  it('brings its running child to an end, and delivers that', async () => {
    const empty = setStage(rootOf())
    const stage = { ...empty, play: withChild(call('Bash', { command: ticking(empty) }), say('the report')) }
    await leftBehind(stage)
    // Somebody killed the root, and the child has not heard of it.
    await appendToRoot(stage, killed)
    expect(await lives.secondLife(stage)).toMatchObject({
      kind: 'result',
      status: 'killed',
    })
    const logs = await readLogs(stage)
    expectLawful(logs)
    expectNoProcesses(logs)
    expect(callsIn(logs[0]?.events ?? [])[0]?.ended).toMatchObject({
      outcome: 'interrupted',
      delivered: { run: 1 },
    })
    expect(
      requestsOf(stage).filter(({ life }) => life === 2),
      'nothing of the child goes on',
    ).toEqual([])
  })

  it('delivers a child that had finished by itself', async () => {
    const stage = setStage(withChild(say('the report')))
    await lives.killedAt(stage, append('agent.ended', 'after', 'child'))
    await appendToRoot(stage, killed)
    expect(await lives.secondLife(stage)).toMatchObject({
      kind: 'result',
      status: 'killed',
    })
    const logs = await readLogs(stage)
    expectLawful(logs)
    expect(callsIn(logs[0]?.events ?? [])[0]?.ended).toMatchObject({ outcome: 'ok', delivered: { run: 1 } })
  })

  it('reaches down to the children of its children', async () => {
    const empty = setStage(rootOf())
    const grandchild = call('Agent', {
      description: 'a grandchild',
      prompt: 'of another',
      subagent_type: 'general-purpose',
    })
    const stage = {
      ...empty,
      play: {
        ...withChild(grandchild, say('the report')),
        'of another': [call('Bash', { command: ticking(empty) }), say('done')],
      },
    }
    expect(await leftBehind(stage, { depth: 2 })).toHaveLength(3)
    await appendToRoot(stage, killed)
    expect(await lives.secondLife(stage, { depth: 2 })).toMatchObject({
      status: 'killed',
    })
    const logs = await readLogs(stage)
    expectLawful(logs)
    expectNoProcesses(logs)
    expect(logs.map(({ events }) => ofType(events, 'agent.ended')[0]?.status)).toEqual([
      'killed',
      'killed',
      'killed',
    ])
    expect(requestsOf(stage).filter(({ life }) => life === 2)).toEqual([])
  })

  it('ends a child that nobody waits for any more before it says that nothing is left to do', async () => {
    const empty = setStage(rootOf())
    const stage = { ...empty, play: withChild(call('Bash', { command: ticking(empty) }), say('the report')) }
    const [root] = await leftBehind(stage)
    const callId = ofType(root?.events ?? [], 'call.started')[0]?.callId
    if (callId === undefined) throw new Error('the call of the child was started')
    // As when the child's log could not be written: the root has gone on without it.
    const usage = { input_tokens: 0, output_tokens: 0 }
    await appendToRoot(
      stage,
      killed,
      {
        type: 'call.ended',
        callId,
        outcome: 'interrupted',
        result: { type: 'tool_result', tool_use_id: 'x', content: 'gone', is_error: true },
      },
      {
        type: 'agent.ended',
        run: 1,
        status: 'killed',
        outcome: { kind: 'killed', by: 'user' },
        turns: 1,
        toolUses: 1,
        usage,
        totalUsage: usage,
        durationMs: 1,
      },
    )
    expect(await lives.secondLife(stage)).toEqual({ kind: 'over' })
    const logs = await readLogs(stage)
    expectNoProcesses(logs)
    expect(ofType(logs[1]?.events ?? [], 'agent.ended')).toMatchObject([
      { status: 'killed', outcome: { by: 'engine' } },
    ])
  })
})

describe('the lock of a dead engine', () => {
  it('is taken over by one of two that resume at once; the other is told by whom', async () => {
    const stage = setStage(rootOf(call('Put', { id: 'x' })))
    await lives.killedAt(stage, { at: 'request', prompt: 'the root', turn: 1 })
    expect(existsSync(stage.paths.lock)).toBe(true)
    const two = [2, 3].map((life) => startLife(lives.path, stage, { life, gate: 'gate', modelMs: 10 }))
    // Whoever has the lock waits at the gate until the other has been sent away.
    await Promise.race(two.map(({ report }) => report))
    writeFileSync(path.join(stage.world, 'gate'), '')
    const reports = await Promise.all(two.map(({ report }) => report))
    const winner = reports.findIndex((report) => report?.kind === 'result')
    expect(reports[winner]).toMatchObject({ status: 'completed', text: 'the end' })
    expect(reports[1 - winner]).toMatchObject({
      kind: 'refused',
      code: 'session-locked',
      message: expect.stringContaining(`process ${two[winner]?.process.pid}`),
    })
    expectLawful(await readLogs(stage))
    expect(readdirSync(stage.paths.sessionFolder).filter((name) => name.startsWith('lock'))).toEqual([])
  })
})
