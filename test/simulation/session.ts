/**
 * One whole simulated session: a user with some prompts, an engine, and everything that is done to its process, until
 * all prompts are answered. The engine is the real one; what it stands on is simulated.
 */

import { loadShellReader } from '../../src/definitions/permissions/shell/read-shell.ts'
import type { Ids } from '../../src/effects/ids.ts'
import { exitPlanModeTool } from '../../src/effects/tools/exit-plan-mode.ts'
import type { Agent } from '../../src/engine/agent.ts'
import type { ApprovalAnswer, Engine, EngineEvent, Run } from '../../src/engine/api.ts'
import { createEngine } from '../../src/engine/create-engine.ts'
import { codeOf } from '../../src/engine/errors.ts'
import { sessionPaths } from '../../src/journal/paths.ts'
import { phaseOf } from '../../src/machines/agent/accepts.ts'
import { isActive, type RunSnapshot } from '../../src/machines/agent/fold.ts'
import type { AgentId, SessionId } from '../../src/machines/ids.ts'
import { definitionsFor, RETRIES } from './definitions.ts'
import { createDisk } from './disk.ts'
import { countForks, type ForkCounts } from './forks.ts'
import { createSimulatedHooks } from './hooks.ts'
import { LAWS } from './laws/index.ts'
import type { Law, Monitor, Scene } from './laws/law.ts'
import { isOpened, isOutOfReach } from './laws/lookups.ts'
import { PROGRESS } from './laws/progress.ts'
import { createSimulatedModel, promptFor } from './model.ts'
import { countMoves, type Move, type MoveCounts, movable, move } from './moves.ts'
import type { BranchPlan, Plan, Stop } from './plan.ts'
import { answerTo, BRANCH_AGENT, WAITING, wordOn } from './plan.ts'
import { observe } from './probes.ts'
import { createSimulatedProcesses } from './processes.ts'
import { eventsOf, type ShadowLog } from './shadow-logs.ts'
import { createSimulatedTools } from './tools.ts'
import { countWords, type WordCounts } from './words.ts'
import { createSimulatedWorktrees } from './worktrees.ts'
import { createWorld, type Life } from './world.ts'

/** A law that was broken, and how. */
export interface Violation {
  readonly law: number
  readonly name: string
  readonly what: string
}

export interface SessionOutcome {
  /** The first thing that went wrong; undefined when all was well. */
  readonly violation: Violation | undefined
  readonly steps: number
  readonly lives: number
  readonly crashes: number
  readonly events: number
  /** How often a log was read from somewhere behind its start: what only a snapshot makes possible. */
  readonly shortcuts: number
  /** Branches that were asked something. */
  readonly branches: number
  /** Whether a line of a log was spoiled. */
  readonly isDamaged: boolean
  /** Worktrees that were handed out, and those of them that were kept. */
  readonly worktrees: { readonly made: number; readonly kept: number }
  /** Judgements of the classifier: on calls and on the work of children. */
  readonly verdicts: number
  /** Answers of the user to calls that waited for them. */
  readonly answers: number
  /** Requests to stop that were agreed to, and that were not. */
  readonly requests: { readonly agreed: number; readonly declined: number }
  /** Plans of agents that whoever started them has approved, has refused, and has not answered. */
  readonly plans: { readonly approved: number; readonly refused: number; readonly unanswered: number }
  readonly words: WordCounts
  /** Hooks that ran. */
  readonly hooks: number
  /** Conversations that were summed up; and how often something came in between. */
  readonly compactions: { readonly done: number; readonly cutOff: number }
  readonly forks: ForkCounts
  readonly moves: MoveCounts
  readonly story: readonly string[]
}

export interface SessionOptions {
  readonly withStory?: boolean
  /** Default: all. */
  readonly laws?: readonly Law[]
  /** Put in while the scene is set: see `faults/`. */
  readonly onScene?: (scene: Scene) => void
}

