/**
 * Opening a session: a new one, or one that is on disk already.
 *
 * Bringing a tree back, in this order: the lock; the logs of the root and of every child whose call has no
 * result in its parent's log (ten thousand finished children cost nothing); the processes that the dead engine
 * left; a line in each unfinished log that says so; and only then the first effect.
 */
import type { RecordedProcess } from '../effects/process/process-runner.ts'
import { sessionPaths } from '../journal/paths.ts'
import { ACCEPTED, isBeforeSettling, phaseOf } from '../machines/agent/accepts.ts'
import type { AgentEventOf, EventDraft, RunKey } from '../machines/agent/events.ts'
import { isActive } from '../machines/agent/fold.ts'
import { isAmong, withoutRuns } from '../machines/agent/run-key.ts'
import type { AgentId, SessionId } from '../machines/ids.ts'
import { Agent } from './agent.ts'
import { AgentSnapshots } from './agent-snapshots.ts'
import type { ResumeOptions } from './api.ts'
import type { EngineCore } from './core.ts'
import { EngineError, messageOf, toFault } from './errors.ts'
import { newLosses } from './log-losses.ts'
import type { ReadAgent } from './read-agent.ts'
import { restorePrepared } from './restore-prepared.ts'
import { reviveAgent } from './revive.ts'
import { Session } from './session.ts'
import { sparedBy } from './spares.ts'
import { reenterWorktree } from './worktree/enter-worktree.ts'
import { sweepWorktrees } from './worktree/sweep-worktrees.ts'

/** An agent read back from its log; nothing of it runs yet. */
interface Loaded {
  readonly agent: Agent
  readonly read: ReadAgent
  readonly fate: Fate
}

/**
 * What becomes of an agent that is read back. `attached`: it goes on; the call that started it waits for it, or it is
 * the root. `ending`: its parent is at its own end, brings it to one and delivers that. `orphan`: its call has another
 * result than its end; nobody waits for it any more, so it is ended at once. `background`: it goes on, and whoever is
 * owed its end is told.
 */
type Fate = 'attached' | 'background' | 'ending' | 'orphan'

/** Opens a session under its lock: reads it back if it is on disk, else prepares an empty one. */
export async function openSession(
  core: EngineCore,
  id: SessionId,
  options: ResumeOptions = {},
): Promise<Session> {
  const paths = sessionPaths(core.home, core.cwd, id)
  const lock = core.storage.lock(paths.lock, core.lockInfo, { takeOver: options.takeOver === true })
  const session = new Session(core, id, paths, lock)
  try {
    if (await core.storage.exists(paths.rootLog)) await bringBack(core, session, options)
    else session.createRoot()
    sweepWorktrees(core, session)
    return session
  } catch (error) {
    for (const agent of session.agents) session.forget(agent.id)
    lock.release()
    throw error
  }
}

/** Whether a session of this project is on disk. */
export async function sessionExists(core: EngineCore, id: SessionId): Promise<boolean> {
  return core.storage.exists(sessionPaths(core.home, core.cwd, id).rootLog)
}

async function bringBack(core: EngineCore, session: Session, options: ResumeOptions): Promise<void> {
  const reading: Reading = {
    core,
    session,
    acceptDamage: options.acceptDamage === true,
    ofOthers: [],
    left: [],
    lastRuns: new Map(),
  }
  const root = await load(reading, undefined, session.paths.rootLog, undefined, 'attached')
  // The session was never really there. Its root is born with the next prompt.
  if (root === undefined || root === 'postponed') return
  const tree = [root, ...(await loadChildren(reading, root))]
  // When everybody is read back who is at work, the others stand above nobody else.
  for (const child of reading.ofOthers) tree.push(...(await loadChild(reading, child, 'revive')))
  session.spawns.add(
    (await core.storage.list(session.paths.subagents)).filter((name) => name.endsWith('.jsonl')).length,
  )
  const given = endsToGive(reading, tree)
  const unfinished = tree.filter(({ read }) => isActive(read.state.run))
  const survivors = await endSurvivors(core, session, tree, unfinished)
  for (const loaded of tree) {
    const { agent, read, fate } = loaded
    const changed = fate === 'orphan' ? [] : await session.definitions.recall(agent.birth.plan)
    const neverBegan = runsThatNeverBegan(reading, agent)
    const gone = [...neverBegan, ...withoutRuns(takenOver(agent), neverBegan)]
    const released = [...releases(gone), ...(given.get(agent) ?? [])]
    if (!unfinished.includes(loaded)) {
      if (released.length > 0) await agent.amend(read.state, released)
      continue
    }
    // Who only comes to its end asks no model any more.
    const place = goesOn(fate) ? await placeAgain(core, agent) : { differences: [] }
    const differences = goesOn(fate)
      ? [...changed, ...place.differences, ...(await restorePrepared(core, agent))]
      : []
    const drafts = [...resumption(loaded, survivors, differences), ...released]
    await agent.amend(read.state, place.fault === undefined ? drafts : [...drafts, place.fault])
  }
  // Behind the lines of those who are owed them now.
  for (const { agent, read } of reading.left) {
    await agent.amend(read.state, releases(agent.digest.owed))
    if (!session.isLive(agent)) core.storage.release(agent.logPath)
  }
  await Promise.all(tree.filter(({ fate }) => fate === 'orphan').map(({ agent }) => endOrphan(core, agent)))
}

