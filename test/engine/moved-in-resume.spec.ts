/** A child that is moved to the background while its session is brought back: nothing else writes its log then. */
import { expect, it } from 'vitest'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import type { ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { callMany, say } from '../../src/effects/model/scripted-reply.ts'
import { Doors } from '../helpers/doors.ts'
import { settle, testEngine } from '../helpers/engine.ts'
import { turnOf } from '../helpers/scripts.ts'

const SESSION = '97979797-9797-4979-8979-979797979797'

const script = (request: ModelRequest): ScriptedReply => {
  if (request.source !== 'main') return callMany([{ name: 'Pass', input: { door: 'child' } }])
  return turnOf(request) === 0
    ? callMany([{ name: 'Agent', input: { description: 'd', prompt: 'the part' } }])
    : say('the end')
}

it('a child is moved behind what the resume writes, and its parent goes on without it', async () => {
  const first = testEngine(script, { tools: [new Doors().tool] })
  first.engine.run('go', { sessionId: SESSION }).result.catch(() => {})
  await settle(60)
  const child =
    first.facts.find(({ event }) => event.type === 'agent.spawned' && event.depth === 1)?.agentId ?? ''
  const second = testEngine(script, {
    tools: [new Doors().tool],
    storage: first.storage.crash(),
    idsFrom: 500,
  })
  let move: Promise<boolean> | undefined
  second.engine.events$.subscribe((event) => {
    // The root's lines come first: those of the child are still to be written.
    if (event.kind === 'fact' && event.event.type === 'run.resumed') move ??= second.engine.background(child)
  })
  const run = await second.engine.resume(SESSION)
  expect(await move).toBe(true)
  await settle(60)
  const ofChild = second.facts.filter(({ agentId }) => agentId === child)
  expect(ofChild.slice(0, 3).map(({ event }) => event.type)).toEqual([
    'run.suspended',
    'run.resumed',
    'agent.backgrounded',
  ])
  expect(
    second.facts.flatMap(({ event }) => (event.type === 'child.launched' ? [event.child.agentId] : [])),
  ).toEqual([child])
  await second.engine.close()
  await run?.result.catch(() => {})
  await first.engine.close().catch(() => {})
})
