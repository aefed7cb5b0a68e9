/**
 * What a resume does with a call in flight: each rule has its kill. The process kills itself at the named point, so
 * that it always dies at the same moment.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ScriptedParts } from '../../src/effects/model/scripted-reply.ts'
import { call, callMany, say } from '../../src/effects/model/scripted-reply.ts'
import { appendToRoot } from './support/append-to-root.ts'
import type { CompiledWorker } from './support/compile-worker.ts'
import { compileWorker } from './support/compile-worker.ts'
import type { KillPoint } from './support/kill-point.ts'
import { expectLawful, expectNoProcesses, markedProcesses } from './support/laws.ts'
import type { AgentLog, LifeOptions, Stage } from './support/stage.ts'
import { callsIn, linesIn, ofType, readLogs, requestsOf, setStage, startLife } from './support/stage.ts'

let worker: CompiledWorker
beforeAll(async () => {
  worker = await compileWorker()
})
afterAll(() => worker.dispose())

/** The session as a process left it that died at the given point. */
async function killedAt(stage: Stage, killAt: KillPoint, options: LifeOptions = {}): Promise<readonly AgentLog[]> {
  const life = startLife(worker.path, stage, { ...options, killAt })
  expect(await life.report, 'the process must die at its point').toBeUndefined()
  return readLogs(stage)
}

/** A second process goes on, and the session comes to a lawful end. */
async function resumed(stage: Stage, options: LifeOptions = {}) {
  const report = await startLife(worker.path, stage, { life: 2, ...options }).report
  expect(report).toMatchObject({ kind: 'result', wasResumed: true, status: 'completed', text: 'the end' })
  const logs = await readLogs(stage)
  expectLawful(logs)
  expectNoProcesses(logs)
  const [root, ...children] = logs
  if (root === undefined) throw new Error('a session has a root')
  return { report, root, children, calls: callsIn(root.events) }
}

const append = (event: Extract<KillPoint, { at: 'append' }>['event'], when: 'before' | 'after' | number, of: 'root' | 'child' = 'root', nth = 1): KillPoint => ({
  at: 'append',
  event,
  of,
  when,
  nth,
})

/** A root that says these things, and then that it is done. */
const rootOf = (...replies: readonly ScriptedParts[]) => ({ 'the root': [...replies, say('the end')] })

/** A root with one child that says these things. */
const withChild = (...replies: readonly ScriptedParts[]) => ({
  ...rootOf(call('Agent', { description: 'a child', prompt: 'the child', subagent_type: 'general-purpose' })),
  'the child': replies,
})

const fileOf = (stage: Stage, name: string): string => path.join(stage.project, name)
const ticking = (stage: Stage): string => `for i in $(seq 100); do echo tick >> ${stage.world}/ticks; sleep 0.05; done`

describe('a call that may be repeated', () => {
  it('is made again: its answer is the one of now', async () => {
    const stage = setStage(rootOf(call('Read', { file_path: 'note.txt' })))
    writeFileSync(fileOf(stage, 'note.txt'), 'before the kill')
    const [root] = await killedAt(stage, append('call.ended', 'before'))
    expect(root?.events.map(({ type }) => type)).not.toContain('call.started')
    writeFileSync(fileOf(stage, 'note.txt'), 'after the kill')
    const { calls } = await resumed(stage)
    expect(calls[0]?.ended).toMatchObject({ outcome: 'ok', result: { content: expect.stringContaining('after the kill') } })
  })
})

describe('a keyed call', () => {
  const write = call('Write', { file_path: 'out.txt', content: 'written' })

  it('killed between its intent and its work: the work is done by the resume', async () => {
    const stage = setStage(rootOf(write))
    await killedAt(stage, append('call.started', 'after'))
    expect(existsSync(fileOf(stage, 'out.txt'))).toBe(false)
    const { calls } = await resumed(stage)
    expect(calls[0]?.ended?.outcome).toBe('ok')
    expect(readFileSync(fileOf(stage, 'out.txt'), 'utf8')).toBe('written')
  })

  it('killed between its work and its result: the work is found done', async () => {
    const stage = setStage(rootOf(write))
    await killedAt(stage, append('call.ended', 'before'))
    expect(readFileSync(fileOf(stage, 'out.txt'), 'utf8')).toBe('written')
    const { calls } = await resumed(stage)
    expect(calls[0]?.ended?.outcome).toBe('ok')
    expect(readdirSync(stage.project)).toEqual(['out.txt'])
  })

  it('does not overwrite what somebody else has written in between', async () => {
    const stage = setStage(rootOf(write))
    await killedAt(stage, append('call.started', 'after'))
    writeFileSync(fileOf(stage, 'out.txt'), 'of somebody else')
    const { calls } = await resumed(stage)
    expect(calls[0]?.ended).toMatchObject({ outcome: 'error', result: { content: expect.stringContaining('changed by somebody else') } })
    expect(readFileSync(fileOf(stage, 'out.txt'), 'utf8')).toBe('of somebody else')
  })

  it('killed in the middle of an edit: the text is replaced once', async () => {
    const edit = call('Edit', { file_path: 'code.txt', old_string: 'a', new_string: 'aa' })
    const stage = setStage(rootOf(call('Read', { file_path: 'code.txt' }), edit))
    writeFileSync(fileOf(stage, 'code.txt'), 'a')
    await killedAt(stage, append('call.ended', 'before', 'root', 2))
    expect(readFileSync(fileOf(stage, 'code.txt'), 'utf8')).toBe('aa')
    const { calls } = await resumed(stage)
    expect(calls[1]?.ended?.outcome).toBe('ok')
    expect(readFileSync(fileOf(stage, 'code.txt'), 'utf8')).toBe('aa')
  })

  it('of a tool of the host gets the same key: its work is done once', async () => {
    const stage = setStage(rootOf(call('Put', { id: 'x' })))
    await killedAt(stage, { at: 'put', id: 'x' })
    const { calls } = await resumed(stage)
    expect(calls[0]?.ended?.outcome).toBe('ok')
    expect(linesIn(stage, 'keyed')).toHaveLength(1)
  })
})

