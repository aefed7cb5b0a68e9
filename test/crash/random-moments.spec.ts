/**
 * The real engine is killed with SIGKILL at random moments, in the middle of what it and its commands do on a real
 * disk, and resumed until it is done. `TROUPE_CRASHES` sets how many kills there are, `TROUPE_CRASH_SEED` the seed of
 * the moments (the rest of the timing is the machine's).
 */
import { createHash, randomInt } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ScriptedCall, ScriptedParts } from '../../src/effects/model/scripted-reply.ts'
import { callMany, say } from '../../src/effects/model/scripted-reply.ts'
import type { CompiledWorker } from './support/compile-worker.ts'
import { compileWorker } from './support/compile-worker.ts'
import { allCalls, countLines, expectLawful, expectNoProcesses } from './support/laws.ts'
import { markedProcesses } from './support/marked-processes.ts'
import type { Play } from './support/orders.ts'
import type { AgentLog, Stage } from './support/stage.ts'
import { linesIn, ofType, readLogs, requestsOf, setStage, startLife } from './support/stage.ts'

const CRASHES = Number(process.env['TROUPE_CRASHES'] ?? 15)
const SEED = Number(process.env['TROUPE_CRASH_SEED'] ?? randomInt(2 ** 31))
const KILLS_PER_SESSION = 3
const CHILDREN = ['child-a', 'child-b', 'child-c', 'child-d', 'child-e']

const agentCall = (prompt: string): ScriptedCall => ({
  name: 'Agent',
  input: { description: 'append lines', prompt, subagent_type: 'general-purpose' },
})

/** Appends one line, in one write, in the middle of a command that takes its time. */
const bash = (stage: { readonly ledger: string }, line: string): ScriptedCall => ({
  name: 'Bash',
  input: { command: `sleep 0.02; echo ${line} >> ${stage.ledger}; sleep 0.02` },
})

/** A parent with five children, three and then two at once; each appends three lines, and one by a keyed tool. */
function playOf(ledger: string): Play {
  const childPlay = (name: string): readonly ScriptedParts[] => [
    callMany([
      bash({ ledger }, `${name}.1`),
      { name: 'Write', input: { file_path: `${name}.txt`, content: name } },
    ]),
    // Behind a call that is not safe to repeat, others wait.
    callMany([bash({ ledger }, `${name}.2`), { name: 'Put', input: { id: name } }]),
    callMany([bash({ ledger }, `${name}.3`)]),
    say(`report of ${name}`),
  ]
  return {
    'the root': [
      callMany(CHILDREN.slice(0, 3).map(agentCall)),
      callMany(CHILDREN.slice(3).map(agentCall)),
      say('the end'),
    ],
    ...Object.fromEntries(CHILDREN.map((name) => [name, childPlay(name)])),
  }
}

/** Numbers in [0, 1) that a seed decides. */
function randomFrom(seed: number): () => number {
  let count = 0
  return () => {
    count += 1
    return createHash('sha256').update(`${seed} ${count}`).digest().readUInt32BE() / 2 ** 32
  }
}

let worker: CompiledWorker
beforeAll(async () => {
  worker = await compileWorker()
})
afterAll(() => worker.dispose())

/** A stage whose ledger lies in its own world. */
function newStage(): Stage {
  const empty = setStage({ 'the root': [] })
  const play = playOf(path.join(empty.world, 'ledger'))
  return { ...empty, play, prompt: 'the root' }
}

/** `prompt turn` of every reply that is in the logs. */
const repliesIn = (logs: readonly AgentLog[]): ReadonlySet<string> =>
  new Set(
    logs.flatMap(({ prompt, events }) =>
      ofType(events, 'reply.received').map((_, turn) => `${prompt} ${turn}`),
    ),
  )

/** Kills the session's processes at random moments, at most so often, and lets the last one live. Returns the kills. */
async function killAndResume(
  stage: Stage,
  random: () => number,
  maxKills: number,
  durationMs: number,
): Promise<number> {
  const durability = random() < 0.5 ? 'write' : 'fsync'
  // Far more often than by default, so that a resume meets whole ones, half ones and old ones.
  const snapshots = random() < 0.5 ? { snapshotEvery: 3 } : {}
  let kills = 0
  for (let life = 1; ; life += 1) {
    const known = repliesIn(await readLogs(stage))
    const process = startLife(worker.path, stage, { life, durability, modelMs: 5, ...snapshots })
    await process.ready
    if (kills < maxKills) {
      await wait(random() * durationMs)
      process.process.kill('SIGKILL')
    }
    const report = await process.report
    const logs = await readLogs(stage)
    const asked = requestsOf(stage)
      .filter((request) => request.life === life)
      .map(({ prompt, turn }) => `${prompt} ${turn}`)
    expect(
      asked.filter((request) => known.has(request)),
      'no reply that is in a log is asked for again',
    ).toEqual([])
    expect(new Set(asked).size, 'no process asks twice').toBe(asked.length)
    if (report !== undefined) {
      expect(report).toMatchObject(
        report.kind === 'over' ? {} : { kind: 'result', status: 'completed', text: 'the end' },
      )
      return kills
    }
    kills += 1
    if (random() < 0.5) killSurvivors(logs)
  }
}

