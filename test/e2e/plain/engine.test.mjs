/**
 * The built package in plain Node. Vitest loads XState's development build, plain Node the one that users get;
 * the two differ (a snapshot that cannot be restored throws in one and is stored broken by the other).
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { foldAgent, UNBORN } from 'troupe'
import { createManualModel, createMemoryStorage, createVirtualClock } from 'troupe/testing'
import { bodiesIn, openEngine } from './world.mjs'

const SESSION = '44444444-4444-4444-8444-444444444444'

function folderFor(t) {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'troupe-plain-')))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** What of a snapshot is state; the rest is machinery. */
const gist = ({ value, status, context }) => JSON.parse(JSON.stringify({ value, status, context }))

const byAgent = (items, agentOf) => Map.groupBy?.(items, agentOf) ?? grouped(items, agentOf)

function grouped(items, keyOf) {
  const groups = new Map()
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item])
  return groups
}

test('it is the production build of XState', async () => {
  assert.doesNotMatch(import.meta.resolve('xstate'), /development/)
})

test('a parent and two children run, and the fold of each log is the live state at every prefix', async (t) => {
  const live = []
  const { engine, facts } = openEngine(folderFor(t), {
    inspect: (event) => {
      if (event.type !== '@xstate.snapshot' || event.event.type === 'xstate.init') return
      // Effects have snapshots, too, but no context.
      if (event.snapshot.context?.agentId !== undefined) live.push(event.snapshot)
    },
  })
  const result = await engine.run('go').result
  assert.equal(result.status, 'completed')
  assert.equal(result.text, 'the end')
  await engine.close()
  // Inspectors are told a moment later.
  for (let i = 0; i < 20; i += 1) await new Promise((resolve) => setImmediate(resolve))

  const logs = byAgent(facts, ({ agentId }) => agentId)
  const states = byAgent(live, ({ context }) => context.agentId)
  assert.equal(logs.size, 3)
  for (const [agentId, log] of logs) {
    const folded = []
    let state = UNBORN
    for (const { event } of log) {
      state = foldAgent(state, event)
      if (event.type !== 'agent.spawned') folded.push(gist(state.run))
    }
    assert.ok(folded.length > 5)
    assert.deepEqual(states.get(agentId).map(gist), folded, `agent ${agentId}`)
    assert.equal(folded.at(-1).status, 'done')
  }
})

test('a session whose process was killed goes on, and nothing is done twice', async (t) => {
  const folder = folderFor(t)
  const crashed = spawnSync(process.execPath, [path.join(import.meta.dirname, 'crash.mjs'), folder, SESSION])
  assert.equal(crashed.signal, 'SIGKILL', String(crashed.stderr))
  const before = bodiesIn(folder)
  assert.equal(before.length, 4)

  const { engine, facts } = openEngine(folder)
  const run = await engine.resume(SESSION)
  const result = await run.result
  assert.equal(result.status, 'completed')
  assert.equal(result.text, 'the end')

  const after = bodiesIn(folder)
  assert.deepEqual(after.slice(0, before.length), before)
  const acts = after.filter((body) => body.startsWith('Act'))
  assert.equal(new Set(acts).size, acts.length, 'no act is repeated')
  const puts = after.filter((body) => body.startsWith('Put'))
  assert.equal(new Set(puts).size, 2, 'a keyed body that runs again has the same key')
  assert.deepEqual(
    facts.filter(({ event }) => event.type === 'run.resumed').map(({ event }) => event.survivors ?? 0),
    [0, 0, 0],
  )
  assert.equal(await engine.resume(SESSION), undefined)
  await engine.close()
})

test('killing a child tells its parent; killing the root ends the run', async (t) => {
  const manual = createManualModel()
  const { engine } = openEngine(folderFor(t), { model: manual.model, storage: createMemoryStorage() })
  const run = engine.run('go')
  const call = { name: 'Agent', input: { description: 'x', prompt: 'x', subagent_type: 'general-purpose' } }
  ;(await manual.request(0)).reply({ calls: [call] })
  const asked = await manual.request(1)
  const child = engine.agents.find(({ depth }) => depth === 1)
  await engine.kill(child.agentId, 'not needed')
  assert.equal(asked.aborted, true)

  const { request } = await manual.request(2)
  assert.match(JSON.stringify(request.messages.at(-1)), /not needed|killed/)
  await engine.kill(await run.started)
  const result = await run.result
  assert.equal(result.status, 'killed')
  assert.deepEqual(
    engine.agents.filter(({ phase }) => phase !== 'killed').map(({ phase }) => phase),
    [],
  )
  await engine.close()
})

test('time is what the clock says', async (t) => {
  const clock = createVirtualClock()
  const manual = createManualModel()
  const { engine } = openEngine(folderFor(t), { model: manual.model, storage: createMemoryStorage(), clock })
  const run = engine.run('go')
  const asked = await manual.request(0)
  clock.advance(5_000)
  asked.reply('slow')
  assert.equal((await run.result).durationMs, 5_000)
  await engine.close()
})
