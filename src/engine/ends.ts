/**
 * Ends of runs in the background, for whoever is owed them. What this process has seen end is at hand; everything else
 * is read from the logs, so that nothing depends on who was there when it happened.
 *
 * This is the one gate: an end whose review is owed leaves it only behind the verdict, to whoever and in whatever way.
 */
import type { EndedTask } from '../definitions/notice.ts'
import type { ModelUsage } from '../journal/projections/usage.ts'
import { createLogReader } from '../journal/read-log.ts'
import type { AgentEventOf, RunKey } from '../machines/agent/events.ts'
import { isAmong, runName } from '../machines/agent/run-key.ts'
import type { AgentId } from '../machines/ids.ts'
import type { Agent, EndedRun } from './agent.ts'
import type { EngineCore } from './core.ts'
import type { EngineError } from './errors.ts'
import { messageOf } from './errors.ts'
import { LogDigest } from './log-digest.ts'
import { writeReport } from './outputs.ts'
import type { EndedAgent } from './report-facts.ts'
import { reportFacts } from './report-facts.ts'
import { isReviewOwed, keyOf, OwedReviews } from './review/owed-reviews.ts'
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
  /** It has ended, and nothing of it may be told before it is reviewed: see {@link SessionEnds.reviewed}. */
  | { readonly kind: 'unreviewed'; readonly end: TaskEnd }
  | { readonly kind: 'running' }
  /** Its log does not tell, and nobody will. What it has cost, where that is known. */
  | { readonly kind: 'lost'; readonly why: string; readonly modelUsage?: ModelUsage }

/** Ends that are kept at hand. What is not is read from its log: this bounds memory, not what can be told. */
const MOST_KNOWN = 64

export class SessionEnds {
  readonly #core: EngineCore
  readonly #session: Session
  readonly #known = new Map<string, Exclude<RunState, { kind: 'running' }>>()
  readonly #reviews: OwedReviews

  constructor(core: EngineCore, session: Session) {
    this.#core = core
    this.#session = session
    this.#reviews = new OwedReviews(core, session, {
      read: ({ agentId, run }) => this.#read(session.paths.agentLog(agentId), run),
      noteJudged: (end) => this.#noteJudged(end),
    })
  }

  /** Keeps the end of a run until it is told. */
  note(agent: Agent, end: EndedRun): void {
    const isOneShot = agent.definition?.isOneShot === true
    const { birth, logPath, outputFile } = agent
    const task = taskOf({ birth, isOneShot, logPath }, end, outputFile)
    const known: TaskEnd = { end, task, startedBy: agent.parent?.id }
    this.#take(known)
  }

  /** A run has no end, and there will be none. */
  lose(key: RunKey, why: string, modelUsage: ModelUsage): void {
    this.#keep(key, { kind: 'lost', why, modelUsage })
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

  /** Keeps an end. Its report is for others to read as soon as it may be told. */
  #take(end: TaskEnd): Exclude<RunState, { kind: 'running' }> {
    const state = { kind: isReviewOwed(end.end) ? 'unreviewed' : 'ended', end } as const
    this.#keep(keyOf(end), state)
    if (state.kind === 'ended') writeReport(this.#core, end)
    return state
  }

  // ── owed reviews ─────────────────────────────────────────────────────────────────────────────────────

  /** An end as it may be told, reviewed now if that is owed. Rejects with the reason of the signal, and at a close. */
  async reviewed(end: TaskEnd, signal: AbortSignal): Promise<TaskEnd> {
    return isReviewOwed(end.end) ? this.#reviews.of(end, signal) : end
  }

  /** Has an end reviewed. Nobody waits for that: whoever is owed the end is told that there is news. */
  reviewSoon(end: TaskEnd): void {
    this.#reviews.begin(end)
  }

  /** Whoever was to be told these ends is not, for now; undefined: nobody is told any. */
  letGo(keys?: readonly RunKey[]): void {
    this.#reviews.letGo(keys)
  }

  /** No review goes on any more when it resolves. */
  close(reason: EngineError): Promise<void> {
    return this.#reviews.close(reason)
  }

  #noteJudged(end: TaskEnd): void {
    const key = keyOf(end)
    this.#session.budget.keepAgain(key, end.end.modelUsage)
    // Where nobody is owed it any more it is in its log, for whoever asks.
    if (this.#known.has(runName(key))) this.#take(end)
    for (const agent of this.#session.agents)
      if (agent.isBorn && isAmong(agent.digest.owed, key)) this.#session.noteNews(agent)
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
      return { kind: 'running' }
    const path = this.#session.paths.agentLog(key.agentId)
    try {
      const end = await this.#read(path, key.run)
      if (end === undefined) return { kind: 'lost', why: `its log ${path} does not tell the end of it` }
      return this.#take(end)
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
      if (run !== undefined && event.type === 'run.started' && found !== undefined) return found
      // The verdict on a run that owed it stands behind its end.
      const isVerdict = event.type === 'review.ended' && found !== undefined && isReviewOwed(found.end)
      const ended = isVerdict ? found?.end.ended : event.type === 'agent.ended' ? event : undefined
      if (ended === undefined || birth === undefined) continue
      if (run !== undefined && ended.run !== run) continue
      const { reportText: text, stopReason, modelUsage, denials } = digest
      const review = digest.review?.verdict
      const end: EndedRun = { ended, text, stopReason, modelUsage, apiDurationMs: 0, denials, review }
      const isOneShot = this.#session.definitions.of(birth.plan)?.isOneShot === true
      found = {
        end,
        startedBy: birth.parent?.agentId,
        task: taskOf({ birth, isOneShot, logPath: path }, end, this.#session.outputFileOf(birth.agentId)),
      }
      if (run !== undefined && !isReviewOwed(end)) return found
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