const SESSION = '51111111-1111-4111-8111-111111111111' as SessionId
/** The first one in a path is that of the session whose file it is. */
const SESSION_IN_PATH = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/
const HOME = '/simulated'
const CWD = '/'
/** Tokens of a narrow window that are kept for a reply, and beside it. */
const MARGIN = 5_000
const MOST_STEPS = 20_000
const MOST_LIVES = 40

/** Runs the plan to its end, or to the first violation. */
export async function simulate(plan: Plan, options: SessionOptions = {}): Promise<SessionOutcome> {
  // The parser of commands is loaded when it is first wanted, from a real disk.
  if (plan.moves === true) await loadShellReader()
  const session = createSession(plan, options)
  const restore = guardProcess(session.onUnhandled)
  try {
    return await session.run()
  } finally {
    observe(undefined)
    restore()
  }
}

/** What one process is doing. */
interface Process {
  readonly life: Life
  readonly engine: Engine
  readonly agents: Map<string, Agent>
  /** Set when its story is over: its work is done, or it could not go on. */
  over: boolean
  closing: boolean
  /** Calls that the user has made and that have not come back. */
  readonly asked: Set<string>
}

function createSession(plan: Plan, options: SessionOptions) {
  const world = createWorld(plan.seed, options.withStory === true)
  const paths = sessionPaths(HOME, CWD, SESSION)
  const monitors: Monitor[] = []
  let violation: Violation | undefined
  let process: Process | undefined
  let crashed: Life | undefined
  let lives = 0
  let crashes = 0
  let intruders = 0
  /** The branches that the user has made; only the last one counts. */
  const branches: SessionId[] = []
  const asked: Move[] = []
  let damaged: string | undefined
  /** The user was told that nothing can be made of what is left, and leaves it. */
  let isGivenUpForGood = false
  let hasComeThrough = false

  const disk = createDisk(
    world,
    plan,
    {
      onDurable: (log, recorded, before) => tell((each) => each.onDurable?.(log, recorded, before)),
      onWrite: (life, path) => tell((each) => each.onWrite?.(life, path)),
    },
    (life) => {
      world.end(life)
      crashed = life
    },
  )
  const scene: Scene = {
    plan,
    world,
    disk,
    tools: createSimulatedTools(world, plan.moves),
    hooks: createSimulatedHooks(world, plan.hooks === true ? plan.seed : undefined),
    processes: createSimulatedProcesses(world),
    model: createSimulatedModel(world, plan),
    worktrees: createSimulatedWorktrees(world, () => scene.tools.bodies),
    lockOf: (path) => sessionPaths(HOME, CWD, SESSION_IN_PATH.exec(path)?.[0] as SessionId).lock,
    moves: asked,
    get isClosing() {
      return process?.closing === true
    },
    get damaged() {
      return damaged
    },
    live: (agentId) => process?.agents.get(agentId),
  }
  const { tools, hooks, processes, model, worktrees } = scene

  const breaks = (law: Pick<Law, 'number' | 'name' | 'holdsOverDamage'>, what: string): void => {
    if (damaged !== undefined && law.holdsOverDamage !== true) return
    world.note(() => `BROKEN: law ${law.number}, ${law.name}: ${what}`)
    violation ??= { law: law.number, name: law.name, what }
  }
  for (const law of options.laws ?? LAWS) monitors.push(law.watch(scene, (what) => breaks(law, what)))
  const tell = (say: (monitor: Monitor) => void): void => {
    for (const monitor of monitors) say(monitor)
  }
  const stuck = (what: string): void => breaks(PROGRESS, what)

  observe({
    onApplied: (agent, recorded) => {
      if (process?.life.isAlive !== true) return
      process.agents.set(agent.id, agent)
      tell((each) => each.onApplied?.(agent, recorded))
    },
    onRestored: (agent) => {
      process?.agents.set(agent.id, agent)
      tell((each) => each.onRestored?.(agent))
    },
    onLate: (agent, draft) => {
      if (process?.life.isAlive === true) tell((each) => each.onLate?.(agent, draft))
    },
  })
  options.onScene?.(scene)

  const idsFor = (life: Life): Ids => {
    const chance = world.chance(`ids ${life.number}`)
    const hex = (length: number): string => world.nextNumber().toString(16).padStart(length, '0')
    return {
      uuid: () => `00000000-0000-4000-8000-${hex(12)}`,
      agentId: () => `a${hex(16)}` as AgentId,
      random: chance.next,
    }
  }

  const onEvent = (life: Life, event: EngineEvent): void => {
    if (!life.isAlive) return
    if (event.kind === 'fact') {
      world.note(() => `  ${event.agentId.slice(-3)} ${event.seq} ${summaryOf(event.event)}`)
      tell((each) => each.onFact?.(event))
    } else {
      if (event.kind !== 'delta')
        world.note(
          () =>
            `  ${event.kind} ${event.kind === 'late' ? event.type : event.kind === 'approval' ? event.request.approvalId : event.kind === 'question' ? event.request.questionId : event.message}`,
        )
      tell((each) => each.onNotice?.(event))
    }
  }

  /** The user's word, in its time: a pure function of the question. The first one counts. */
  const decide = (life: Life, engine: Engine, id: string): void => {
    const decision = wordOn(plan, id)
    const say = (answer: ApprovalAnswer['decision']): void => {
      try {
        engine.answer(id, { decision: answer }, 'the user')
      } catch (error) {
        if (codeOf(error, '') !== 'no-such-approval') throw error
      }
    }
    world.later(answerTo(id), life, () => {
      say(decision)
      say(decision === 'allow' ? 'deny' : 'allow')
    })
  }

  const engineFor = (life: Life): Engine => {
    const engine = createEngine({
      model: model.modelFor(life, (seen) => tell((each) => each.onRequest?.(seen))),
      tools: [
        ...tools.toolsFor(life, (body) => tell((each) => each.onBody?.(body))),
        ...(plan.plans === true ? [exitPlanModeTool] : []),
      ],
      processes: processes.runnerFor(life),
      worktrees: worktrees.portFor(life),
      storage: disk.storageFor(life),
      clock: life.clock,
      ids: idsFor(life),
      home: HOME,
      cwd: CWD,
      definitions: definitionsFor(plan),
      permissions: { mode: plan.mode, deny: plan.deny, allow: plan.allow ?? [], wait: plan.asks === true },
      hooks: hooks.hooksFor(life),
      limits: { ...plan.limits, ...(plan.window !== undefined && { contextMargin: MARGIN }) },
      ...(plan.window !== undefined && {
        modelFacts: { '': { contextWindow: plan.window } },
        maxTokens: MARGIN,
      }),
      ...(plan.forks !== undefined && { features: { fork: true, background: plan.forks === 'beside' } }),
      ...(plan.speaks === true && { features: { names: true } }),
      ...(plan.defersReviews === true && { review: { deferBackground: true } }),
      retries: RETRIES,
      systemPrompt: 'You are the root.',
      snapshotEvery: plan.snapshotEvery ?? Number.POSITIVE_INFINITY,
    })
    engine.events$.subscribe((event) => {
      onEvent(life, event)
      if (event.kind === 'approval' && life.isAlive) decide(life, engine, event.request.approvalId)
    })
    return engine
  }

  /** A call of the user: it must come back, if the process lives. */
  const ask = async <T>(of: Process, what: string, call: Promise<T>): Promise<T> => {
    const name = `${what} #${world.nextNumber()}`
    of.asked.add(name)
    try {
      return await call
    } finally {
      of.asked.delete(name)
      world.note(() => `  ${what} came back`)
    }
  }

  const runsStarted = (): number =>
    eventsOf(disk.logs.root, 'run.started').filter(({ origin }) => origin.from === 'user').length
  const branchRuns = (): number =>
    disk.logs.branches.reduce((sum, log) => sum + eventsOf(log, 'run.started').length, 0)

  /** Asks for a session again; and once more when it is refused because of the spoiled line, of which the user knows. */
  const resume = async (of: Process, id: SessionId): Promise<Run | undefined> => {
    try {
      const run = await ask(of, 'resume', of.engine.resume(id))
      if (of.life.isAlive) tell((each) => each.onResume?.({ acceptDamage: false, error: undefined }))
      return run
    } catch (error) {
      if (!of.life.isAlive) throw error
      tell((each) => each.onResume?.({ acceptDamage: false, error }))
      if (damaged === undefined || codeOf(error, '') !== 'damaged-log') throw error
    }
    return ask(of, 'resume over damage', of.engine.resume(id, { acceptDamage: true }))
  }

  /** Brings the branch back, or makes it if there is none, or none that was asked anything. */
  const useBranch = async (of: Process, { at, prompt }: BranchPlan): Promise<void> => {
    const id = branches.at(-1)
    if (id !== undefined && disk.exists(sessionPaths(HOME, CWD, id).rootLog)) {
      const run = await resume(of, id)
      if (run !== undefined) await ask(of, 'resumed branch', run.result)
    }
    if (branchRuns() > 0) return
    const { maxTurns } = prompt
    const run = of.engine.branch(SESSION, {
      at: Math.floor(at * ((disk.logs.root?.lastSeq ?? 0) + 1)),
      prompt: promptFor(BRANCH_AGENT),
      ...(maxTurns !== undefined && { maxTurns }),
    })
    branches.push(run.sessionId)
    await ask(of, 'branch', run.result)
  }

  /** What the user does with one process: brings the session back, asks what is left to ask, and closes. */
  const live = async (of: Process): Promise<void> => {
    try {
      if (disk.exists(paths.rootLog)) {
        const run = await resume(of, SESSION)
        if (run !== undefined) await ask(of, 'resumed run', run.result)
      }
      for (let next = runsStarted(); next < plan.prompts.length; next++) {
        const prompt = plan.prompts[next]
        const text = promptFor(`p${next}`)
        const run = of.engine.run(prompt?.asBlocks === true ? [{ type: 'text', text }] : text, {
          sessionId: SESSION,
          ...(prompt?.maxTurns !== undefined && { maxTurns: prompt.maxTurns }),
        })
        try {
          await ask(of, 'run', run.result)
        } catch (error) {
          // A message has begun a run meanwhile.
          if (plan.speaks !== true || codeOf(error, '') !== 'run-in-flight') throw error
          await new Promise<void>((resolve) => void world.later(WAITING, of.life, resolve))
          next -= 1
        }
      }
      if (plan.branch !== undefined) await useBranch(of, plan.branch)
      hasComeThrough = true
    } catch (error) {
      world.note(() => `  the user is told: ${String(error)}`)
      const isTaken = codeOf(error, '') === 'session-locked' && intruders > 0
      isGivenUpForGood = damaged !== undefined && codeOf(error, '') === 'impossible-log'
      if (!isTaken && !isGivenUpForGood && !isExpected(error))
        breaks(PROGRESS, `the user is told ${String(error)}`)
    }
    if (plan.diskFaults.length === 0 && isAnybodyMoving(of) && !of.closing)
      await ask(of, 'the rest', whenNobodyMoves(of))
    await whenAtRest(of)
    // Somebody else may be closing it: the process is not over before that is.
    if (!of.closing) await close(of)
  }

  const isAnybodyMoving = (of: Process): boolean => of.engine.agents.some((agent) => isMoving(agent.agentId))

  /** Agents in the background go on when the root has stopped: the user waits for them, too. */
  const whenNobodyMoves = (of: Process): Promise<void> =>
    new Promise((resolve) => {
      of.engine.events$.subscribe({
        next: () => {
          if (of.closing || !isAnybodyMoving(of)) resolve()
        },
        complete: resolve,
      })
    })

  /** Orphans of a failed disk may still be coming to their end when the root has. */
  const whenAtRest = async (of: Process): Promise<void> => {
    const isWorthWaiting = (): boolean =>
      plan.diskFaults.length > 0
        ? of.engine.agents.some(({ agentId }) => isMoving(agentId) && scene.live(agentId)?.isOpen === true)
        : isAnybodyMoving(of) && world.underWay(of.life).length > 0
    while (!of.closing && isWorthWaiting())
      await new Promise<void>((resolve) => {
        world.later(WAITING, of.life, resolve)
      })
  }
  const isMoving = (agentId: string): boolean => isActive(scene.live(agentId)?.run?.snapshot)

  const close = async (of: Process): Promise<void> => {
    of.closing = true
    world.note(() => `closing process ${of.life.number}`)
    await ask(of, 'close', of.engine.close())
    if (disk.holderOf(paths.lock) === of.life)
      breaks({ number: 10, name: 'one writer' }, 'the engine is closed and still holds the lock')
    world.note(() => `process ${of.life.number} is closed`)
    tell((each) => each.onClosed?.(of.life))
    of.over = true
  }

  /** What happens to the files while no process runs. */
  const spoil = (): void => {
    const { snapshotRuins = [], damage } = plan
    const ruin = snapshotRuins[Math.min(lives, snapshotRuins.length) - 1] ?? 'none'
    if (lives > 0 && ruin !== 'none') disk.ruinSnapshots(ruin)
    if (damage === undefined || damaged !== undefined || lives < damage.afterLife) return
    const { root } = disk.logs
    const atWork = disk.logs.all.filter(
      (log) => log !== root && isActive(log.state.run) && isOpened(disk.logs, log),
    )
    const candidates = [...(root === undefined ? [] : [root]), ...atWork].filter(
      ({ trouble }) => trouble.length === 0,
    )
    const target = candidates[Math.floor(damage.log * candidates.length)]
    if (target !== undefined && disk.damageLine(target.path, damage)) damaged = target.path
  }

  const begin = (): Process => {
    spoil()
    hasComeThrough = false
    lives += 1
    const life = world.begin()
    world.note(() => `process ${life.number} begins`)
    process = {
      life,
      engine: undefined as unknown as Engine,
      agents: new Map(),
      over: false,
      closing: false,
      asked: new Set(),
    }
    const made: Process = Object.assign(process, { engine: engineFor(life) })
    void live(made)
    return made
  }

  const afterCrash = (life: Life): void => {
    crashes += 1
    world.note(() => `process ${life.number} is dead`)
    disk.crash(life)
    crashed = undefined
    process = undefined
    tell((each) => each.onCrash?.(life))
  }

  const intrude = async (on: Process): Promise<void> => {
    const isHeld = disk.holderOf(paths.lock) === on.life
    if (!isHeld || !disk.exists(paths.rootLog)) return
    intruders += 1
    const life = world.begin()
    const engine = engineFor(life)
    const outcome = await engine.resume(SESSION).then(
      () => 'it has the session',
      (error: unknown) => codeOf(error, String(error)),
    )
    // The first may have let go meanwhile.
    if (outcome !== 'session-locked' && disk.holderOf(paths.lock) === on.life && on.life.isAlive)
      tell((each) => each.onIntrusion?.(outcome))
    await engine.close()
    world.end(life)
    intruders -= 1
  }

  const whatMoves = (on: Process): readonly Move[] =>
    on.closing ? [] : movable(on.life, disk.logs, tools, processes.all)

  const disturb = (stop: Stop, on: Process): void => {
    world.note(() => `DISTURBED: ${JSON.stringify(stop)}`)
    switch (stop.kind) {
      case 'crash':
        world.end(on.life)
        crashed = on.life
        return
      case 'close':
        if (!on.closing) void close(on)
        return
      case 'kill': {
        const agents = on.engine.agents
        const agent = agents[stop.which % Math.max(1, agents.length)]
        if (agent !== undefined)
          ask(on, `kill ${agent.agentId}`, on.engine.kill(agent.agentId, 'simulated')).catch(() => {})
        return
      }
      case 'move': {
        const all = whatMoves(on)
        const what = all[stop.which % Math.max(1, all.length)]
        if (what === undefined) return
        asked.push(what)
        ask(on, `move of ${what.what} ${what.agentId}`, move(on.engine, what)).catch(() => {})
        return
      }
      case 'intrude':
        void intrude(on)
        return
      case 'prompt-again':
        // In the middle of its calls a run is far from its end; close to it this could be the next prompt, and be taken.
        if (isActing(disk.logs.root?.state.run) && !on.closing)
          ask(on, 'prompt in between', on.engine.run('not now', { sessionId: SESSION }).result).then(
            () => breaks({ number: 4, name: 'ends are final' }, 'a prompt was taken in the middle of a run'),
            () => {},
          )
        return
      case 'crash-in-write':
        return
    }
  }

  const isGivenUp = (log: ShadowLog): boolean => plan.diskFaults.length > 0 && isOutOfReach(disk.logs, log)
  const isDone = (): boolean => {
    // What lines said that are lost, nobody knows.
    if (damaged !== undefined) return hasComeThrough || isGivenUpForGood
    return (
      runsStarted() >= plan.prompts.length &&
      (plan.branch === undefined || branchRuns() > 0) &&
      disk.logs.all.every((log) => !isActive(log.state.run) || isGivenUp(log))
    )
  }

  const run = async (): Promise<SessionOutcome> => {
    const stops = plan.stops.filter((each) => each.kind !== 'crash-in-write')
    const due = (): Stop | undefined => {
      const at = stops.findIndex(
        (each) => each.after <= world.steps && (each.kind !== 'move' || whatMoves(current).length > 0),
      )
      return at < 0 ? undefined : stops.splice(at, 1)[0]
    }
    // The last process has nothing to do any more but to find that out: a resume of what is over changes nothing.
    let lastLook: Process | undefined
    let current = begin()
    await world.drain()
    while (violation === undefined) {
      if (crashed === undefined && !current.over) {
        const stop = due()
        if (stop !== undefined && 'after' in stop) disturb(stop, current)
      }
      if (crashed === undefined && !current.over) {
        const isMoving = await world.step()
        tell((each) => each.onStep?.())
        if (!isMoving && crashed === undefined && !current.over)
          stuck(`nothing is under way, and the user waits for: ${[...current.asked].join(', ') || 'nothing'}`)
        if (world.steps > MOST_STEPS) stuck(`${MOST_STEPS} steps were made and there is no end`)
      }
      if (crashed !== undefined) {
        afterCrash(crashed)
        lastLook = undefined
      } else if (!current.over) continue
      else if (lastLook === current) break
      else if (current.life.isAlive) world.end(current.life)
      // A second process that came when the first had let go has the session now, until it has found nothing to do.
      while (intruders > 0 && (await world.step()));
      if (lives > MOST_LIVES) {
        stuck(`${MOST_LIVES} processes were not enough`)
        break
      }
      const isLast = isDone()
      current = begin()
      if (isLast) lastLook = current
      await world.drain()
    }
    if (violation === undefined) {
      while (await world.step());
      tell((each) => each.onEnd?.())
    }
    // The next session has agents of the same ids: nothing of this one may be seen in it.
    await world.endAll()
    return {
      violation,
      steps: world.steps,
      lives,
      crashes,
      shortcuts: disk.shortcuts,
      branches: branchRuns(),
      isDamaged: damaged !== undefined,
      worktrees: {
        made: worktrees.trees.filter(({ wasHandedOut }) => wasHandedOut).length,
        kept: worktrees.trees.filter(({ state }) => state === 'there').length,
      },
      verdicts: disk.logs.all.reduce(
        (sum, log) => sum + eventsOf(log, 'call.classified').length + eventsOf(log, 'review.ended').length,
        0,
      ),
      answers: disk.logs.all.reduce((sum, log) => sum + eventsOf(log, 'approval.answered').length, 0),
      requests: {
        agreed: disk.logs.all.reduce((sum, log) => sum + answersIn(log, true), 0),
        declined: disk.logs.all.reduce((sum, log) => sum + answersIn(log, false), 0),
      },
      plans: {
        approved: disk.logs.all.reduce((sum, log) => sum + plansIn(log, 'approved'), 0),
        refused: disk.logs.all.reduce((sum, log) => sum + plansIn(log, 'refused'), 0),
        unanswered: disk.logs.all.reduce((sum, log) => sum + plansIn(log, 'unanswered'), 0),
      },
      words: countWords(disk.logs.all),
      hooks: hooks.calls.length,
      compactions: {
        done: disk.logs.all.reduce((sum, log) => sum + eventsOf(log, 'conversation.compacted').length, 0),
        cutOff: disk.logs.all.reduce((sum, log) => sum + cutOffIn(log), 0),
      },
      events: disk.logs.all.reduce((sum, { events }) => sum + events.length, 0),
      forks: countForks(disk.logs.all),
      moves: countMoves(disk.logs.all, processes.all),
      story: world.story,
    }
  }

  return { run, onUnhandled: (error: unknown) => tell((each) => each.onUnhandled?.(error)) }
}