const goesOn = (fate: Fate): fate is 'attached' | 'background' => fate === 'attached' || fate === 'background'

/** Phases in which an agent goes on working; before them it is placed anyway, behind them nobody works any more. */
const WORKING: ReadonlySet<string> = new Set(['requesting', 'acting', 'checking'])

/** An agent that works in a worktree of its own gets it back, or does not go on: never in another place. */
async function placeAgain(
  core: EngineCore,
  agent: Agent,
): Promise<{ readonly differences: readonly string[]; readonly fault?: AgentEventOf<'agent.faulted'> }> {
  if (agent.run === undefined || !WORKING.has(phaseOf(agent.run.snapshot))) return { differences: [] }
  try {
    const difference = await reenterWorktree(core, agent, undefined)
    return { differences: difference === undefined ? [] : [difference] }
  } catch (error) {
    const fault = toFault(error, `agent ${agent.id} could not go on in its worktree`)
    return { differences: [], fault: { type: 'agent.faulted', fault } }
  }
}

interface Reading {
  readonly core: EngineCore
  readonly session: Session
  readonly acceptDamage: boolean
  /** Agents in the background that somebody started who was not read back yet. */
  readonly ofOthers: ChildToOpen[]
  /** Who has ended and is owed ends all the same, that could be given to nobody. */
  readonly left: Loaded[]
  /** Last runs of agents in the background. */
  readonly lastRuns: Map<AgentId, number>
}

interface ChildToOpen {
  readonly id: AgentId
  readonly fate: Fate
  /** Who waits for it, or is owed its end. */
  readonly parent: Loaded
}

/** Before the first effect of anybody else, so that a session is not closed again under it. */
async function endOrphan(core: EngineCore, orphan: Agent): Promise<void> {
  orphan.restart()
  try {
    await orphan.ended()
  } catch (error) {
    // Its log cannot be written. The session goes on without it; the next resume tries again.
    core.diagnose('orphan-not-ended', messageOf(error))
  }
}

async function load(
  { core, session, acceptDamage }: Reading,
  id: AgentId | undefined,
  path: string,
  parent: Agent | undefined,
  fate: Fate,
  starters: 'revive' | 'postpone' = 'postpone',
): Promise<Loaded | 'postponed' | undefined> {
  const snapshots = new AgentSnapshots(core, session, id, path)
  const read = await snapshots.read(acceptDamage)
  const { birth } = read.state
  if (birth === undefined) {
    // A torn first line: nobody is born yet, but whoever will be has to know where the log goes on.
    if (id === undefined) session.createRoot().restore(read)
    else if (fate !== 'orphan' && fate !== 'background') {
      refuseStranger(session, id, path, parent)
      session.adopt(new Agent(core, session, id, parent, path, snapshots)).restore(read)
    }
    return undefined
  }
  refuseStranger(session, birth.agentId, path, parent)
  // A child may work elsewhere, and where that is stands in its log.
  if (parent === undefined) refuseOtherProject(core, birth.plan.cwd, path)
  // Who is owed an end need not be who started the agent.
  const starter = birth.parent?.agentId
  const isOther = parent !== undefined && starter !== undefined && starter !== parent.id
  if (isOther && starters === 'postpone') return 'postponed'
  const above = isOther ? await reviveAgent(core, session, starter) : parent
  const agent = session.adopt(new Agent(core, session, birth.agentId, above, path, snapshots))
  agent.restore(read)
  return { agent, read, fate }
}

