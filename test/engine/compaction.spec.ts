import { describe, expect, it } from 'vitest'
import { totalTokensOf } from '../../src/definitions/report.ts'
import { hostHook } from '../../src/effects/hooks/hook.ts'
import { createManualModel } from '../../src/effects/model/manual.ts'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import { ModelError } from '../../src/effects/model/model.ts'
import type { ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { call, say } from '../../src/effects/model/scripted-reply.ts'
import type { EngineOptions } from '../../src/engine/api.ts'
import { rerun } from '../../src/engine/rerun/rerun.ts'
import { diffLogs } from '../../src/journal/replay/diff.ts'
import { replay } from '../../src/journal/replay/replay.ts'
import { settle, story, testEngine } from '../helpers/engine.ts'
import { turnOf } from '../helpers/scripts.ts'
import { longLookTool } from '../helpers/tools.ts'

/** A window that is full after about four replies of 20,000 tokens. */
const options = (more: Omit<Partial<EngineOptions>, 'storage'> = {}) => ({
  tools: [longLookTool],
  maxTokens: 5_000,
  limits: { contextMargin: 5_000 },
  modelFacts: { '': { contextWindow: 100_000 } },
  ...more,
})

/** Every request tells how long the conversation is; four turns, then an answer. */
function worker(summary: ScriptedReply | (() => ScriptedReply) = say('what was done so far')) {
  const requests: ModelRequest[] = []
  let turns = 0
  const script = (request: ModelRequest): ScriptedReply => {
    requests.push(request)
    if (request.source === 'compact') return typeof summary === 'function' ? summary() : summary
    turns += 1
    if (turns > 6) return say('the answer')
    const tokens = 25_000 * turnOf(request)
    return { ...call('Look', { chars: 10 }), usage: { input_tokens: 20_000 + tokens, output_tokens: 100 } }
  }
  return { script, requests }
}

const types = (facts: Parameters<typeof story>[0]) =>
  story(facts).filter(
    (type) => type.startsWith('conv') || type.startsWith('comp') || type.startsWith('context'),
  )

describe('a conversation that outgrows the window of its model', () => {
  it('is summed up, and goes on with the summary', async () => {
    const { script, requests } = worker()
    const { engine, facts } = testEngine(script, options())
    const result = await engine.run('go').result
    expect(result).toMatchObject({ outcome: { kind: 'completed' }, text: 'the answer', turns: 7 })
    expect(types(facts)).toEqual(['context.exceeded', 'conversation.compacted'])
    const index = requests.findIndex(({ source }) => source === 'compact')
    const [before, side, after] = requests.slice(index - 1, index + 2)
    // The same prefix to the byte, so that the server's cache of it serves once more.
    expect(JSON.stringify(side?.messages).startsWith(JSON.stringify(before?.messages).slice(0, -1))).toBe(
      true,
    )
    expect([side?.system, side?.tools]).toEqual([before?.system, before?.tools])
    expect(after?.messages).toHaveLength(1)
    expect(JSON.stringify(after?.messages)).toContain('what was done so far')
    await engine.close()
  })

  it('costs what it costs: the sums have it', async () => {
    const { script, requests } = worker({ ...say('S'), usage: { input_tokens: 90_000, output_tokens: 7 } })
    const { engine, facts } = testEngine(script, options())
    const result = await engine.run('go').result
    const replies = facts.flatMap(({ event }) =>
      event.type === 'reply.received' ? [totalTokensOf(event.reply.usage)] : [],
    )
    expect(requests).toHaveLength(replies.length + 1)
    expect(totalTokensOf(result.totalUsage)).toBe(replies.reduce((a, b) => a + b, 90_007))
    const ended = facts.find(({ event }) => event.type === 'agent.ended')?.event
    expect(ended).toMatchObject({ totalUsage: result.totalUsage })
    await engine.close()
  })

  it('first loses the middle of its oldest long results, and is not summed up if that is enough', async () => {
    const requests: ModelRequest[] = []
    const { engine, facts } = testEngine((request: ModelRequest) => {
      requests.push(request)
      const turn = turnOf(request)
      if (turn === 8) return say('the answer')
      return { ...call('Look', { chars: 49_000 }), usage: { input_tokens: 0, output_tokens: 0 } }
    }, options())
    await engine.run('go').result
    expect(types(facts)).toEqual([])
    const cuts = facts.flatMap(({ event }) => (event.type === 'results.cut' ? event.results : []))
    expect(cuts.length).toBeGreaterThan(0)
    const calls = facts.flatMap(({ event }) => (event.type === 'call.ended' ? [event.callId] : []))
    expect(cuts.map(({ callId }) => callId)).toEqual(calls.slice(0, cuts.length))
    expect(JSON.stringify(requests.at(-1)?.messages)).toContain('left out: this result has 49000')
    await engine.close()
  })

  it('is asked for once more when there was no summary, then goes on as it is', async () => {
    const { script, requests } = worker(call('Look', { chars: 1 }))
    const { engine, facts } = testEngine(script, options())
    const result = await engine.run('go').result
    expect(requests.filter(({ source }) => source === 'compact')).toHaveLength(2)
    expect(types(facts)).toEqual(['context.exceeded', 'compaction.failed'])
    expect(result).toMatchObject({ outcome: { kind: 'completed' }, text: 'the answer' })
    await engine.close()
  })

  it('ends the run when the server says that it is too long', async () => {
    const tooLong = new ModelError('context-exceeded', 'prompt is too long', { retryable: false })
    const { engine } = testEngine(
      [{ ...call('Look', { chars: 1 }, 'so far') }, tooLong],
      options({ features: { autoCompact: false } }),
    )
    expect(await engine.run('go').result).toMatchObject({
      status: 'completed',
      outcome: { kind: 'limit', limit: 'context', problem: 'prompt is too long' },
      text: 'so far',
    })
    await engine.close()
  })

  it('stays whole where a hook refuses, and the hook hears why it is asked', async () => {
    const heard: string[] = []
    const { script, requests } = worker()
    const hook = hostHook({
      event: 'PreCompact',
      run: (input) => {
        heard.push(input.trigger)
        return { decision: 'block', reason: 'not now' }
      },
    })
    const { engine, facts } = testEngine(script, options({ hooks: [hook] }))
    await engine.run('go').result
    expect(heard).toEqual(['auto'])
    expect(requests.map(({ source }) => source)).not.toContain('compact')
    const failed = facts.find(({ event }) => event.type === 'compaction.failed')?.event
    expect(failed).toMatchObject({ fault: { code: 'refused-by-hook' } })
    await engine.close()
  })

  it('is not summed up when the budget does not allow it', async () => {
    const { script } = worker()
    const { engine } = testEngine(script, options({ limits: { contextMargin: 5_000, tokens: 310_000 } }))
    const result = await engine.run('go').result
    expect(result.outcome).toEqual({ kind: 'limit', limit: 'tokens' })
    expect(totalTokensOf(result.totalUsage)).toBeLessThanOrEqual(310_000)
    await engine.close()
  })

  it('is told its lists again, and which of its agents run on', async () => {
    const { engine, facts } = testEngine((request: ModelRequest) => {
      if (request.source === 'compact') return say('S')
      if (request.source !== 'main') return new Promise<ScriptedReply>(() => {})
      const turn = turnOf(request)
      const input_tokens = 95_000
      if (JSON.stringify(request.messages).includes('conversation-summary')) return say('going on')
      return turn === 0
        ? {
            ...call('Agent', { description: 'long work', prompt: 'p', run_in_background: true }),
            usage: { input_tokens },
          }
        : say('never')
    }, options())
    void engine.run('go').result.catch(() => {})
    await settle(20)
    const compaction = facts.find(({ event }) => event.type === 'conversation.compacted')?.event
    expect(compaction).toMatchObject({ roster: expect.stringContaining('long work') })
    const told = facts.flatMap(({ event }) => (event.type === 'message.added' ? [event.about] : []))
    expect(told.filter((about) => about === 'agents')).toHaveLength(2)
    await engine.close()
  })
})

describe('a log with a compaction', () => {
  it('goes on in another process with the summary, and with one side request if it was cut off', async () => {
    const model = createManualModel()
    const first = testEngine(model.model, options())
    const run = first.engine.run('go')
    run.result.catch(() => {})
    ;(await model.request(0)).reply({
      ...call('Look', { chars: 5 }),
      usage: { input_tokens: 95_000, output_tokens: 1 },
    })
    expect((await model.request(1)).request.source).toBe('compact')
    await first.engine.close()
    const again = createManualModel()
    const second = testEngine(again.model, { ...options(), storage: first.storage.crash(), idsFrom: 1_000 })
    const resumed = await second.engine.resume(run.sessionId)
    const side = await again.request(0)
    expect(side.request.source).toBe('compact')
    side.reply(say('S'))
    const next = await again.request(1)
    expect(JSON.stringify(next.request.messages)).toContain('conversation-summary')
    await second.engine.close()
    resumed?.result.catch(() => {})
    const last = testEngine([say('done')], { ...options(), storage: second.storage.crash(), idsFrom: 2_000 })
    expect(await (await last.engine.resume(run.sessionId))?.result).toMatchObject({ text: 'done' })
    expect(story(last.facts)).not.toContain('conversation.compacted')
    await last.engine.close()
  })

  it('replays, is branched on either side of it, and is run again', async () => {
    const { script } = worker()
    const { engine, facts, storage } = testEngine(script, options())
    const result = await engine.run('go').result
    const path = [...storage.files.keys()].find((name) => name.endsWith(`${result.sessionId}.jsonl`)) ?? ''
    const replayed = await replay(storage, path)
    expect(replayed.violations).toEqual([])
    const boundary = facts.find(({ event }) => event.type === 'conversation.compacted')
    const said: string[] = []
    await engine.close()
    const disk = storage.crash()
    const branching = testEngine(
      (request: ModelRequest) => {
        said.push(JSON.stringify(request.messages))
        return say('from here')
      },
      { ...options(), storage: disk, idsFrom: 1_000 },
    )
    await branching.engine.branch(result.sessionId, { prompt: 'and now?' }).result
    await branching.engine.branch(result.sessionId, { prompt: 'and now?', at: (boundary?.seq ?? 0) - 2 })
      .result
    expect(said[0]).toContain('conversation-summary')
    expect(said[1]).not.toContain('conversation-summary')
    await branching.engine.close()
    const end = disk.crash()
    expect((await diffLogs({ storage: end, path }, { storage: end, path })).first).toBeUndefined()
    const played = await rerun(end, path, { tools: [longLookTool] })
    expect(played.complaints).toEqual([])
    expect(played.diff.first).toBeUndefined()
  })
})
