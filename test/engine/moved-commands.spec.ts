/** Commands that are moved to the background while a call waits for them: the engine, the tools and the processes are real. */
import { appendFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/effects/clock.ts'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import type { ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { callMany, say } from '../../src/effects/model/scripted-reply.ts'
import { createLocalProcessRunner } from '../../src/effects/process/local-process-runner.ts'
import { standardTools } from '../../src/effects/tools/tool-table.ts'
import { createVirtualClock } from '../../src/effects/virtual-clock.ts'
import type { EngineOptions } from '../../src/engine/api.ts'
import type { TestEngine } from '../helpers/engine.ts'
import { settle, testEngine } from '../helpers/engine.ts'
import { onceWritten, runsStill } from '../helpers/real-processes.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const SESSION = '77777777-7777-4777-8777-777777777777'
const bash = (command: string, more: object = {}) => ({ name: 'Bash', input: { command, ...more } })
const read = (id: string) => ({ name: 'BashOutput', input: { bash_id: id } })

const engines: TestEngine[] = []
function engineOf(script: (request: ModelRequest) => ScriptedReply, more: Partial<EngineOptions> = {}) {
  const test = testEngine(script, {
    tools: standardTools(),
    clock: systemClock,
    processes: createLocalProcessRunner({ graceMs: 100 }),
    ...(more as object),
  })
  engines.push(test)
  return test
}
afterEach(async () => {
  for (const { engine } of engines.splice(0)) await engine.close()
})

const turn = ({ messages }: ModelRequest): number => Math.floor(messages.length / 2)
const answersIn = ({ facts }: TestEngine) =>
  facts.flatMap(({ event }) => (event.type === 'call.ended' ? [event] : []))
const groupsIn = ({ facts }: TestEngine): readonly number[] =>
  facts.flatMap(({ event }) => (event.type === 'process.started' ? [event.pid] : []))
const once = (test: TestEngine, isIt: () => boolean): Promise<void> =>
  new Promise((resolve) => {
    const subscription = test.engine.events$.subscribe(() => {
      if (!isIt()) return
      resolve()
      queueMicrotask(() => subscription.unsubscribe())
    })
    if (isIt()) resolve()
  })

/** Says that it is up, waits until there is a file `go`, and ends with 3. */
const slow = (cwd: string) =>
  `echo one; echo up > ${path.join(cwd, 'up')}; while [ ! -e ${path.join(cwd, 'go')} ]; do sleep 0.01; done; echo two; exit 3`

describe.runIf(process.platform === 'linux')('a command that is moved to the background', () => {
  it('goes on untouched: its call says what it has written, and the rest and its exit code are read later', async () => {
    const cwd = temporaryFolder()
    const id = 'bash_1.4.0'
    let isRead = false
    const test = engineOf(
      (request) => {
        if (turn(request) === 0) return callMany([bash(slow(cwd))])
        const text = JSON.stringify(request.messages)
        if (text.includes('ended with exit code 3')) isRead = true
        else if (text.includes('(no new output)')) appendFileSync(path.join(cwd, 'go'), '')
        return isRead ? say('the end') : callMany([bash('sleep 0.02'), read(id)])
      },
      { cwd },
    )
    const run = test.engine.run('go')
    await onceWritten(path.join(cwd, 'up'))
    const agentId = await run.started
    expect(await test.engine.backgroundCalls(agentId)).toEqual([id])
    expect(await test.engine.backgroundCalls(agentId)).toEqual([])
    await once(test, () => answersIn(test).length > 0)
    const [moved] = answersIn(test)
    expect(moved).toMatchObject({ outcome: 'ok' })
    expect(moved?.toolUseResult).toEqual({
      ...{ stdout: 'one', stderr: '', interrupted: false, isImage: false, backgroundTaskId: id },
    })
    expect(String(moved?.result.content)).toMatch(
      /^Moved to the background by the user.*bash_1\.4\.0.*\nSo far.*\none$/s,
    )
    const result = await run.result
    expect(result).toMatchObject({ status: 'completed', text: 'the end' })
    const outputs = answersIn(test)
      .slice(1)
      .filter(({ result }) => String(result.content).startsWith(`[${id}`))
      .map(({ toolUseResult }) => toolUseResult as { stdout: string; exitCode?: number })
    expect(outputs.map(({ stdout }) => stdout).join('')).toBe('two')
    expect(outputs.at(-1)?.exitCode).toBe(3)
  })

  it('outlives its time limit, and is ended with its agent', async () => {
    const cwd = temporaryFolder()
    const up = path.join(cwd, 'up')
    const clock = createVirtualClock()
    const test = engineOf(
      (request) =>
        turn(request) === 0
          ? callMany([bash(`echo up > ${up}; sleep 60`)])
          : turn(request) === 1
            ? callMany([bash(slow(cwd), { timeout: 600_000 })])
            : say('the end'),
      { cwd, processes: createLocalProcessRunner({ clock }) },
    )
    const run = test.engine.run('go')
    await onceWritten(up)
    await test.engine.backgroundCalls(await run.started)
    await once(test, () => groupsIn(test).length === 2)
    clock.advance(500_000)
    await settle(20)
    expect(groupsIn(test).map(runsStill)).toEqual([true, true])
    writeFileSync(path.join(cwd, 'go'), '')
    expect((await run.result).status).toBe('completed')
    expect(groupsIn(test).map(runsStill)).toEqual([false, false])
  })

  it.each([
    ['a kill', (test: TestEngine, agentId: string) => test.engine.kill(agentId)],
    ['a close', (test: TestEngine) => test.engine.close()],
  ])('is ended by %s', async (_, end) => {
    const cwd = temporaryFolder()
    const up = path.join(cwd, 'up')
    const test = engineOf(
      (request) =>
        turn(request) === 0
          ? callMany([bash(`trap "" TERM; echo up > ${up}; sleep 60 & wait`)])
          : callMany([bash('sleep 60')]),
      { cwd },
    )
    const run = test.engine.run('go')
    run.result.catch(() => {})
    await onceWritten(up)
    const agentId = await run.started
    await test.engine.backgroundCalls(agentId)
    await once(test, () => groupsIn(test).length === 2)
    expect(groupsIn(test).map(runsStill)).toEqual([true, true])
    await end(test, agentId)
    expect(groupsIn(test).map(runsStill)).toEqual([false, false])
  })

  it('and whose engine dies right after: the survivor is ended at the resume, and told as shells are', async () => {
    const cwd = temporaryFolder()
    const up = path.join(cwd, 'up')
    const id = 'bash_1.4.0'
    const test = engineOf(
      (request) =>
        turn(request) === 0 ? callMany([bash(`echo up > ${up}; sleep 60`)]) : callMany([bash('sleep 60')]),
      { cwd },
    )
    const run = test.engine.run('go', { sessionId: SESSION })
    run.result.catch(() => {})
    await onceWritten(up)
    await test.engine.backgroundCalls(await run.started)
    await once(test, () => groupsIn(test).length === 2)
    const next = engineOf((request) => (turn(request) === 2 ? callMany([read(id)]) : say('the end')), {
      cwd,
      storage: test.storage.crash(),
    } as object)
    const resumed = await next.engine.resume(SESSION)
    expect(groupsIn(test).map(runsStill)).toEqual([false, false])
    expect((await resumed?.result)?.text).toBe('the end')
    const [interrupted, reading] = answersIn(next)
    expect(interrupted?.outcome).toBe('interrupted')
    expect(String(reading?.result.content)).toContain(`There is no background shell ${id}`)
  })
})

describe.runIf(process.platform === 'linux')('a command of an engine that is closed', () => {
  it('is ended also where it has left its group', async () => {
    const cwd = temporaryFolder()
    const up = path.join(cwd, 'up')
    const test = engineOf(() => callMany([bash(`setsid sh -c 'echo $$ > ${up}; sleep 60' & sleep 60`)]), {
      cwd,
    })
    test.engine.run('go').result.catch(() => {})
    const group = Number(await onceWritten(up))
    expect(runsStill(group)).toBe(true)
    await test.engine.close()
    expect(runsStill(group)).toBe(false)
  })
})

describe('where nothing can be moved', () => {
  it.each([
    ['the background is off', { features: { background: false } }],
    [
      'the agent could not read what comes',
      { tools: standardTools().filter(({ name }) => name !== 'BashOutput') },
    ],
  ])('because %s: the call goes on', async (_, more) => {
    const cwd = temporaryFolder()
    const up = path.join(cwd, 'up')
    const test = engineOf((request) => (turn(request) === 0 ? callMany([bash(slow(cwd))]) : say('the end')), {
      cwd,
      ...(more as object),
    })
    const run = test.engine.run('go')
    await onceWritten(up)
    expect(await test.engine.backgroundCalls(await run.started)).toEqual([])
    writeFileSync(path.join(cwd, 'go'), '')
    expect((await run.result).text).toBe('the end')
    expect(String(answersIn(test)[0]?.result.content)).toContain('two')
  })

  it('as nobody of that id is at work: nothing is moved', async () => {
    const test = engineOf(() => say('x'))
    expect(await test.engine.backgroundCalls('a00000000000000ff')).toEqual([])
    await expect(test.engine.backgroundCalls('nobody')).rejects.toMatchObject({ code: 'bad-agent-id' })
  })
})
