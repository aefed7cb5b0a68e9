/**
 * `npm run soak -- --minutes 60`: does anything grow that should not?
 *
 * Session after session in one process, on real files, with children side by side, commands, kills, closes and
 * resumes. After warming up, heap, handles, timers and processes are sampled between sessions, when all of them should
 * be at rest; a line is fitted to each series. A slope above its tolerance is a leak: the verdict names it and the
 * exit code is 1. It runs without optimised code (`--no-opt --no-sparkplug`): machine code and what V8 notes about it
 * grow for a long while, by a kilobyte and more a session, and would hide what is ours. What a session leaves on the disk is removed with it,
 * so that only memory can grow.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { ModelRequest } from '../src/effects/model/model.ts'
import { createScriptedModel } from '../src/effects/model/scripted.ts'
import type { ScriptedReply } from '../src/effects/model/scripted-reply.ts'
import { call, callMany, say } from '../src/effects/model/scripted-reply.ts'
import { createLocalProcessRunner } from '../src/effects/process/local-process-runner.ts'
import type { Engine, Run, RunResult } from '../src/index.ts'
import { createEngine } from '../src/index.ts'

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '60' } } })
const minutes = Number(values.minutes)
if (!(minutes > 0)) throw new Error(`--minutes ${values.minutes}: it must be a number above 0`)
const collectGarbage = globalThis.gc
if (collectGarbage === undefined) throw new Error('run it as "npm run soak": it needs node --expose-gc')

/** The part of the time in which caches fill and code is compiled: not looked at. */
const WARM_UP = 0.25
const SAMPLES = 240
/** A session that takes longer than this does not end any more. */
const HANG_MS = 5 * 60_000

/** What is measured, and how much of it one session more may leave behind. */
const TOLERANCES = {
  'heap, KB': { perSession: 0.5, least: 2_048 },
  'external memory, KB': { perSession: 0.5, least: 2_048 },
  // Fragments and returns memory late: only a steady climb counts.
  'resident set, KB': { perSession: 8, least: 65_536 },
  'open files': { perSession: 0, least: 2 },
  'active resources': { perSession: 0, least: 2 },
  timers: { perSession: 0, least: 1 },
  'child processes': { perSession: 0, least: 1 },
  'files left': { perSession: 0, least: 1 },
} as const
type Measure = keyof typeof TOLERANCES
const MEASURES = Object.keys(TOLERANCES) as readonly Measure[]

interface Sample {
  readonly sessions: number
  readonly minute: number
  readonly measured: Readonly<Record<Measure, number>>
}

// ── what the sessions do ─────────────────────────────────────────────────────────────────────────────────

const CHILDREN = [1, 2, 3]

/** A parent with three children side by side, then a command; children read, write, search and run commands. */
function play({ source, messages }: ModelRequest): ScriptedReply {
  const turn = messages.filter(({ role }) => role === 'assistant').length
  const question = textOf(messages[0]?.content)
  if (source !== 'main') {
    const file = `${/\d/.exec(question)?.[0] ?? 'x'}.txt`
    if (turn === 0)
      return callMany([
        { name: 'Glob', input: { pattern: '*.txt' } },
        { name: 'Read', input: { file_path: file } },
      ])
    if (turn === 1) return call('Write', { file_path: file, content: `${question}\n${'text '.repeat(500)}` })
    if (turn === 2)
      return call('Bash', {
        command: question.includes('slow') ? 'sleep 30 & sleep 30' : `wc -c ${file}; ls`,
      })
    return say(`${question} is done. ${'words '.repeat(200)}`)
  }
  const isSlow = textOf(messages.at(-1)?.content).includes('slow') || question.includes('slow')
  const child = (n: number) => ({
    name: 'Agent',
    input: {
      description: `child ${n}`,
      prompt: `${isSlow ? 'slow' : 'quick'} ${n}`,
      subagent_type: 'general-purpose',
    },
  })
  if (turn % 3 === 0) return callMany(CHILDREN.map(child))
  if (turn % 3 === 1) return call('Bash', { command: 'seq 1 2000; true' })
  return say('all is done')
}

