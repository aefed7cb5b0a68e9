/**
 * Opening a session: a new one, or one that is on disk already.
 *
 * Bringing a tree back, in this order: the lock; the logs of the root and of every child whose call has no
 * result in its parent's log (ten thousand finished children cost nothing); the processes that the dead engine
 * left; a line in each unfinished log that says so; and only then the first effect.
 */
import type { RecordedProcess } from '../effects/process/process-runner.ts'
import { sessionPaths } from '../journal/paths.ts'
import type { LoadedLog } from '../journal/read-log.ts'
import { loadLog } from '../journal/read-log.ts'
import { ACCEPTED, phaseOf } from '../machines/agent/accepts.ts'
import type { AgentEvent, EventDraft } from '../machines/agent/events.ts'
import { MACHINE_VERSION } from '../machines/agent/events.ts'
import type { AgentState } from '../machines/agent/fold.ts'
import { foldAgent, isActive, UNBORN } from '../machines/agent/fold.ts'
import type { AgentId, SessionId } from '../machines/ids.ts'
import { Agent } from './agent.ts'
import type { ResumeOptions } from './api.ts'
import type { EngineCore } from './core.ts'
import { EngineError, messageOf } from './errors.ts'
import { Session } from './session.ts'

/** An agent read back from its log; nothing of it runs yet. */
interface Loaded {
  readonly agent: Agent
  readonly state: AgentState
  readonly log: LoadedLog
  /** A child whose call has a result that is not its own: nobody waits for it any more. */
  readonly isOrphan: boolean
}

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
    return session
  } catch (error) {
    lock.release()
    throw error
  }
}

/** Whether a session of this project is on disk. */
export async function sessionExists(core: EngineCore, id: SessionId): Promise<boolean> {
  return core.storage.exists(sessionPaths(core.home, core.cwd, id).rootLog)
}

async function bringBack(core: EngineCore, session: Session, options: ResumeOptions): Promise<void> {
  const root = await load(core, session, { path: session.paths.rootLog, parent: undefined, isOrphan: false })
  if (root === undefined) {
    // A torn first line: the session was never really there. Its root is born with the next prompt.
    session.createRoot()
    return
  }
  const tree = [root, ...(await loadChildren(core, session, root))]
  if (options.acceptDamage !== true) refuseDamage(tree)
  session.countSpawns(
    (await core.storage.list(session.paths.subagents)).filter((name) => name.endsWith('.jsonl')).length,
  )
  const unfinished = tree.filter(({ state }) => isActive(state.run))
  const survivors = await endSurvivors(core, unfinished)
  for (const loaded of tree) {
    if (isActive(loaded.state.run)) {
      await restorePrepared(session, loaded)
      await loaded.agent.amend(loaded.state, resumption(loaded, survivors))
    }
  }
  for (const { agent, isOrphan } of tree) if (isOrphan) agent.restart()
}

async function load(
  core: EngineCore,
  session: Session,
  from: { readonly path: string; readonly parent: Agent | undefined; readonly isOrphan: boolean },
): Promise<Loaded | undefined> {
  const log = await loadLog(core.storage, from.path)
  const state = fold(log, from.path)
  if (state.birth === undefined) return undefined
  const agent = session.adopt(new Agent(core, session, state.birth.agentId, from.parent, from.path))
  agent.restore(state, log.events, log.cursor)
  return { agent, state, log, isOrphan: from.isOrphan }
}

/** The children that somebody waits for, or that were left behind; and theirs. */
async function loadChildren(core: EngineCore, session: Session, parent: Loaded): Promise<Loaded[]> {
  const found: Loaded[] = []
  for (const { id, isOrphan } of childrenToOpen(parent)) {
    const path = session.paths.agentLog(id)
    // A crash between the parent's line and the child's file: the call spawns it when it runs again.
    if (!(await core.storage.exists(path))) continue
    const child = await load(core, session, { path, parent: parent.agent, isOrphan })
    if (child === undefined) continue
    if (isOrphan && !isActive(child.state.run)) {
      session.forget(child.agent.id)
      continue
    }
    found.push(child, ...(await loadChildren(core, session, child)))
  }
  return found
}

