/** Replies that are on their way while something else happens to their agent. */
import { Observable } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { Model, ModelDelta, ModelRequest } from '../../src/effects/model/model.ts'
import { buildReply, callMany, emitReply, say } from '../../src/effects/model/scripted-reply.ts'
import type { VirtualClock } from '../../src/effects/virtual-clock.ts'
import type { EngineOptions } from '../../src/engine/api.ts'
import { settle, testEngine } from '../helpers/engine.ts'

const CHUNKS = 20
const CHUNK_MS = 100
const REPORT = Array.from({ length: CHUNKS }, (_, i) => `piece ${String(i).padStart(2, '0')};`).join('')

/** A root that delegates in the foreground, and a child whose one reply comes in pieces, one each 100 ms. */
function streaming(clock: () => VirtualClock): { readonly model: Model; readonly requests: ModelRequest[] } {
  const requests: ModelRequest[] = []
  const stream = (request: ModelRequest): Observable<ModelDelta> =>
    new Observable((subscriber) => {
      requests.push(request)
      if (request.source === 'main') {
        const input = { description: 'write', prompt: 'write', run_in_background: false }
        const isFirst = request.messages.length === 1 || !JSON.stringify(request.messages).includes('toolu_')
        return emitReply(
          subscriber,
          buildReply(isFirst ? callMany([{ name: 'Agent', input }]) : say('done'), request),
        )
      }
      const deltas: ModelDelta[] = []
      const reply = buildReply(say(REPORT), request)
      new Observable<ModelDelta>((into) => emitReply(into, reply, CHUNKS)).subscribe((delta) =>
        deltas.push(delta),
      )
      let cancel = (): void => {}
      const next = (): void => {
        const delta = deltas.shift()
        if (delta === undefined) {
          subscriber.complete()
          return
        }
        subscriber.next(delta)
        cancel = clock().setTimer(CHUNK_MS, next)
      }
      next()
      return () => cancel()
    })
  return { model: { provider: 'scripted', stream }, requests }
}

async function moved(options: Partial<EngineOptions>, atChunk?: number) {
  const made = streaming(() => test.clock)
  const { storage: _, ...others } = options
  const test = testEngine(made.model, others)
  const run = test.engine.run('go')
  await settle(10)
  const child = (): string => test.engine.agents.find(({ depth }) => depth === 1)?.agentId ?? ''
  const id = child()
  for (let chunk = 0; chunk <= CHUNKS + 2; chunk++) {
    if (chunk === atChunk) expect(await test.engine.background(id)).toBe(true)
    await test.clock.advanceAsync(CHUNK_MS)
    await settle(3)
  }
  const result = await run.result
  const deltas = test.events.flatMap((event) =>
    event.kind === 'delta' && event.agentId === id ? [event.delta] : [],
  )
  await test.engine.close()
  return { ...test, result, deltas, id, requests: made.requests }
}

describe('an agent that is moved to the background in the middle of a reply', () => {
  it.each([
    ['by time', { features: { autoBackground: true }, limits: { autoBackgroundMs: 950 } }, undefined],
    [
      'by time, between two pieces of the same moment',
      { features: { autoBackground: true }, limits: { autoBackgroundMs: 1_000 } },
      undefined,
    ],
    ['by a person, with the first piece', {}, 0],
    ['by a person, in the middle', {}, 9],
  ])('loses no delta and repeats none (%s)', async (_, options, atChunk) => {
    const { facts, deltas, result, id, requests } = await moved(options, atChunk)
    expect(facts.filter(({ event }) => event.type === 'agent.backgrounded')).toHaveLength(1)
    expect(deltas.map(({ type }) => type)).toEqual([
      'block_started',
      ...Array.from({ length: CHUNKS }, () => 'text'),
    ])
    expect(deltas.flatMap((delta) => (delta.type === 'text' ? [delta.text] : [])).join('')).toBe(REPORT)
    // The move lies in the middle: before the reply was whole.
    const types = facts.filter(({ agentId }) => agentId === id).map(({ event }) => event.type)
    expect(types.indexOf('agent.backgrounded')).toBeLessThan(types.indexOf('reply.received'))
    expect(requests.filter(({ source }) => source !== 'main')).toHaveLength(1)
    expect(JSON.stringify(requests.at(-1)?.messages).split(REPORT)).toHaveLength(2)
    expect(result.text).toBe('done')
  })
})
