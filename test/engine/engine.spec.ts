import { firstValueFrom, toArray } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createManualModel } from '../../src/effects/model/manual.ts'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import { ModelError } from '../../src/effects/model/model.ts'
import { call, callMany, say } from '../../src/effects/model/scripted-reply.ts'
import type { Tool } from '../../src/effects/tools/tool.ts'
import { settle, story, testEngine } from '../helpers/engine.ts'

const explore = (prompt: string) => ({
  name: 'Agent',
  input: { description: 'look around', prompt, subagent_type: 'Explore' },
})

/** A parent that asks as many children as there are prompts, then says what it got. */
const delegating =
  (...prompts: string[]) =>
  (request: ModelRequest) => {
    if (request.source !== 'main') return say(`report on ${String(request.messages[0]?.content)}`)
    return request.messages.length === 1 ? callMany(prompts.map(explore)) : say('all reports are in')
  }

/** A tool whose calls are held until they are let go. */
function heldTool(name: string, isSafe: boolean) {
  const begun: string[] = []
  const waiting = new Map<string, (text: string) => void>()
  const tool: Tool<{ id: string }> = {
    name,
    description: 'waits',
    inputSchema: z.strictObject({ id: z.string() }),
    resume: 'interrupt',
    isReadOnly: () => isSafe,
    isConcurrencySafe: () => isSafe,
    run: ({ id }, { signal }) =>
      new Promise((resolve, reject) => {
        begun.push(id)
        waiting.set(id, (text) => resolve({ content: text }))
        signal.addEventListener('abort', () => reject(signal.reason))
      }),
  }
  return { tool, begun, finish: (id: string, text = `result of ${id}`) => waiting.get(id)?.(text) }
}

const firstResult = (request: ModelRequest | undefined, at: number) => {
  const content = request?.messages.at(-1)?.content
  return typeof content === 'string' ? undefined : content?.[at]
}