/** As when a whole machine or container goes down: what the engine had started dies with it. */
function killSurvivors(logs: readonly AgentLog[]): void {
  const ids = logs.flatMap(({ events }) => ofType(events, 'agent.spawned').map(({ agentId }) => agentId))
  for (const survivor of markedProcesses(ids)) {
    try {
      process.kill(Number.parseInt(survivor, 10), 'SIGKILL')
    } catch {
      // It was faster.
    }
  }
}

/** What the world must look like in the end. Returns how many lines are missing. */
function expectEffectsOnce(stage: Stage, logs: readonly AgentLog[]): number {
  const ledger = countLines(linesIn(stage, 'ledger'))
  const keyed = countLines(linesIn(stage, 'keyed').map((line) => line.split('\t')[1] ?? ''))
  let missing = 0
  for (const { name, input, ended } of allCalls(logs)) {
    if (name === 'Bash') {
      const line = / echo (\S+) /.exec(String(input['command']))?.[1] ?? ''
      const times = ledger.get(line) ?? 0
      expect(times, `${line} is never there twice`).toBeLessThanOrEqual(1)
      if (times === 0) expect(ended?.outcome, `${line} is missing, and the model knows`).toBe('interrupted')
      if (ended?.outcome !== 'ok') expect(ended?.outcome).toBe('interrupted')
      missing += 1 - times
    } else expect(ended?.outcome, `${name} ${JSON.stringify(input)} is not lost`).toBe('ok')
  }
  expect(readdirSync(stage.project), 'half a file is nowhere').toEqual(
    CHILDREN.map((child) => `${child}.txt`),
  )
  for (const child of CHILDREN) {
    expect(keyed.get(child), `the keyed line of ${child} is there once`).toBe(1)
    expect(readFileSync(path.join(stage.project, `${child}.txt`), 'utf8')).toBe(child)
  }
  return missing
}

describe(`SIGKILL at random moments, seed ${SEED}`, () => {
  let durationMs = 0
  let requests = 0

  it('changes nothing when there is no kill', async () => {
    const stage = newStage()
    const life = startLife(worker.path, stage, { modelMs: 5 })
    await life.ready
    const startedAt = performance.now()
    expect(await life.report).toMatchObject({ kind: 'result', wasResumed: false, text: 'the end' })
    durationMs = performance.now() - startedAt
    const logs = await readLogs(stage)
    expectLawful(logs)
    expect(expectEffectsOnce(stage, logs)).toBe(0)
    expect(linesIn(stage, 'ledger')).toHaveLength(15)
    requests = requestsOf(stage).length
    expect(requests).toBe(23)
  })

  it(`${CRASHES} kills: nothing is repeated, nothing is lost without a word, and each session comes to its end`, {
    timeout: 60_000 + CRASHES * 10_000,
  }, async () => {
    const random = randomFrom(SEED)
    let kills = 0
    let missing = 0
    while (kills < CRASHES) {
      const stage = newStage()
      const sessionKills = await killAndResume(
        stage,
        random,
        Math.min(KILLS_PER_SESSION, CRASHES - kills),
        durationMs,
      )
      kills += sessionKills
      const logs = await readLogs(stage)
      expectLawful(logs)
      expect(logs, 'no child is started twice').toHaveLength(1 + CHILDREN.length)
      expectNoProcesses(logs)
      missing += expectEffectsOnce(stage, logs)
      expect(existsSync(stage.paths.lock), 'the lock is given back').toBe(false)
      // The root and at most three children ask at the same time.
      expect(requestsOf(stage).length).toBeLessThanOrEqual(requests + sessionKills * 3)
    }
    // Only what was in flight at a kill can be missing: one command of each of three children.
    expect(missing).toBeLessThanOrEqual(kills * 3)
  })
})