describe('a call that must not be repeated', () => {
  it('is told as interrupted; its process is ended before anything else happens', async () => {
    const play = rootOf()
    const empty = setStage(play)
    const stage = {
      ...empty,
      play: rootOf(call('Bash', { command: ticking(empty) }), call('Bash', { command: `echo next >> ${empty.world}/ticks` })),
    }
    const [before] = await killedAt(stage, append('process.started', 'after'))
    const id = ofType(before?.events ?? [], 'agent.spawned')[0]?.agentId ?? ''
    expect(markedProcesses([id]), 'the command outlives its engine').not.toEqual([])
    const { root, calls } = await resumed(stage)
    expect(calls.map(({ ended }) => ended?.outcome)).toEqual(['interrupted', 'ok'])
    expect(calls[0]?.ended?.result.content).toContain('may have run in part')
    expect(ofType(root.events, 'run.resumed')[0]?.survivors).toBe(1)
    const lines = linesIn(stage, 'ticks')
    expect(lines.filter((line) => line === 'next')).toHaveLength(1)
    expect(lines.at(-1), 'no tick comes after the survivor was ended').toBe('next')
  })

  it('killed before its process was in the log: the mark finds it', async () => {
    const empty = setStage(rootOf())
    const stage = { ...empty, play: rootOf(call('Bash', { command: ticking(empty) })) }
    await killedAt(stage, append('process.started', 'before'))
    const { root, calls } = await resumed(stage)
    expect(calls[0]?.ended?.outcome).toBe('interrupted')
    expect(ofType(root.events, 'run.resumed')[0]?.survivors).toBe(1)
  })

  it('ends a survivor that left the group of its call', async () => {
    const empty = setStage(rootOf())
    const command = `setsid bash -c '${ticking(empty)}' & sleep 5`
    const stage = { ...empty, play: rootOf(call('Bash', { command })) }
    await killedAt(stage, append('process.started', 'after'))
    const { root } = await resumed(stage)
    expect(ofType(root.events, 'run.resumed')[0]?.survivors).toBeGreaterThanOrEqual(1)
  })

  it('with its start not in the log, has done nothing and is made', async () => {
    const empty = setStage(rootOf())
    const stage = { ...empty, play: rootOf(call('Bash', { command: `echo once >> ${empty.world}/ledger` })) }
    await killedAt(stage, append('call.started', 'before'))
    expect(linesIn(stage, 'ledger')).toEqual([])
    const { calls } = await resumed(stage)
    expect(calls[0]?.ended?.outcome).toBe('ok')
    expect(linesIn(stage, 'ledger')).toEqual(['once'])
  })

  it('done, with its result not in the log, is not done again', async () => {
    const empty = setStage(rootOf())
    const stage = { ...empty, play: rootOf(call('Bash', { command: `echo once >> ${empty.world}/ledger` })) }
    await killedAt(stage, append('call.ended', 'before'))
    const { calls } = await resumed(stage)
    expect(calls[0]?.ended?.outcome).toBe('interrupted')
    expect(linesIn(stage, 'ledger')).toEqual(['once'])
  })

  it('does not hold up the calls that wait behind it', async () => {
    const empty = setStage(rootOf())
    const line = (text: string) => ({ name: 'Bash', input: { command: `echo ${text} >> ${empty.world}/ledger` } })
    const stage = { ...empty, play: rootOf(callMany([line('one'), { name: 'Put', input: { id: 'two' } }, line('three')])) }
    await killedAt(stage, append('process.started', 'after'))
    const { calls } = await resumed(stage)
    expect(calls.map(({ ended }) => ended?.outcome)).toEqual(['interrupted', 'ok', 'ok'])
    expect(linesIn(stage, 'ledger').filter((text) => text === 'three')).toHaveLength(1)
    expect(linesIn(stage, 'keyed')).toHaveLength(1)
  })
})

