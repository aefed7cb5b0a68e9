/**
 * Reviews that runs in the background owe when they end: made when their ends are first handed on.
 *
 *   O1  The verdict is recorded behind the end, in the agent's own log, before anybody is told the end; one that is
 *       recorded is never made again. It is made and recorded in the agent's turn, so that its next run begins behind it.
 *   O2  One judgement of an end is in flight, for everybody who asks. When nobody waits for it any more it is aborted,
 *       and made again for whoever asks next.
 *   O3  Nobody waits for ever: what goes wrong is a verdict (`unavailable`), also where it cannot be recorded.
 */
import type { Verdict } from '../../definitions/review/verdict.ts'
import { unavailable } from '../../definitions/review/verdict.ts'
import type { Judgement } from '../../effects/review/ask-classifier.ts'
import { addModelUsage, requestUsageOf } from '../../journal/projections/usage.ts'
import type { AgentEventOf, RunKey } from '../../machines/agent/events.ts'
import { runName } from '../../machines/agent/run-key.ts'
import type { Agent, EndedRun } from '../agent.ts'
import type { EngineCore } from '../core.ts'
import { judge } from '../effects/review.ts'
import { Suspended } from '../effects/suspended.ts'
import type { TaskEnd } from '../ends.ts'
import type { EngineError } from '../errors.ts'
import { messageOf } from '../errors.ts'
import { reviveAgent } from '../revive.ts'
import type { Session } from '../session.ts'
import { orAborted } from '../waits.ts'

/** Whether an end may not be told yet: its work has yet to be reviewed. */
export const isReviewOwed = ({ ended, review }: EndedRun): boolean =>
  ended.review === 'owed' && review === undefined

/** The run that an end is of. */
export const keyOf = ({ task, end }: TaskEnd): RunKey => ({
  agentId: task.agentId as RunKey['agentId'], // It came from the agent's birth.
  run: end.ended.run,
})

interface Judging {
  readonly abort: AbortController
  readonly end: Promise<TaskEnd>
  /** How many wait for it. */
  waiting: number
  /** Somebody is told when it is there, and goes on meanwhile. */
  isForNews: boolean
}

/** What a session does with ends. */
export interface JudgedEnds {
  /** The end as its log has it; undefined when it is not there. Rejects as the reading of the log does. */
  read(key: RunKey): Promise<TaskEnd | undefined>
  /** An end has its verdict: it may be told. */
  noteJudged(end: TaskEnd): void
}

export class OwedReviews {
  readonly #core: EngineCore
  readonly #session: Session
  readonly #ends: JudgedEnds
  readonly #judging = new Map<string, Judging>()
  /** Those that were abandoned, too. */
  readonly #goingOn = new Set<Promise<void>>()
  #closed: EngineError | undefined

  constructor(core: EngineCore, session: Session, ends: JudgedEnds) {
    this.#core = core
    this.#session = session
    this.#ends = ends
  }

