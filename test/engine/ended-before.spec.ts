/** A child that was read back and has ended before the call that waits for it went on: it is not born again. */
import { expect, it } from 'vitest'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import type { ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { callMany, say } from '../../src/effects/model/scripted-reply.ts'
import type { AgentEventOf } from '../../src/machines/agent/events.ts'
import { Doors } from '../helpers/doors.ts'
import { settle, testEngine } from '../helpers/engine.ts'
import { turnOf } from '../helpers/scripts.ts'

const SESSION = '98989898-9898-4989-8989-989898989898'

const script = (request: ModelRequest): ScriptedReply => {
  if (request.source !== 'main') return callMany([{ name: 'Pass', input: { door: 'child' } }])
  return turnOf(request) === 0
    ? callMany([{ name: 'Agent', input: { description: 'd', prompt: 'the part' } }])
    : say('the end')
}

it('a child that is killed while its session is brought back is told to its call, once, and has one run', async () => {
  const first = testEngine(script, { tools: [new Doors().tool] })
  first.engine.run('go', { sessionId: SESSION }).result.catch(() => {})
  await settle(60)
  const child =
    first.facts.find(({ event }) => event.type === 'agent.spawned' && event.depth === 1)?.agentId ?? ''
  const storage = first.storage.crash()
  const exists: string[] = []
  const second = testEngine(script, {
    tools: [new Doors().tool],
    storage: {
      ...storage,
      exists: (path) => {
        exists.push(path)
        return storage.exists(path)
      },
    },
    idsFrom: 500,
  })
  let kill: Promise<unknown> | undefined
  second.engine.events$.subscribe((event) => {
    // Before anything of the session goes on.
    if (event.kind === 'fact' && event.event.type === 'run.resumed' && event.agentId === child)
      kill ??= second.engine.kill(child, 'by the user')
  })
  const run = await second.engine.resume(SESSION)
  await kill
  const result = await run?.result
  expect(result?.text).toBe('the end')
  const ends = second.facts.flatMap(({ event }) =>
    event.type === 'call.ended' ? [event satisfies AgentEventOf<'call.ended'>] : [],
  )
  expect(ends.map(({ delivered }) => delivered)).toContainEqual({ agentId: child, run: 1 })
  expect(
    second.facts.filter(({ event }) => event.type === 'agent.spawned' || event.type === 'run.started'),
  ).toEqual([])
  expect(second.facts.some(({ event }) => event.type === 'agent.faulted')).toBe(false)
  await second.engine.close()
  await first.engine.close().catch(() => {})
})
