import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import type { ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { call, callMany, say } from '../../src/effects/model/scripted-reply.ts'
import { createMemoryStorage } from '../../src/journal/memory-storage.ts'
import { requestViolations } from '../../src/journal/projections/validate-request.ts'
import { loadLog } from '../../src/journal/read-log.ts'
import { replay } from '../../src/journal/replay/replay.ts'
import { testEngine } from '../helpers/engine.ts'
import { turnOf } from '../helpers/scripts.ts'

const SESSION = '5e551011-0000-4000-8000-000000000001'

type Storage = ReturnType<typeof createMemoryStorage>

const logOf = (storage: Storage, sessionId: string): string => {
  const path = [...storage.files.keys()].find((name) => name.endsWith(`${sessionId}.jsonl`))
  if (path === undefined) throw new Error(`there is no log of ${sessionId}`)
  return path
}

/** A session of two runs on a disk. */
async function base() {
  const { engine, storage } = testEngine([say('the first answer'), say('the second answer')])
  await engine.run('first?', { sessionId: SESSION }).result
  await engine.run('second?', { sessionId: SESSION }).result
  await engine.close()
  return storage.crash()
}

/** Another engine on that disk that keeps its requests. */
function next(storage: Storage, replies: readonly ScriptedReply[], idsFrom = 1_000) {
  const requests: ModelRequest[] = []
  const made = testEngine(
    (request, { index }) => {
      requests.push(request)
      return replies[index] ?? say('nothing more')
    },
    { storage, idsFrom },
  )
  return { ...made, requests }
}

const texts = (request: ModelRequest | undefined): unknown =>
  request?.messages.map(({ content }) =>
    typeof content === 'string'
      ? content
      : content
          .map((block) => String(block['text'] ?? block.type))
          .filter((text) => !text.startsWith('<system-reminder>'))
          .join('|'),
  )

const positionOf = async (storage: Storage, path: string, type: string, nth = 0): Promise<number> => {
  const { events } = await loadLog(storage, path)
  const found = events.filter(({ event }) => event.type === type)[nth]
  if (found === undefined) throw new Error(`there is no ${type}`)
  return found.seq + Math.max(1, found.lines.length) - 1
}

describe('a branch', () => {
  it('goes on from a position with another prompt and model, and leaves its base as it was', async () => {
    const storage = await base()
    const path = logOf(storage, SESSION)
    const before = storage.files.get(path)
    const at = await positionOf(storage, path, 'agent.ended')
    const { engine, requests } = next(storage, [say('another answer')])
    const run = engine.branch(SESSION, { at, prompt: 'something else?', modelId: 'claude-other' })
    const result = await run.result
    expect(result).toMatchObject({ status: 'completed', text: 'another answer', run: 2 })
    expect(run.sessionId).not.toBe(SESSION)
    expect(texts(requests[0])).toEqual(['first?', 'the first answer', 'something else?'])
    expect(requests[0]?.model).toBe('claude-other')
    expect(storage.files.get(path)).toBe(before)
    const own = storage.files.get(logOf(storage, run.sessionId)) ?? ''
    expect(own).not.toContain('the first answer')
    await engine.close()
  })

  it('can be resumed after a crash, and asks the same again', async () => {
    const storage = await base()
    const at = await positionOf(storage, logOf(storage, SESSION), 'reply.received', 1)
    const first = next(storage, [])
    const pending = first.engine.branch(SESSION, { at, prompt: 'and now?' })
    pending.result.catch(() => {})
    await pending.started
    const disk = storage.crash()
    const second = next(disk, [say('resumed')], 5_000)
    const resumed = await second.engine.resume(pending.sessionId)
    expect(await resumed?.result).toMatchObject({ text: 'resumed', run: 3 })
    expect(texts(second.requests[0])).toEqual([
      'first?',
      'the first answer',
      'second?',
      'the second answer',
      'and now?',
    ])
    const later = second.engine.run('again?', { sessionId: pending.sessionId })
    expect((await later.result).run).toBe(4)
    expect(texts(second.requests[1])).toEqual([
      'first?',
      'the first answer',
      'second?',
      'the second answer',
      'and now?',
      'resumed',
      'again?',
    ])
    await second.engine.close()
  })

  it('of every position asks a valid request, open calls included', async () => {
    const script = (request: ModelRequest) => {
      const turns = turnOf(request)
      if (request.source !== 'main') return say('report')
      const child = {
        name: 'Agent',
        input: { description: 'd', prompt: 'p', subagent_type: 'general-purpose' },
      }
      return turns === 0 ? callMany([child, child], 'I ask') : say('done')
    }
    const made = testEngine(script)
    await made.engine.run('go', { sessionId: SESSION }).result
    await made.engine.close()
    const storage = made.storage.crash()
    const path = logOf(storage, SESSION)
    const { position } = await replay(storage, path)
    for (let at = 0; at <= position; at++) {
      const { engine, requests } = next(storage, [say('ok')], 10_000 + at * 1_000)
      const run = engine.branch(SESSION, { at, prompt: 'go on' })
      expect(await run.result, `at ${at}`).toMatchObject({ status: 'completed', text: 'ok' })
      expect(requestViolations(requests[0]?.messages ?? []), `at ${at}`).toEqual([])
      const { violations } = await replay(storage, logOf(storage, run.sessionId))
      expect(violations, `at ${at}`).toEqual([])
      // Only this engine's own handle is let go of: the disk is the next one's.
      for (const agent of engine.agents) expect(agent.phase).toBe('completed')
    }
  })

  it('of a branch shares what that shares', async () => {
    const storage = await base()
    const one = next(storage, [say('branch one')])
    const first = one.engine.branch(SESSION, { at: 4, prompt: 'one?' })
    await first.result
    const second = one.engine.branch(first.sessionId, { prompt: 'two?' })
    await second.result
    expect(texts(one.requests.at(-1))).toEqual(['first?', 'the first answer', 'one?', 'branch one', 'two?'])
    await one.engine.close()
  })

  it('without a prompt is told by the engine to go on', async () => {
    const storage = await base()
    const { engine, facts, requests } = next(storage, [say('I went on')])
    await engine.branch(SESSION).result
    expect(texts(requests[0])).toMatchObject({ length: 5, 4: 'Go on from here.' })
    expect(facts.find(({ event }) => event.type === 'run.started')?.event).toMatchObject({
      origin: { from: 'engine' },
    })
    await engine.close()
  })

  it('says what is wrong with a position or a base', async () => {
    const storage = await base()
    const { engine } = next(storage, [call('Nothing')])
    await expect(engine.branch(SESSION, { at: 999 }).result).rejects.toMatchObject({ code: 'bad-position' })
    await expect(engine.branch('/nowhere.jsonl').result).rejects.toMatchObject({ code: 'missing-base' })
    await engine.close()
  })

  it('refuses to go on when its base is gone, or is another one now', async () => {
    const storage = await base()
    const path = logOf(storage, SESSION)
    const made = next(storage, [say('x')])
    const run = made.engine.branch(SESSION, { prompt: 'x?' })
    await run.result
    await made.engine.close()
    for (const [edit, code] of [
      [(text: string) => text.replace('the second answer', 'a forged answer'), 'ok'],
      [(text: string) => text.replace('"durationMs":', '"durationMs":1'), 'ok'],
      [(text: string) => text.slice(0, text.lastIndexOf('{"type":"system"')), 'changed-base'],
      [undefined, 'missing-base'],
    ] as const) {
      const files = new Map([...storage.files].filter(([name]) => !name.endsWith('/lock')))
      if (edit === undefined) files.delete(path)
      else files.set(path, edit(files.get(path) ?? ''))
      const again = next(createMemoryStorage({ files }), [say('y')], 9_000)
      const asked = again.engine.run('y?', { sessionId: run.sessionId }).result
      if (code === 'ok') await expect(asked).resolves.toMatchObject({ text: 'y' })
      else await expect(asked).rejects.toMatchObject({ code })
      await again.engine.close()
    }
  })
})