/** How often a request to stop was answered so. */
const answersIn = (log: ShadowLog, approve: boolean): number =>
  eventsOf(log, 'call.ended').filter(({ answers }) => answers?.approve === approve).length

/** How often a plan came to this. */
const plansIn = (log: ShadowLog, came: 'approved' | 'refused' | 'unanswered'): number =>
  eventsOf(log, 'question.answered').filter(
    ({ answer }) =>
      came === (answer.kind === 'none' ? 'unanswered' : answer['approved'] === true ? 'approved' : 'refused'),
  ).length

/** How often something else than its end came while a conversation was summed up. */
const cutOffIn = ({ events }: ShadowLog): number =>
  events.filter(
    ({ event }, i) =>
      events[i - 1]?.event.type === 'context.exceeded' &&
      event.type !== 'conversation.compacted' &&
      event.type !== 'compaction.failed',
  ).length

const isActing = (run: RunSnapshot | undefined): boolean => run !== undefined && phaseOf(run) === 'acting'

/** What a user may be told when the disk fails, somebody closes the engine, or kills before there is anything. */
function isExpected(error: unknown): boolean {
  const code = codeOf(error, '')
  return (
    code.startsWith('journal-') ||
    ['engine-closed', 'full', 'io', 'short-write', 'poisoned', 'closed'].includes(code)
  )
}

/** Sees what fails unseen, and keeps the timers away that an engine holds its process with. */
function guardProcess(onUnhandled: (error: unknown) => void): () => void {
  const { setInterval } = globalThis
  const others = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection')
  process.on('unhandledRejection', onUnhandled)
  // A dead engine never lets go of the timer that keeps its process alive: with its process it would have gone.
  globalThis.setInterval = Object.assign(
    (...[callback, ms, ...rest]: Parameters<typeof setInterval>) =>
      ms !== undefined && ms > 2 ** 30 ? setTimeout(() => {}, 0) : setInterval(callback, ms, ...rest),
    setInterval,
  ) as typeof setInterval
  return () => {
    globalThis.setInterval = setInterval
    process.off('unhandledRejection', onUnhandled)
    for (const listener of others) process.on('unhandledRejection', listener)
  }
}

function summaryOf(event: {
  readonly type: string
  readonly callId?: unknown
  readonly outcome?: unknown
}): string {
  const outcome =
    typeof event.outcome === 'object' ? JSON.stringify(event.outcome) : String(event.outcome ?? '')
  return [event.type, String(event.callId ?? ''), outcome].filter((part) => part !== '').join(' ')
}
