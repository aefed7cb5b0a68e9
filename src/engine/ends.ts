/**
 * Ends of runs in the background, for whoever is owed them. What this process has seen end is at hand; everything else
 * is read from the logs, so that nothing depends on who was there when it happened.
 */
import type { EndedTask } from '../definitions/notice.ts'
import { createLogReader } from '../journal/read-log.ts'
import type { AgentEventOf, RunKey } from '../machines/agent/events.ts'
import { runName } from '../machines/agent/run-key.ts'
import type { AgentId } from '../machines/ids.ts'
import type { Agent, EndedRun } from './agent.ts'
import type { EngineCore } from './core.ts'
import { messageOf } from './errors.ts'
import { LogDigest } from './log-digest.ts'
import { writeReport } from './outputs.ts'
import type { EndedAgent } from './report-facts.ts'
import { reportFacts } from './report-facts.ts'
import type { Session } from './session.ts'

/** An end with everything that may be told of it. */
export interface TaskEnd {
  readonly end: EndedRun
  readonly task: EndedTask
  /** The agent whose call it was. */
  readonly startedBy: AgentId | undefined
}

/** What is known of a run. */
export type RunState =
  | { readonly kind: 'ended'; readonly end: TaskEnd }
  | { readonly kind: 'running' }
  /** Its log does not tell, and nobody will. */
  | { readonly kind: 'lost'; readonly why: string }

/** Ends that are kept at hand. What is not is read from its log: this bounds memory, not what can be told. */
const MOST_KNOWN = 64

export class SessionEnds {
  readonly #core: EngineCore
  readonly #session: Session
  readonly #known = new Map<string, Exclude<RunState, { kind: 'running' }>>()

  constructor(core: EngineCore, session: Session) {
    this.#core = core
    this.#session = session
  }

  /** Keeps the end of a run until it is told. */
  note(agent: Agent, end: EndedRun): void {
    const isOneShot = agent.definition?.isOneShot === true
    const { birth, logPath, outputFile } = agent
    const task = taskOf({ birth, isOneShot, logPath }, end, outputFile)
    const known: TaskEnd = { end, task, startedBy: agent.parent?.id }
    this.#keep({ agentId: agent.id, run: end.ended.run }, { kind: 'ended', end: known })
    writeReport(this.#core, known)
  }

  /** A run has no end, and there will be none. */
  lose(key: RunKey, why: string): void {
    this.#keep(key, { kind: 'lost', why })
  }

  /** How many ends are at hand. */
  get size(): number {
    return this.#known.size
  }

  #keep(key: RunKey, state: Exclude<RunState, { kind: 'running' }>): void {
    this.#known.set(runName(key), state)
    const [oldest] = this.#known.keys()
    if (this.#known.size > MOST_KNOWN && oldest !== undefined) this.#known.delete(oldest)
  }

  /** It has been told. */
  forget(key: RunKey): void {
    this.#known.delete(runName(key))
  }

  /** What has become of a run. */
  async stateOf(key: RunKey): Promise<RunState> {
    const known = this.#known.get(runName(key))
    if (known !== undefined) return known
    const live = this.#core.agents.get(key.agentId)
    if (live !== undefined && (live.runNumber < key.run || (live.isRunning && live.runNumber === key.run)))
      // It runs, or is about to.
      return live.failure === undefined ? { kind: 'running' } : { kind: 'lost', why: live.failure.message }
    const path = this.#session.paths.agentLog(key.agentId)
    try {
      const end = await this.#read(path, key.run)
      if (end === undefined) return { kind: 'lost', why: `its log ${path} does not tell the end of it` }
      writeReport(this.#core, end)
      const state = { kind: 'ended', end } as const
      this.#keep(key, state)
      return state
    } catch (error) {
      return { kind: 'lost', why: `its log ${path} cannot be read (${messageOf(error)})` }
    }
  }

  /** The last end of an agent; undefined when there is none, or no such agent. Rejects as the reading of its log does. */
  async lastOf(agentId: AgentId): Promise<TaskEnd | undefined> {
    const path = this.#session.paths.agentLog(agentId)
    return (await this.#core.storage.exists(path)) ? this.#read(path, undefined) : undefined
  }

  /** The end of one run from a log, or the last one; undefined when it is not there. */
  async #read(path: string, run: number | undefined): Promise<TaskEnd | undefined> {
    let found: TaskEnd | undefined
    const digest = new LogDigest()
    let birth: AgentEventOf<'agent.spawned'> | undefined
    for await (const item of createLogReader(this.#core.storage, path).items) {
      if (item.kind !== 'event') continue
      const { event } = item.recorded
      digest.push(item.recorded, item)
      if (event.type === 'agent.spawned') birth = event
      if (event.type !== 'agent.ended' || birth === undefined) continue
      if (run !== undefined && event.run !== run) continue
      const { reportText: text, stopReason, modelUsage, denials } = digest
      const review = digest.review?.verdict
      const end: EndedRun = { ended: event, text, stopReason, modelUsage, apiDurationMs: 0, denials, review }
      const isOneShot = this.#session.definitions.of(birth.plan)?.isOneShot === true
      found = {
        end,
        startedBy: birth.parent?.agentId,
        task: taskOf({ birth, isOneShot, logPath: path }, end, this.#session.outputFileOf(birth.agentId)),
      }
      if (run !== undefined) return found
    }
    return found
  }
}

function taskOf(agent: EndedAgent, end: EndedRun, outputFile: string | undefined): EndedTask {
  const { plan, parent } = agent.birth
  const { status, outcome } = end.ended
  return {
    ...reportFacts(agent, end),
    description: plan.description,
    status,
    outputFile,
    ...(parent !== undefined && { toolUseId: parent.toolUseId }),
    ...(outcome.kind === 'failed' && { why: outcome.fault.message }),
    ...(outcome.kind === 'killed' && {
      why: `by ${outcome.by}${outcome.reason === undefined ? '' : `, ${outcome.reason}`}`,
    }),
  }
}