  /** Begins the review, if it is not going on. Nobody waits: whoever is owed the end is woken when it may be told. */
  begin(end: TaskEnd): void {
    if (this.#closed === undefined) this.#of(end).isForNews = true
  }

  /** The end with its verdict. Rejects with the reason of the signal, and when the engine closes. */
  async of(end: TaskEnd, signal: AbortSignal): Promise<TaskEnd> {
    signal.throwIfAborted()
    if (this.#closed !== undefined) throw new Suspended(this.#closed.message)
    const judging = this.#of(end)
    judging.waiting += 1
    try {
      await orAborted(judging.end, signal)
      return await judging.end
    } finally {
      judging.waiting -= 1
      this.#abandon(runName(keyOf(end)))
    }
  }

  /** Nobody is told these ends for now. Undefined: none at all. */
  letGo(keys?: readonly RunKey[]): void {
    for (const name of keys?.map(runName) ?? [...this.#judging.keys()]) {
      const judging = this.#judging.get(name)
      if (judging !== undefined) judging.isForNews = false
      this.#abandon(name)
    }
  }

  /** Aborts all of them; none is begun any more. Resolves when none goes on. */
  async close(reason: EngineError): Promise<void> {
    this.#closed = reason
    for (const { abort } of this.#judging.values()) abort.abort(new Suspended(reason.message))
    await Promise.all(this.#goingOn)
  }

  #of(end: TaskEnd): Judging {
    const name = runName(keyOf(end))
    const known = this.#judging.get(name)
    if (known !== undefined) return known
    const abort = new AbortController()
    const judging: Judging = { abort, end: this.#judge(end, abort.signal), waiting: 0, isForNews: false }
    this.#judging.set(name, judging)
    // No timer of the engine keeps the process alive, and a verdict may be all there is to wait for.
    this.#core.keepAlive.hold(judging)
    const over = (): void => {
      this.#core.keepAlive.release(judging)
      if (this.#judging.get(name) === judging) this.#judging.delete(name)
    }
    const told = judging.end.then((judged) => {
      over()
      this.#ends.noteJudged(judged)
    }, over)
    this.#goingOn.add(told)
    void told.then(() => this.#goingOn.delete(told))
    return judging
  }

  #abandon(name: string): void {
    const judging = this.#judging.get(name)
    if (judging === undefined || judging.waiting > 0 || judging.isForNews) return
    // Whoever asks from now on asks anew, behind this one's turn.
    this.#judging.delete(name)
    judging.abort.abort(new Suspended('nobody waits for the review any more'))
  }

  async #judge(end: TaskEnd, signal: AbortSignal): Promise<TaskEnd> {
    const key = keyOf(end)
    return this.#session.inTurn(key.agentId, async () => {
      signal.throwIfAborted()
      let judgement: Judgement | undefined
      try {
        const agent = await reviveAgent(this.#core, this.#session, key.agentId)
        if (agent.runNumber === key.run) judgement = await settleReview(this.#core, agent, signal)
        if (judgement === undefined) {
          // Somebody had it made before the next run of the agent.
          const found = (await this.#ends.read(key)) ?? end
          if (!isReviewOwed(found.end)) return found
          throw new Error('the next run of the agent began before it')
        }
      } catch (error) {
        signal.throwIfAborted()
        const verdict = unavailable('error', messageOf(error))
        judgement = { verdict, durationMs: 0 }
        notRecorded(this.#core, key, verdict, error)
      }
      return {
        ...end,
        end: judged(end.end, { type: 'review.ended', ...judgement }),
        task: { ...end.task, review: judgement.verdict },
      }
    })
  }
}

/**
 * Makes the review that the last run of an agent owes, and records it; undefined when it owes none. Only in the agent's
 * turn. Rejects with the reason of the signal.
 */
export async function settleReview(
  core: EngineCore,
  agent: Agent,
  signal: AbortSignal,
): Promise<Judgement | undefined> {
  if (!agent.digest.owesReview) return undefined
  const judgement = await judgeAnyway(core, agent, signal)
  await record(core, agent, { type: 'review.ended', ...judgement }, signal)
  return judgement
}

/**
 * The end of a run whose call was stopped: nobody waits for the review that it may owe. That is recorded, unless a
 * verdict is.
 */
export async function withoutReview(core: EngineCore, agent: Agent, end: EndedRun): Promise<EndedRun> {
  if (!isReviewOwed(end)) return end
  const { session } = agent
  const giveUp = async (it: Agent): Promise<EndedRun> => {
    if (it.runNumber !== end.ended.run) return judged(end, GIVEN_UP)
    await record(core, it, GIVEN_UP)
    return judged(end, it.digest.review ?? GIVEN_UP)
  }
  // One that is live is the only one on its log; its turn may be somebody's who waits for this very call.
  if (session.isLive(agent)) return giveUp(agent)
  try {
    return await session.inTurn(agent.id, async () => giveUp(await reviveAgent(core, session, agent.id)))
  } catch (error) {
    notRecorded(core, { agentId: agent.id, run: end.ended.run }, GIVEN_UP.verdict, error)
    return judged(end, GIVEN_UP)
  }
}

const GIVEN_UP: AgentEventOf<'review.ended'> = {
  type: 'review.ended',
  verdict: unavailable('stopped', 'the call was stopped, and nobody waited for the review'),
  durationMs: 0,
}

/** The end of a run behind its verdict, with what that cost. */
const judged = (end: EndedRun, review: AgentEventOf<'review.ended'>): EndedRun => ({
  ...end,
  review: review.verdict,
  modelUsage: addModelUsage(end.modelUsage, requestUsageOf(review)),
})

async function judgeAnyway(core: EngineCore, agent: Agent, signal: AbortSignal): Promise<Judgement> {
  try {
    return await judge(core, agent, signal)
  } catch (error) {
    signal.throwIfAborted()
    // Its log could be read when it was opened, and now it cannot.
    return { verdict: unavailable('error', messageOf(error)), durationMs: 0 }
  }
}

async function record(
  core: EngineCore,
  agent: Agent,
  review: AgentEventOf<'review.ended'>,
  signal?: AbortSignal,
): Promise<void> {
  let problem: unknown = 'its log is closed'
  try {
    const drafts = () => (agent.digest.owesReview ? [review] : [])
    if ((await agent.postLate(drafts)) === 'taken' || !agent.digest.owesReview) return
  } catch (error) {
    problem = error
  } finally {
    // It was opened for this alone.
    if (!agent.session.isLive(agent)) core.storage.release(agent.logPath)
  }
  signal?.throwIfAborted()
  notRecorded(core, { agentId: agent.id, run: agent.runNumber }, review.verdict, problem)
}

function notRecorded(core: EngineCore, { agentId, run }: RunKey, { kind }: Verdict, error: unknown): void {
  core.diagnose(
    'review-not-recorded',
    `the review of run ${run} of agent ${agentId} (${kind}) could not be recorded: ${messageOf(error)}. ` +
      'Its end is told with it; whoever asks again has it reviewed again.',
  )
}