/** Two folders can have one name for their sessions, and a log can be copied: an agent works where it was asked to. */
function refuseOtherProject(core: EngineCore, cwd: string | undefined, path: string): void {
  if (cwd === undefined || cwd === core.cwd) return
  throw new EngineError(
    'other-project',
    `${path} is of a session in ${cwd}, and this engine works in ${core.cwd}. Resume it from there.`,
  )
}

/** Two agents on one log would both write it, and one that is its own descendant would be read for ever. */
function refuseStranger(session: Session, id: AgentId, path: string, parent: Agent | undefined): void {
  const isNamed = parent === undefined || path === session.paths.agentLog(id)
  if (isNamed && session.agents.every((agent) => agent.id !== id)) return
  throw new EngineError(
    'impossible-log',
    `${path}, line 1: ${isNamed ? `agent ${id} is in this session already, as` : `this is the log of agent ${id}, not`} the child that ` +
      `${parent?.logPath ?? 'nobody'} names. Restore the logs of the session as they were written.`,
  )
}

/** The children that somebody waits for, or that were left behind; and theirs. */
async function loadChildren(reading: Reading, parent: Loaded): Promise<Loaded[]> {
  const found: Loaded[] = []
  for (const { id, fate } of childrenToOpen(parent))
    found.push(...(await loadChild(reading, { id, fate, parent }, 'postpone')))
  return found
}

/** One of them, and its own. */
async function loadChild(
  reading: Reading,
  toOpen: ChildToOpen,
  starters: 'revive' | 'postpone',
): Promise<Loaded[]> {
  const { core, session } = reading
  const { id, fate, parent } = toOpen
  const isBackground = fate === 'background'
  // Whoever was giving it away is owed its end, too.
  if (isBackground && session.agents.some((agent) => agent.id === id)) return []
  const path = session.paths.agentLog(id)
  // A crash between the parent's line and the child's file: the call spawns it when it runs again.
  if (!(await core.storage.exists(path))) {
    if (fate === 'attached') session.spawns.expect(parent.agent, id)
    return []
  }
  let child: Awaited<ReturnType<typeof load>>
  try {
    child = await load(reading, id, path, parent.agent, fate, starters)
  } catch (error) {
    if (!isBackground) throw error
    // Nobody waits for it, so that nobody is held up: it is lost, and whoever is owed its end is told so.
    core.diagnose('background-lost', `agent ${id} does not go on: ${messageOf(error)}`)
    return []
  }
  if (child === undefined) return []
  if (child === 'postponed') {
    reading.ofOthers.push(toOpen)
    return []
  }
  const { run } = child.read.state
  if (!isActive(run) && child.agent.digest.owed.length > 0) reading.left.push(child)
  if (isBackground) reading.lastRuns.set(id, child.agent.runNumber)
  if ((fate === 'orphan' || isBackground) && !isActive(run)) {
    // What it cost is told with its end.
    session.budget.keep(child.agent, child.agent.runNumber, child.agent.modelUsage)
    session.forget(id)
    return loadChildren(reading, child)
  }
  return [child, ...(await loadChildren(reading, child))]
}

/**
 * Ends that somebody was owed who has ended and could give them to nobody, as the logs above could not be written then:
 * the nearest above who goes on takes them, else the root.
 */
function endsToGive(reading: Reading, tree: readonly Loaded[]): ReadonlyMap<Agent, readonly EventDraft[]> {
  const given = new Map<Agent, EventDraft[]>()
  for (const { agent } of reading.left) {
    const host = hostAtResume(agent, tree)
    if (host === undefined) continue
    const known = [...host.digest.owed, ...runsThatNeverBegan(reading, agent), ...takenOver(agent)]
    for (const child of withoutRuns(agent.digest.owed, known))
      given.set(host, [...(given.get(host) ?? []), { type: 'child.launched', child }])
  }
  return given
}

function hostAtResume({ parent }: Agent, tree: readonly Loaded[]): Agent | undefined {
  for (let above = parent; above !== undefined; above = above.parent) {
    const loaded = tree.find(({ agent }) => agent.id === above.id)
    if (loaded === undefined) continue
    const { run } = loaded.agent
    if (above.parent === undefined) return loaded.agent
    if (goesOn(loaded.fate) && run !== undefined && isActive(run.snapshot) && isBeforeSettling(run.snapshot))
      return loaded.agent
  }
  return undefined
}

/** A crash came between the line that says who is owed its end and its beginning. Who began it may begin it again. */
function runsThatNeverBegan({ core, lastRuns }: Reading, { digest }: Agent): readonly RunKey[] {
  const lastRun = (id: AgentId): number | undefined => core.agents.get(id)?.runNumber ?? lastRuns.get(id)
  return digest.owed.filter(({ agentId, run }) => run > (lastRun(agentId) ?? run))
}