describe('engine', () => {
  it('answers a prompt', async () => {
    const { engine, facts } = testEngine([say('hello')])
    const result = await engine.run('hi').result
    expect(result).toMatchObject({
      status: 'completed',
      text: 'hello',
      run: 1,
      turns: 1,
      stopReason: 'end_turn',
    })
    expect(story(facts)).toEqual([
      'agent.spawned',
      'run.started',
      'agent.prepared',
      'message.added',
      'reply.received',
      'agent.ended',
    ])
  })

  it('starts the next run of an idle root on the same log, with the whole conversation', async () => {
    const requests: ModelRequest[] = []
    const { engine, storage } = testEngine((request) => {
      requests.push(request)
      return say(`answer ${requests.length}`)
    })
    const first = engine.run('one')
    await first.result
    const second = await engine.run('two', { sessionId: first.sessionId }).result
    expect(second).toMatchObject({ run: 2, text: 'answer 2', agentId: await first.started })
    expect(requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
    expect([...storage.files.keys()].filter((path) => path.endsWith('.jsonl'))).toHaveLength(1)
  })

  it('runs children in parallel and hands their reports to the parent in call order', async () => {
    const requests: ModelRequest[] = []
    const script = delegating('a', 'b', 'c')
    const { engine, facts } = testEngine((request) => {
      requests.push(request)
      return script(request)
    })
    const result = await engine.run('go').result
    expect(result).toMatchObject({ status: 'completed', text: 'all reports are in', toolUses: 3 })
    const children = facts.filter(({ event }) => event.type === 'agent.spawned').slice(1)
    expect(children).toHaveLength(3)
    const last = requests.at(-1)?.messages.at(-1)?.content
    expect(JSON.stringify(last)).toMatch(/report on a.*report on b.*report on c/)
  })

  it('writes four conversation and four lifecycle lines for an ordinary call, within 6 KB at any length', async () => {
    const written = async (calls: number) => {
      const { engine, storage } = testEngine((request) => {
        if (request.source !== 'main') return say('r'.repeat(400))
        return request.messages.length < 2 * calls ? callMany([explore('p'.repeat(104))]) : say('done')
      })
      await engine.run('go').result
      const files = [...storage.files].filter(([path]) => !path.includes('/blobs/'))
      const lines = files
        .filter(([path]) => path.endsWith('.jsonl'))
        .flatMap(([, text]) => text.trimEnd().split('\n'))
      return {
        bytes: files.reduce((sum, [, text]) => sum + Buffer.byteLength(text), 0),
        lifecycle: lines.filter((line) => line.startsWith('{"type":"system"')).length,
        conversation: lines.filter((line) => !line.startsWith('{"type":"system"')).length,
      }
    }
    const [ten, twenty, hundred] = [await written(10), await written(20), await written(100)]
    expect(twenty.lifecycle - ten.lifecycle).toBe(40)
    expect(twenty.conversation - ten.conversation).toBe(40)
    const perCall = (twenty.bytes - ten.bytes) / 10
    expect(perCall).toBeLessThan(6 * 1024)
    // Positions and call ids get a digit longer; nothing else may grow.
    expect((hundred.bytes - twenty.bytes) / 80 - perCall).toBeLessThan(16)
  })

  it('records a spawn in the parent before the child exists, and the birth before its first request', async () => {
    const order: string[] = []
    const { engine } = testEngine((request) => {
      order.push(`request of ${request.source}`)
      return delegating('a')(request)
    })
    engine.events$.subscribe((event) => {
      if (event.kind === 'fact') order.push(event.event.type)
    })
    await engine.run('go').result
    const started = order.indexOf('call.started')
    const born = order.lastIndexOf('agent.spawned')
    expect(started).toBeLessThan(born)
    expect(born).toBeLessThan(order.indexOf('request of agent:built-in:Explore'))
  })

  it.each([
    [
      'a model error',
      () => new ModelError('invalid-request', 'bad request', { retryable: false }),
      /failed: bad request/,
    ],
    ['a model that says nothing it can use', () => new Error('broken script'), /failed: .*broken script/],
  ])('makes %s of a child a tool error of the parent, never a report', async (_, failure, text) => {
    let parentSaw: unknown
    const { engine } = testEngine((request) => {
      if (request.source !== 'main') return failure()
      if (request.messages.length === 1) return callMany([explore('x')])
      parentSaw = firstResult(request, 0)
      return say('noted')
    })
    expect(await engine.run('go').result).toMatchObject({ status: 'completed', text: 'noted' })
    expect(parentSaw).toMatchObject({ is_error: true, content: expect.stringMatching(text) })
  })

  it.each([
    [
      'an unknown type',
      { description: 'd', prompt: 'p', subagent_type: 'Oracle' },
      /no agent type "Oracle".*general-purpose/,
    ],
    ['an unknown field', { description: 'd', prompt: 'p', colour: 'red' }, /colour/],
    ['a missing prompt', { description: 'd' }, /prompt/],
  ])('refuses an Agent call with %s by a tool error that says what to do', async (_, input, text) => {
    let parentSaw: unknown
    const { engine } = testEngine((request) => {
      if (request.messages.length === 1) return call('Agent', input)
      parentSaw = firstResult(request, 0)
      return say('noted')
    })
    await engine.run('go').result
    expect(parentSaw).toMatchObject({ is_error: true, content: expect.stringMatching(text) })
  })

  it('retries a model that is overloaded, on the clock, and shows that it does', async () => {
    let attempts = 0
    const { engine, clock, events } = testEngine(() => {
      attempts += 1
      return attempts < 3
        ? new ModelError('overloaded', 'try later', { retryable: true, status: 529 })
        : say('here')
    })
    const run = engine.run('hi')
    await settle()
    expect(attempts).toBe(1)
    for (let i = 0; i < 100 && attempts < 3; i++) {
      await clock.advance(1_000)
      await settle(1)
    }
    expect(await run.result).toMatchObject({ status: 'completed', text: 'here' })
    const restarts = events.filter((event) => event.kind === 'delta' && event.delta.type === 'restarted')
    expect(restarts).toHaveLength(2)
  })

  it('ends failed and retryable when the model stays away, and the next run goes on from there', async () => {
    let isUp = false
    const { engine } = testEngine(
      () => (isUp ? say('back') : new ModelError('connection', 'no route', { retryable: true })),
      { retries: { maxRetries: 0 } },
    )
    const run = engine.run('hi')
    expect(await run.result).toMatchObject({
      status: 'failed',
      fault: { code: 'connection', retryable: true },
    })
    isUp = true
    expect(await engine.run('again', { sessionId: run.sessionId }).result).toMatchObject({
      run: 2,
      text: 'back',
    })
  })

  it('shows deltas while they stream and keeps none of them', async () => {
    const { model, requests } = createManualModel()
    const { engine, storage } = testEngine(model)
    const run = engine.run('hi')
    const deltas = firstValueFrom(run.deltas$.pipe(toArray()))
    await settle()
    requests[0]?.delta({ type: 'text', index: 0, text: 'hel' })
    expect([...storage.files.values()].join('')).not.toContain('hel"')
    requests[0]?.reply(say('hello'))
    await run.result
    await engine.close()
    expect((await deltas).some((delta) => delta.type === 'text')).toBe(true)
  })

  it('runs unsafe calls one at a time in order, safe ones side by side', async () => {
    const slow = heldTool('Slow', false)
    const quick = heldTool('Quick', true)
    const calls = [
      { name: 'Quick', input: { id: 'q1' } },
      { name: 'Quick', input: { id: 'q2' } },
      { name: 'Slow', input: { id: 's1' } },
      { name: 'Slow', input: { id: 's2' } },
    ]
    const { engine } = testEngine([callMany(calls), say('done')], { tools: [slow.tool, quick.tool] })
    const run = engine.run('go')
    await settle()
    expect([quick.begun, slow.begun]).toEqual([['q1', 'q2'], []])
    quick.finish('q2')
    await settle()
    expect(slow.begun).toEqual([])
    quick.finish('q1')
    await settle()
    expect(slow.begun).toEqual(['s1'])
    slow.finish('s1')
    await settle()
    expect(slow.begun).toEqual(['s1', 's2'])
    slow.finish('s2')
    expect(await run.result).toMatchObject({ status: 'completed', toolUses: 4 })
  })

  it('refuses a call that needs approval where nobody can be asked, and counts it', async () => {
    const slow = heldTool('Slow', false)
    const { engine } = testEngine([call('Slow', { id: 'x' }), say('then not')], {
      tools: [slow.tool],
      permissions: { mode: 'default' },
    })
    const result = await engine.run('go').result
    expect(slow.begun).toEqual([])
    expect(result.denials).toMatchObject([{ toolName: 'Slow', toolInput: { id: 'x' } }])
    expect(result.denials[0]?.reason).toContain('--allowedTools')
  })

  it('stops at the turn limit and says so', async () => {
    const quick = heldTool('Quick', true)
    const { engine } = testEngine(() => call('Quick', { id: 'again' }, 'still at it'), {
      tools: [quick.tool],
    })
    const run = engine.run('go', { maxTurns: 2 })
    for (let i = 0; i < 2; i++) {
      await settle()
      quick.finish('again')
    }
    expect(await run.result).toMatchObject({
      status: 'completed',
      outcome: { kind: 'limit', limit: 'turns' },
      turns: 2,
      text: 'still at it',
    })
  })

  it('does not run a call that the token limit of the model cut off', async () => {
    const quick = heldTool('Quick', true)
    let saw: unknown
    const { engine } = testEngine(
      (request) => {
        if (request.messages.length === 1)
          return { calls: [{ name: 'Quick', input: { id: 'half' } }], stopReason: 'max_tokens' }
        saw = firstResult(request, 0)
        return say('ok')
      },
      { tools: [quick.tool] },
    )
    await engine.run('go').result
    expect(quick.begun).toEqual([])
    expect(saw).toMatchObject({ is_error: true, content: expect.stringContaining('max_tokens') })
  })

  it('refuses a second prompt while a run is on', async () => {
    const { model, requests } = createManualModel()
    const { engine } = testEngine(model)
    const first = engine.run('one')
    await first.started
    await expect(engine.run('two', { sessionId: first.sessionId }).result).rejects.toMatchObject({
      code: 'run-in-flight',
    })
    await settle()
    requests[0]?.reply(say('fine'))
    expect((await first.result).text).toBe('fine')
  })

  it('lets a run be iterated: every fact of the tree, in order, to the end', async () => {
    const { engine, facts } = testEngine(delegating('a', 'b'))
    const seen: string[] = []
    for await (const { event } of engine.run('go')) seen.push(event.type)
    expect(seen).toEqual(facts.map(({ event }) => event.type))
    expect(seen.at(-1)).toBe('agent.ended')
  })

  it('spawns an agent of a type for a host with its own loop', async () => {
    const sources: string[] = []
    const { engine } = testEngine((request) => {
      sources.push(request.system)
      return say('found it')
    })
    const result = await engine.spawn({ description: 'find', prompt: 'where?', subagent_type: 'Explore' })
      .result
    expect(result.text).toBe('found it')
    await expect(
      engine.spawn({ description: 'x', prompt: 'y', subagent_type: 'Nobody' }).result,
    ).rejects.toMatchObject({
      code: 'unknown-agent-type',
    })
  })

  it.each(['not-a-uuid', '../../etc/passwd'])('refuses the session id %s', (sessionId) => {
    const { engine } = testEngine([])
    expect(() => engine.run('x', { sessionId })).toThrow(/UUID/)
  })

  it('cuts what is longer than the limits that the host sets, of a tool and of a child', async () => {
    const long = heldTool('Long', true)
    const seen: string[] = []
    const { engine } = testEngine(
      (request) => {
        if (request.source !== 'main') return say('r'.repeat(5_000))
        seen.push(JSON.stringify(request.messages.at(-1)))
        if (request.messages.length === 1)
          return callMany([{ name: 'Long', input: { id: 'x' } }, explore('p')])
        return say('ok')
      },
      { tools: [long.tool], limits: { toolResultChars: 1_000, agentResultChars: 1_000 } },
    )
    const run = engine.run('go')
    await settle(10)
    long.finish('x', 't'.repeat(5_000))
    await run.result
    expect(seen[1]).toContain('characters left out')
    expect(seen[1]).not.toContain('t'.repeat(1_000))
    expect(seen[1]).not.toContain('r'.repeat(1_000))
  })

  it('says that a rule names no tool, and which one was meant', async () => {
    const { engine, events } = testEngine([say('ok')], {
      permissions: { deny: ['Bsh', 'Bash(rm:*)', 'mcp__a__b'] },
    })
    await engine.run('go').result
    const told = events.filter((event) => event.kind === 'diagnostic')
    expect(told).toMatchObject([{ code: 'tool-unknown', message: expect.stringMatching(/"Bsh".*Bash/) }])
  })

  it('tells what it cannot honour: a broken rule, a folder that is not there', () => {
    expect(() => testEngine([], { permissions: { allow: ['Bash('] } })).toThrow(/Bash\(/)
    expect(() => testEngine([], { cwd: '/no/such/folder' })).toThrow(/no\/such\/folder/)
  })
})

describe('kill', () => {
  it('ends a run and its children, and resolves when they have ended', async () => {
    const held = heldTool('Held', true)
    const { engine, facts } = testEngine(
      (request) =>
        request.source === 'main' ? callMany([explore('x'), explore('y')]) : call('Held', { id: 'h' }),
      { tools: [held.tool] },
    )
    const run = engine.run('go')
    await settle(10)
    expect(held.begun).toHaveLength(2)
    await engine.kill(await run.started, 'enough')
    expect(await run.result).toMatchObject({
      status: 'killed',
      outcome: { kind: 'killed', reason: 'enough' },
    })
    const ends = facts.filter(({ event }) => event.type === 'agent.ended')
    expect(ends).toHaveLength(3)
    expect(ends.at(-1)?.agentId).toBe(await run.started)
    expect(engine.agents.map(({ phase }) => phase)).toEqual(['killed'])
  })

  it('of a child is a tool error of its parent, which goes on', async () => {
    const held = heldTool('Held', true)
    let saw: unknown
    const { engine, facts } = testEngine(
      (request) => {
        if (request.source !== 'main') return call('Held', { id: 'h' })
        if (request.messages.length === 1) return callMany([explore('x')])
        saw = firstResult(request, 0)
        return say('went on')
      },
      { tools: [held.tool] },
    )
    const run = engine.run('go')
    await settle(10)
    const child = facts.filter(({ event }) => event.type === 'agent.spawned')[1]?.agentId ?? ''
    await engine.kill(child)
    expect(await run.result).toMatchObject({ status: 'completed', text: 'went on' })
    expect(saw).toMatchObject({ is_error: true, content: expect.stringContaining('was stopped') })
  })

  it('is idempotent and absorbs everything that comes after the end', async () => {
    const { engine, facts } = testEngine([say('done')])
    const run = engine.run('go')
    await run.result
    const before = facts.length
    await engine.kill(await run.started)
    await engine.kill(await run.started)
    expect(facts).toHaveLength(before)
  })

  it('by an aborted signal leaves no open call in the log', async () => {
    const held = heldTool('Held', false)
    const calls = [
      { name: 'Held', input: { id: 'one' } },
      { name: 'Held', input: { id: 'never begun' } },
    ]
    const { engine, facts } = testEngine([callMany(calls)], { tools: [held.tool] })
    const abort = new AbortController()
    const run = engine.run('go', { signal: abort.signal })
    await settle()
    abort.abort()
    expect(await run.result).toMatchObject({ status: 'killed' })
    const ends = facts.flatMap(({ event }) => (event.type === 'call.ended' ? [event] : []))
    expect(ends.map(({ outcome }) => outcome)).toEqual(['interrupted', 'interrupted'])
    expect(ends.map(({ result }) => String(result.content))).toEqual([
      expect.stringContaining('may have run'),
      expect.stringContaining('has done nothing'),
    ])
  })

  it('during a request takes no reply that comes later', async () => {
    const { model, requests } = createManualModel()
    const { engine, facts } = testEngine(model)
    const run = engine.run('go')
    await settle()
    await engine.kill(await run.started)
    requests[0]?.reply(say('too late'))
    await settle()
    expect(story(facts)).not.toContain('reply.received')
    expect(requests[0]?.aborted).toBe(true)
  })
})

describe('a log that cannot be written', () => {
  it('stops the run with a clear error and reports nothing that is not in the log', async () => {
    const { engine, storage, facts } = testEngine(async () => {
      storage.failNextAppend('full')
      return say('this cannot be recorded')
    })
    const run = engine.run('go')
    await expect(run.result).rejects.toMatchObject({
      code: 'journal-full',
      message: expect.stringMatching(/could not be written/),
    })
    expect(story(facts)).toEqual(['agent.spawned', 'run.started', 'agent.prepared', 'message.added'])
    expect([...storage.files.values()].join('')).not.toContain('this cannot be recorded')
    await engine.close()
  })

  it('of a child fails its call, and the parent tells', async () => {
    const { engine, storage } = testEngine((request) => {
      if (request.source === 'main')
        return request.messages.length === 1 ? callMany([explore('x')]) : say('ok')
      storage.failNextAppend('denied')
      return say('lost')
    })
    const result = await engine.run('go').result
    expect(result).toMatchObject({ status: 'failed', fault: { code: 'journal-denied' } })
    await engine.close()
  })
})