describe('a call that permissions refuse', () => {
  it.each(['before', 'after'] as const)('killed %s its refusal is in the log: it is refused once', async (when) => {
    const stage = setStage(rootOf(call('Bash', { command: 'echo no' })))
    const deny = ['Bash(echo *)']
    await killedAt(stage, append('call.ended', when), { deny })
    const { root, calls } = await resumed(stage, { deny })
    expect(calls[0]?.ended?.outcome).toBe('denied')
    expect(ofType(root.events, 'agent.ended')[0]?.denials).toEqual({ Bash: 1 })
  })
})

describe('a model request in flight', () => {
  it('is made again, and only that one', async () => {
    const stage = setStage(rootOf(call('Put', { id: 'x' })))
    await killedAt(stage, { at: 'request', prompt: 'the root', turn: 1 })
    await resumed(stage)
    expect(requestsOf(stage).map(({ turn }) => turn)).toEqual([0, 1, 1])
  })

  it('whose reply was cut off in the log is made again; the cut lines count for nothing', async () => {
    const stage = setStage(rootOf(callMany([{ name: 'Put', input: { id: 'x' } }, { name: 'Put', input: { id: 'y' } }], 'two puts')))
    await killedAt(stage, append('reply.received', 2.5))
    await resumed(stage)
    expect(requestsOf(stage).map(({ turn }) => turn)).toEqual([0, 0, 1])
    expect(linesIn(stage, 'keyed')).toHaveLength(2)
  })
})