/** Children of calls without a result, and children of calls whose result is not the child's end. */
function childrenToOpen({ log }: Loaded): { readonly id: AgentId; readonly isOrphan: boolean }[] {
  const started = new Map<string, AgentId>()
  const orphans: AgentId[] = []
  for (const { event } of log.events) {
    if (event.type === 'call.started' && event.child !== undefined)
      started.set(event.callId, event.child.agentId)
    if (event.type !== 'call.ended') continue
    const id = started.get(event.callId)
    started.delete(event.callId)
    if (id !== undefined && event.delivered === undefined) orphans.push(id)
  }
  return [
    ...[...started.values()].map((id) => ({ id, isOrphan: false })),
    ...orphans.map((id) => ({ id, isOrphan: true })),
  ]
}

function fold(log: LoadedLog, path: string): AgentState {
  let state = UNBORN
  for (const { seq, event } of log.events) {
    if (event.type === 'run.started' && event.machine > MACHINE_VERSION) {
      throw new EngineError(
        'newer-machine',
        `${path}, line ${seq + 1}: this run was recorded by a newer Troupe (machine version ${event.machine}, ` +
          `this one knows ${MACHINE_VERSION}). Resume it with the version that wrote it, or a newer one.`,
      )
    }
    try {
      state = foldAgent(state, event)
    } catch (error) {
      throw new EngineError(
        'impossible-log',
        `${path}, line ${seq + 1}: ${event.type} cannot follow what is before it (${messageOf(error)}). ` +
          `"troupe replay ${path}" shows the state there.`,
        error,
      )
    }
  }
  return state
}

function refuseDamage(tree: readonly Loaded[]): void {
  for (const { agent, log } of tree) {
    // The leftovers of a torn write are damage too, but nothing is missing for them.
    const losses = log.damage.filter(({ missing }) => missing > 0)
    const first = losses[0]
    if (first === undefined) continue
    throw new EngineError(
      'damaged-log',
      `${agent.logPath} is damaged at bytes ${first.from}–${first.to} (${first.reason})` +
        `${losses.length > 1 ? ` and in ${losses.length - 1} more places` : ''}. ` +
        'What can be read is still there; to go on without the rest, resume with --accept-damage.',
    )
  }
}

/** Ends what still runs of the dead engine, before anything is repaired or repeated. */
async function endSurvivors(core: EngineCore, unfinished: readonly Loaded[]): Promise<number> {
  if (unfinished.length === 0) return 0
  const recorded: RecordedProcess[] = unfinished.flatMap(({ agent }) =>
    agent.ledger.open.flatMap(({ started, processes }) =>
      processes.map(({ pid, startTime }) => ({ mark: `${agent.id}/${started.callId}`, pid, startTime })),
    ),
  )
  return core.processes.endSurvivors(
    recorded,
    unfinished.map(({ agent }) => agent.id),
  )
}

/** The lines that say that a run was switched off and goes on. */
function resumption({ agent, log, isOrphan }: Loaded, survivors: number): EventDraft[] {
  const wasClosed = log.events.at(-1)?.event.type === 'run.suspended'
  const damage = log.damage.filter(({ missing }) => missing > 0).map(({ from, to }) => ({ from, to }))
  const drafts: EventDraft[] = [
    ...(wasClosed ? [] : [{ type: 'run.suspended' as const, reason: 'crashed' as const }]),
    {
      type: 'run.resumed',
      ...(agent.parent === undefined && survivors > 0 && { survivors }),
      ...(damage.length > 0 && { acceptedDamage: damage }),
    },
  ]
  if (isOrphan && ACCEPTED['kill.requested'].includes(phaseOfLoaded(agent))) {
    drafts.push({
      type: 'kill.requested',
      by: 'engine',
      reason: 'the call that started it has already ended',
    })
  }
  return drafts
}

function phaseOfLoaded(agent: Agent) {
  const run = agent.run
  return run === undefined ? 'completed' : phaseOf(run.snapshot)
}

/** Prompt and tools of a run that was prepared before: the very bytes, from the session's blobs. */
async function restorePrepared(session: Session, { agent, log }: Loaded): Promise<void> {
  const events: AgentEvent[] = log.events.map(({ event }) => event)
  const runStart = events.findLastIndex((event) => event.type === 'run.started')
  const prepared = events.slice(runStart).findLast((event) => event.type === 'agent.prepared')
  if (prepared?.type !== 'agent.prepared') return
  agent.prepared = {
    system: await session.blobs.get(prepared.system),
    tools: JSON.parse(await session.blobs.get(prepared.tools)),
  }
}
