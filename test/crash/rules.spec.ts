/**
 * What a resume does with a call in flight: each rule has its kill. The process kills itself at the named point, so
 * that it always dies at the same moment. Calls of `Agent` are in `agents.spec.ts`.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { call, callMany } from '../../src/effects/model/scripted-reply.ts'
import { append, rootOf, ticking, useWorker } from './support/lives.ts'
import { markedProcesses } from './support/marked-processes.ts'
import type { Stage } from './support/stage.ts'
import { linesIn, ofType, requestsOf, setStage } from './support/stage.ts'

const lives = useWorker()

/** Only Linux shows the environment of a process, and with it the mark of a call. */
const itWithMarks = it.skipIf(process.platform !== 'linux')

const fileOf = (stage: Stage, name: string): string => path.join(stage.project, name)

describe('a call that may be repeated', () => {
  it('is made again: its answer is the one of now', async () => {
    const stage = setStage(rootOf(call('Read', { file_path: 'note.txt' })))
    writeFileSync(fileOf(stage, 'note.txt'), 'before the kill')
    const [root] = await lives.killedAt(stage, append('call.ended', 'before'))
    expect(root?.events.map(({ type }) => type)).not.toContain('call.started')
    writeFileSync(fileOf(stage, 'note.txt'), 'after the kill')
    const { calls } = await lives.resumed(stage)
    expect(calls[0]?.ended).toMatchObject({
      outcome: 'ok',
      result: { content: expect.stringContaining('after the kill') },
    })
  })
})

describe('a keyed call', () => {
  const write = call('Write', { file_path: 'out.txt', content: 'written' })

  it('killed between its intent and its work: the work is done by the resume', async () => {
    const stage = setStage(rootOf(write))
    await lives.killedAt(stage, append('call.started', 'after'))
    expect(existsSync(fileOf(stage, 'out.txt'))).toBe(false)
    const { calls } = await lives.resumed(stage)
    expect(calls[0]?.ended?.outcome).toBe('ok')
    expect(readFileSync(fileOf(stage, 'out.txt'), 'utf8')).toBe('written')
  })

  it('killed between its work and its result: the work is found done', async () => {
    const stage = setStage(rootOf(write))
    await lives.killedAt(stage, append('call.ended', 'before'))
    expect(readFileSync(fileOf(stage, 'out.txt'), 'utf8')).toBe('written')
    const { calls } = await lives.resumed(stage)
    expect(calls[0]?.ended?.outcome).toBe('ok')
    expect(readdirSync(stage.project)).toEqual(['out.txt'])
  })

  it('does not overwrite what somebody else has written in between', async () => {
    const stage = setStage(rootOf(write))
    await lives.killedAt(stage, append('call.started', 'after'))
    writeFileSync(fileOf(stage, 'out.txt'), 'of somebody else')
    const { calls } = await lives.resumed(stage)
    expect(calls[0]?.ended).toMatchObject({
      outcome: 'error',
      result: { content: expect.stringContaining('changed by somebody else') },
    })
    expect(readFileSync(fileOf(stage, 'out.txt'), 'utf8')).toBe('of somebody else')
  })

  it('killed in the middle of an edit: the text is replaced once', async () => {
    const edit = call('Edit', { file_path: 'code.txt', old_string: 'a', new_string: 'aa' })
    const stage = setStage(rootOf(call('Read', { file_path: 'code.txt' }), edit))
    writeFileSync(fileOf(stage, 'code.txt'), 'a')
    await lives.killedAt(stage, append('call.ended', 'before', 'root', 2))
    expect(readFileSync(fileOf(stage, 'code.txt'), 'utf8')).toBe('aa')
    const { calls } = await lives.resumed(stage)
    expect(calls[1]?.ended?.outcome).toBe('ok')
    expect(readFileSync(fileOf(stage, 'code.txt'), 'utf8')).toBe('aa')
  })

  it('of a tool of the host gets the same key: its work is done once', async () => {
    const stage = setStage(rootOf(call('Put', { id: 'x' })))
    await lives.killedAt(stage, { at: 'put', id: 'x' })
    const { calls } = await lives.resumed(stage)
    expect(calls[0]?.ended?.outcome).toBe('ok')
    expect(linesIn(stage, 'keyed')).toHaveLength(1)
  })
})