function textOf(content: ModelRequest['messages'][number]['content'] | undefined): string {
  return typeof content === 'string' ? content : JSON.stringify(content ?? '')
}

/** What becomes of a session, in turn. */
const FATES = ['ends', 'two runs', 'killed', 'child killed', 'closed and resumed', 'aborted'] as const

const root = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-soak-')))
const home = join(root, 'home')
const cwd = join(root, 'project')
const counts = { sessions: 0, runs: 0, facts: 0 }

function startEngine(): Engine {
  const engine = createEngine({
    model: createScriptedModel(play),
    cwd,
    home,
    permissions: { mode: 'bypassPermissions' },
    processes: createLocalProcessRunner({ graceMs: 50 }),
  })
  engine.events$.subscribe(({ kind }) => {
    if (kind === 'fact') counts.facts += 1
  })
  return engine
}

const expectEnd = async (run: Run, status: RunResult['status']): Promise<void> => {
  const result = await run.result
  counts.runs += 1
  if (result.status !== status) {
    throw new Error(`a run of session ${result.sessionId} was to be ${status}: ${JSON.stringify(result)}`)
  }
}

/** Resolves when all children wait for their commands: one that came later would not be what is interrupted. */
async function commandsOf(engine: Engine): Promise<void> {
  let started = 0
  await new Promise<void>((resolve) => {
    const subscription = engine.events$.subscribe((event) => {
      if (event.kind !== 'fact' || event.event.type !== 'process.started') return
      started += 1
      if (started < CHILDREN.length) return
      subscription.unsubscribe()
      resolve()
    })
  })
}

/** One session from its first prompt to the end of its engine. */
async function live(fate: (typeof FATES)[number]): Promise<void> {
  await using engine = startEngine()
  switch (fate) {
    case 'ends':
      return await expectEnd(engine.run('quick'), 'completed')
    case 'two runs': {
      const run = engine.run('quick')
      await expectEnd(run, 'completed')
      return await expectEnd(engine.run('quick again', { sessionId: run.sessionId }), 'completed')
    }
    case 'killed': {
      const run = engine.run('slow')
      await commandsOf(engine)
      await engine.kill(await run.started, 'the soak kills it')
      return await expectEnd(run, 'killed')
    }
    case 'child killed': {
      const run = engine.run('slow')
      await commandsOf(engine)
      await Promise.all(
        engine.agents.filter(({ depth }) => depth > 0).map(({ agentId }) => engine.kill(agentId)),
      )
      return await expectEnd(run, 'completed')
    }
    case 'aborted': {
      const abort = new AbortController()
      const run = engine.run('slow', { signal: abort.signal })
      await commandsOf(engine)
      abort.abort()
      return await expectEnd(run, 'killed')
    }
    case 'closed and resumed': {
      const run = engine.run('slow')
      run.result.catch(() => {})
      await commandsOf(engine)
      await engine.close()
      await using next = startEngine()
      const resumed = await next.resume(run.sessionId)
      // Calls in flight are told as interrupted, and the children go on to their reports.
      if (resumed !== undefined) await expectEnd(resumed, 'completed')
    }
  }
}

// ── what is measured ─────────────────────────────────────────────────────────────────────────────────────

const openFiles = (): number => (process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0)

function childProcesses(): number {
  if (process.platform !== 'linux') return 0
  return readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').split(' ').filter(Boolean).length
}

async function sample(startedAt: number): Promise<Sample> {
  // Streams and sockets close a turn or two after whoever used them is done.
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
  for (let i = 0; i < 2; i++) collectGarbage?.()
  const { heapUsed, external, rss } = process.memoryUsage()
  const resources = process.getActiveResourcesInfo()
  return {
    sessions: counts.sessions,
    minute: (Date.now() - startedAt) / 60_000,
    measured: {
      'heap, KB': heapUsed / 1024,
      'external memory, KB': external / 1024,
      'resident set, KB': rss / 1024,
      'open files': openFiles(),
      'active resources': resources.length,
      timers: resources.filter((name) => name === 'Timeout').length,
      'child processes': childProcesses(),
      'files left': readdirSync(root).length,
    },
  }
}