/** What the agent is owed by its own log only, which could not be written when somebody above took it over. */
function takenOver({ id, parent, digest }: Agent): readonly RunKey[] {
  const taken: RunKey[] = []
  for (let above = parent; above !== undefined; above = above.parent)
    taken.push(...above.digest.takenOverFrom(id))
  return digest.owed.filter((run) => isAmong(taken, run))
}

const releases = (runs: readonly RunKey[]): AgentEventOf<'child.released'>[] =>
  runs.map(({ agentId, run }) => ({ type: 'child.released', child: { agentId, run } }))

/** Children of calls without a result, and children of calls whose result is not the child's end. */
function childrenToOpen(parent: Loaded): { readonly id: AgentId; readonly fate: Fate }[] {
  const { ledger, leftChildren, owed } = parent.agent.digest
  // The calls of a run that is at its end are not started again, and over a gap a run may not know a call at all.
  const held: Fate = goesOn(parent.fate) && phaseOfLoaded(parent.agent) !== 'draining' ? 'attached' : 'ending'
  const open = new Set(parent.agent.run?.snapshot.context.calls.map(({ callId }) => callId))
  const waitedFor = ledger.open.flatMap(({ started: { callId, child } }) =>
    child === undefined ? [] : [{ id: child.agentId, fate: open.has(callId) ? held : ('orphan' as const) }],
  )
  const isWaitedFor = (id: AgentId): boolean => waitedFor.some((other) => other.id === id)
  const inBackground = [...new Set(owed.map(({ agentId }) => agentId))].filter((id) => !isWaitedFor(id))
  return [
    ...waitedFor,
    ...inBackground.map((id) => ({ id, fate: 'background' as const })),
    ...leftChildren.filter((id) => !inBackground.includes(id)).map((id) => ({ id, fate: 'orphan' as const })),
  ]
}

/** Ends what still runs of the dead engine, before anything is repaired or repeated. */
async function endSurvivors(
  core: EngineCore,
  session: Session,
  tree: readonly Loaded[],
  unfinished: readonly Loaded[],
): Promise<number> {
  const servers: RecordedProcess[] = tree.flatMap(({ agent }) =>
    agent.digest.servers.map(({ server, pid, startTime }) => ({
      mark: `${agent.id}/mcp:${server}`,
      pid,
      startTime,
    })),
  )
  if (unfinished.length === 0 && servers.length === 0) return 0
  const recorded: RecordedProcess[] = unfinished.flatMap(({ agent }) =>
    agent.ledger.open.flatMap(({ started, processes }) =>
      processes.map(({ pid, startTime }) => ({ mark: `${agent.id}/${started.callId}`, pid, startTime })),
    ),
  )
  return core.processes.endSurvivors(
    [...recorded, ...servers],
    // The servers that all agents share carry the session's id.
    [...unfinished.map(({ agent }) => agent.id), session.id],
  )
}

/** The lines that say that a run was switched off and goes on. */
function resumption(
  { agent, read, fate }: Loaded,
  survivors: number,
  differences: readonly string[],
): EventDraft[] {
  const wasClosed = agent.digest.isSuspended
  const damage = newLosses(read).map(({ from, to }) => ({ from, to }))
  const drafts: EventDraft[] = [
    ...(wasClosed ? [] : [{ type: 'run.suspended' as const, reason: 'crashed' as const }]),
    {
      type: 'run.resumed',
      ...(agent.parent === undefined && survivors > 0 && { survivors }),
      ...(damage.length > 0 && { acceptedDamage: damage }),
      ...(differences.length > 0 && { differences: [...differences] }),
    },
  ]
  if (!goesOn(fate) && ACCEPTED['kill.requested'].includes(phaseOfLoaded(agent))) {
    const spares = fate === 'ending' && agent.parent !== undefined ? sparedBy(agent.parent) : undefined
    drafts.push({
      type: 'kill.requested',
      by: 'engine',
      reason: REASONS[fate],
      ...(spares !== undefined && { spares }),
    })
  }
  return drafts
}

const REASONS = {
  ending: 'its parent was at its end when the session was resumed',
  orphan: 'the call that started it has already ended',
} as const

function phaseOfLoaded(agent: Agent) {
  const run = agent.run
  return run === undefined ? 'completed' : phaseOf(run.snapshot)
}