describe('a call that must not be repeated', () => {
  itWithMarks('is told as interrupted; its process is ended before anything else happens', async () => {
    const empty = setStage(rootOf())
    const stage = {
      ...empty,
      play: rootOf(
        call('Bash', { command: ticking(empty) }),
        call('Bash', { command: `echo next >> ${empty.world}/ticks` }),
      ),
    }
    const [before] = await lives.killedAt(stage, append('process.started', 'after'))
    const id = ofType(before?.events ?? [], 'agent.spawned')[0]?.agentId ?? ''
    expect(markedProcesses([id]), 'the command outlives its engine').not.toEqual([])
    const { root, calls } = await lives.resumed(stage)
    expect(calls.map(({ ended }) => ended?.outcome)).toEqual(['interrupted', 'ok'])
    expect(calls[0]?.ended?.result.content).toContain('may have run in part')
    expect(ofType(root.events, 'run.resumed')[0]?.survivors).toBe(1)
    const lines = linesIn(stage, 'ticks')
    expect(lines.filter((line) => line === 'next')).toHaveLength(1)
    expect(lines.at(-1), 'no tick comes after the survivor was ended').toBe('next')
  })

  itWithMarks('killed before its process was in the log: the mark finds it', async () => {
    const empty = setStage(rootOf())
    const stage = { ...empty, play: rootOf(call('Bash', { command: ticking(empty) })) }
    await lives.killedAt(stage, append('process.started', 'before'))
    const { root, calls } = await lives.resumed(stage)
    expect(calls[0]?.ended?.outcome).toBe('interrupted')
    expect(ofType(root.events, 'run.resumed')[0]?.survivors).toBe(1)
  })

  itWithMarks('ends a survivor that left the group of its call', async () => {
    const empty = setStage(rootOf())
    const command = `setsid bash -c '${ticking(empty)}' & sleep 5`
    const stage = { ...empty, play: rootOf(call('Bash', { command })) }
    await lives.killedAt(stage, append('process.started', 'after'))
    const { root } = await lives.resumed(stage)
    expect(ofType(root.events, 'run.resumed')[0]?.survivors).toBeGreaterThanOrEqual(1)
  })

  it('with its start not in the log, has done nothing and is made', async () => {
    const empty = setStage(rootOf())
    const stage = { ...empty, play: rootOf(call('Bash', { command: `echo once >> ${empty.world}/ledger` })) }
    await lives.killedAt(stage, append('call.started', 'before'))
    expect(linesIn(stage, 'ledger')).toEqual([])
    const { calls } = await lives.resumed(stage)
    expect(calls[0]?.ended?.outcome).toBe('ok')
    expect(linesIn(stage, 'ledger')).toEqual(['once'])
  })

  it('done, with its result not in the log, is not done again', async () => {
    const empty = setStage(rootOf())
    const stage = { ...empty, play: rootOf(call('Bash', { command: `echo once >> ${empty.world}/ledger` })) }
    await lives.killedAt(stage, append('call.ended', 'before'))
    const { calls } = await lives.resumed(stage)
    expect(calls[0]?.ended?.outcome).toBe('interrupted')
    expect(linesIn(stage, 'ledger')).toEqual(['once'])
  })

  it('does not hold up the calls that wait behind it', async () => {
    const empty = setStage(rootOf())
    const line = (text: string) => ({
      name: 'Bash',
      input: { command: `echo ${text} >> ${empty.world}/ledger` },
    })
    const stage = {
      ...empty,
      play: rootOf(callMany([line('one'), { name: 'Put', input: { id: 'two' } }, line('three')])),
    }
    await lives.killedAt(stage, append('process.started', 'after'))
    const { calls } = await lives.resumed(stage)
    expect(calls.map(({ ended }) => ended?.outcome)).toEqual(['interrupted', 'ok', 'ok'])
    expect(linesIn(stage, 'ledger').filter((text) => text === 'three')).toHaveLength(1)
    expect(linesIn(stage, 'keyed')).toHaveLength(1)
  })
})

describe('a call that permissions refuse', () => {
  it.each(['before', 'after'] as const)(
    'killed %s its refusal is in the log: it is refused once',
    async (when) => {
      const stage = setStage(rootOf(call('Bash', { command: 'echo no' })))
      const deny = ['Bash(echo *)']
      await lives.killedAt(stage, append('call.ended', when), { deny })
      const { root, calls } = await lives.resumed(stage, { deny })
      expect(calls[0]?.ended?.outcome).toBe('denied')
      expect(ofType(root.events, 'agent.ended')[0]?.denials).toEqual({ Bash: 1 })
    },
  )
})

describe('a model request in flight', () => {
  it('is made again, and only that one', async () => {
    const stage = setStage(rootOf(call('Put', { id: 'x' })))
    await lives.killedAt(stage, { at: 'request', prompt: 'the root', turn: 1 })
    await lives.resumed(stage)
    expect(requestsOf(stage).map(({ turn }) => turn)).toEqual([0, 1, 1])
  })

  it('whose reply was cut off in the log is made again; the cut lines count for nothing', async () => {
    const stage = setStage(
      rootOf(
        callMany(
          [
            { name: 'Put', input: { id: 'x' } },
            { name: 'Put', input: { id: 'y' } },
          ],
          'two puts',
        ),
      ),
    )
    await lives.killedAt(stage, append('reply.received', 2.5))
    await lives.resumed(stage)
    expect(requestsOf(stage).map(({ turn }) => turn)).toEqual([0, 0, 1])
    expect(linesIn(stage, 'keyed')).toHaveLength(2)
  })
})