const show = ({ sessions, minute, measured }: Sample): string =>
  `${minute.toFixed(1).padStart(5)} min  ${String(sessions).padStart(6)} sessions  ` +
  MEASURES.map((name) => `${name} ${Math.round(measured[name])}`).join('  ')

/** The least-squares line through the points: how much `y` grows when `x` grows by one. */
function slopeOf(points: readonly (readonly [number, number])[]): number {
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / points.length
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / points.length
  const covariance = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0)
  const variance = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0)
  return variance === 0 ? 0 : covariance / variance
}

/** Whether each series is flat: its line may rise by so much per session, or by so little in all that it is noise. */
function judge(samples: readonly Sample[]): boolean {
  const sessions = (samples.at(-1)?.sessions ?? 0) - (samples[0]?.sessions ?? 0)
  console.log(`\nafter warming up: ${samples.length} samples over ${sessions} sessions`)
  const flat = MEASURES.map((name) => {
    const { perSession, least } = TOLERANCES[name]
    const slope = slopeOf(samples.map(({ sessions, measured }) => [sessions, measured[name]]))
    const allowed = Math.max(perSession, least / Math.max(sessions, 1))
    const isFlat = slope <= allowed
    console.log(
      `${isFlat ? 'flat ' : 'GROWS'}  ${name}: ${slope.toFixed(4)} per session, at most ${allowed.toFixed(4)}`,
    )
    return isFlat
  })
  return flat.every(Boolean)
}

// ── the soak ─────────────────────────────────────────────────────────────────────────────────────────────

const startedAt = Date.now()
const endsAt = startedAt + minutes * 60_000
const warmAt = startedAt + minutes * 60_000 * WARM_UP
const samples: Sample[] = []
let nextSampleAt = warmAt
let nextLineAt = startedAt
try {
  while (Date.now() < endsAt) {
    mkdirSync(cwd, { recursive: true })
    const fate = FATES[counts.sessions % FATES.length] ?? 'ends'
    const hangs = setTimeout(() => {
      console.error(`session ${counts.sessions} (${fate}) hangs; its logs are in ${root}`)
      process.exit(1)
    }, HANG_MS)
    try {
      await live(fate)
    } catch (error) {
      throw new Error(`session ${counts.sessions} (${fate}) failed`, { cause: error })
    } finally {
      clearTimeout(hangs)
    }
    counts.sessions += 1
    rmSync(home, { recursive: true, force: true })
    rmSync(cwd, { recursive: true, force: true })
    const now = Date.now()
    // Samples stand at the same fate, so that what one of them leaves for a moment is no trend.
    if (counts.sessions % FATES.length !== 0 || now < Math.min(nextSampleAt, nextLineAt)) continue
    const taken = await sample(startedAt)
    if (now >= nextSampleAt) {
      samples.push(taken)
      nextSampleAt = now + (endsAt - warmAt) / SAMPLES
    }
    if (now >= nextLineAt) {
      console.log(show(taken))
      nextLineAt += Math.min(60_000, (minutes * 60_000) / 6)
    }
  }
  console.log(show(await sample(startedAt)))
  const isFlat = samples.length >= 3 && judge(samples)
  console.log(
    `\n${counts.sessions} sessions, ${counts.runs} runs, ${counts.facts} events in ${minutes} minutes`,
  )
  if (samples.length < 3) console.log('too few samples: give it more minutes')
  console.log(isFlat ? 'flat: nothing grows' : 'NOT flat')
  process.exitCode = isFlat ? 0 : 1
} finally {
  rmSync(root, { recursive: true, force: true })
}