describe('an Agent call', () => {
  const put = call('Put', { id: 'of the child' })
  const child = withChild(put, say('the report'))

  /** The child's report reached the parent once, and the child asked its model no more often than it had to. */
  async function expectDelivered(stage: Stage, childRequests: readonly number[]) {
    const { root, children, calls } = await resumed(stage)
    expect(children).toHaveLength(1)
    expect(calls[0]?.ended?.outcome).toBe('ok')
    expect(JSON.stringify(calls[0]?.ended?.result.content)).toContain('the report')
    expect(requestsOf(stage).flatMap(({ prompt, turn }) => (prompt === 'the child' ? [turn] : []))).toEqual(childRequests)
    expect(linesIn(stage, 'keyed')).toHaveLength(1)
    return { root, children }
  }

  it('is re-attached to a child that is running', async () => {
    const stage = setStage(child)
    await killedAt(stage, { at: 'request', prompt: 'the child', turn: 1 })
    await expectDelivered(stage, [0, 1, 1])
  })

  it('delivers a child that had finished and was not delivered, without running anything of it', async () => {
    const stage = setStage(child)
    const logs = await killedAt(stage, append('agent.ended', 'after', 'child'))
    expect(ofType(logs[0]?.events ?? [], 'call.ended')).toEqual([])
    const { children } = await expectDelivered(stage, [0, 1])
    expect(children[0]?.events.map(({ type }) => type)).not.toContain('run.resumed')
  })

  it('delivers it when the delivery itself was cut off', async () => {
    const stage = setStage(child)
    await killedAt(stage, append('call.ended', 0.5))
    await expectDelivered(stage, [0, 1])
  })

  it('spawns the child whose file was never made, under the id that the parent has recorded', async () => {
    const stage = setStage(child)
    const logs = await killedAt(stage, append('agent.spawned', 'before', 'child'))
    expect(logs).toHaveLength(1)
    const recorded = ofType(logs[0]?.events ?? [], 'call.started')[0]?.child?.agentId
    const { children } = await expectDelivered(stage, [0, 1])
    expect(ofType(children[0]?.events ?? [], 'agent.spawned')[0]?.agentId).toBe(recorded)
  })

  it('spawns the child whose birth was cut off', async () => {
    const stage = setStage(child)
    await killedAt(stage, append('agent.spawned', 0.7, 'child'))
    await expectDelivered(stage, [0, 1])
  })

  it.each([0, 0.5])('starts the run of a child that was born and no more (%s of the next line is there)', async (share) => {
    const stage = setStage(child)
    const logs = await killedAt(stage, append('run.started', share, 'child'))
    expect(logs[1]?.events.map(({ type }) => type)).toEqual(['agent.spawned'])
    const { children } = await expectDelivered(stage, [0, 1])
    expect(ofType(children[0]?.events ?? [], 'agent.spawned')).toHaveLength(1)
  })

  it('goes on behind the torn last line of its child', async () => {
    const stage = setStage(child)
    const logs = await killedAt(stage, append('call.ended', 0.9, 'child'))
    expect(logs[1]?.log.torn).toBeDefined()
    await expectDelivered(stage, [0, 1])
  })

  it('survives a second kill after a torn line was gone past', async () => {
    const stage = setStage(child)
    await killedAt(stage, append('call.ended', 0.9, 'child'))
    await killedAt(stage, { at: 'request', prompt: 'the child', turn: 1 }, { life: 2 })
    await expectDelivered(stage, [0, 1, 1])
  })

  it('writes what others read about the child again when a kill has swallowed it', async () => {
    const stage = setStage(child)
    await killedAt(stage, append('agent.spawned', 'after', 'child'))
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
    await killedAt(stage, append('process.started', 'after', 'child'), options)
    return readLogs(stage)
  }

  it('brings its running child to an end, and delivers that', async () => {
    const empty = setStage(rootOf())
    const stage = { ...empty, play: withChild(call('Bash', { command: ticking(empty) }), say('the report')) }
    await leftBehind(stage)
    // Somebody killed the root, and the child has not heard of it.
    await appendToRoot(stage, killed)
    expect(await startLife(worker.path, stage, { life: 2 }).report).toMatchObject({ kind: 'result', status: 'killed' })
    const logs = await readLogs(stage)
    expectLawful(logs)
    expectNoProcesses(logs)
    expect(callsIn(logs[0]?.events ?? [])[0]?.ended).toMatchObject({ outcome: 'interrupted', delivered: { run: 1 } })
    expect(requestsOf(stage).filter(({ life }) => life === 2), 'nothing of the child goes on').toEqual([])
  })

  it('delivers a child that had finished by itself', async () => {
    const stage = setStage(withChild(say('the report')))
    await killedAt(stage, append('agent.ended', 'after', 'child'))
    await appendToRoot(stage, killed)
    expect(await startLife(worker.path, stage, { life: 2 }).report).toMatchObject({ kind: 'result', status: 'killed' })
    const logs = await readLogs(stage)
    expectLawful(logs)
    expect(callsIn(logs[0]?.events ?? [])[0]?.ended).toMatchObject({ outcome: 'ok', delivered: { run: 1 } })
  })

  it('reaches down to the children of its children', async () => {
    const empty = setStage(rootOf())
    const grandchild = call('Agent', { description: 'a grandchild', prompt: 'of another', subagent_type: 'general-purpose' })
    const stage = {
      ...empty,
      play: { ...withChild(grandchild, say('the report')), 'of another': [call('Bash', { command: ticking(empty) }), say('done')] },
    }
    expect(await leftBehind(stage, { depth: 2 })).toHaveLength(3)
    await appendToRoot(stage, killed)
    expect(await startLife(worker.path, stage, { life: 2, depth: 2 }).report).toMatchObject({ status: 'killed' })
    const logs = await readLogs(stage)
    expectLawful(logs)
    expectNoProcesses(logs)
    expect(logs.map(({ events }) => ofType(events, 'agent.ended')[0]?.status)).toEqual(['killed', 'killed', 'killed'])
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
      { type: 'call.ended', callId, outcome: 'interrupted', result: { type: 'tool_result', tool_use_id: 'x', content: 'gone', is_error: true } },
      { type: 'agent.ended', run: 1, status: 'killed', outcome: { kind: 'killed', by: 'user' }, turns: 1, toolUses: 1, usage, totalUsage: usage, durationMs: 1 },
    )
    expect(await startLife(worker.path, stage, { life: 2 }).report).toEqual({ kind: 'over' })
    const logs = await readLogs(stage)
    expectNoProcesses(logs)
    expect(ofType(logs[1]?.events ?? [], 'agent.ended')).toMatchObject([{ status: 'killed', outcome: { by: 'engine' } }])
  })
})

describe('the lock of a dead engine', () => {
  it('is taken over by one of two that resume at once; the other is told by whom', async () => {
    const stage = setStage(rootOf(call('Put', { id: 'x' })))
    await killedAt(stage, { at: 'request', prompt: 'the root', turn: 1 })
    expect(existsSync(stage.paths.lock)).toBe(true)
    const lives = [2, 3].map((life) => startLife(worker.path, stage, { life, modelMs: 1_500 }))
    const reports = await Promise.all(lives.map(({ report }) => report))
    const winner = reports.findIndex((report) => report?.kind === 'result')
    expect(reports[winner]).toMatchObject({ status: 'completed', text: 'the end' })
    expect(reports[1 - winner]).toMatchObject({
      kind: 'refused',
      code: 'session-locked',
      message: expect.stringContaining(`process ${lives[winner]?.process.pid}`),
    })
    expectLawful(await readLogs(stage))
    expect(readdirSync(stage.paths.sessionFolder).filter((name) => name.startsWith('lock'))).toEqual([])
  })
})
