/**
 * What a task shows of an agent: how far its run is, what it did last, and of the ends of others who was told what.
 *
 *   L1  A fold of one agent's log and of nothing else: the same live, at a resume and in a replay.
 *   L2  An event costs the same at the beginning of a log and at its end.
 *   L3  It counts the run that is on, or was last; the next run begins at nothing.
 */
import * as z from 'zod'
import { callInWords } from '../definitions/call-in-words.ts'
import { onOneLine, startOfText } from '../definitions/context/text.ts'
import {
  type AgentEventOf,
  EndStatus,
  type Outcome,
  type Recorded,
  RunKey,
} from '../machines/agent/events.ts'
import { isToolUse, type Usage } from '../machines/agent/messages.ts'
import type { AgentId } from '../machines/ids.ts'

/** Activities that are kept. */
const MOST_ACTIVITIES = 5
/** Bytes of one. */
const MAX_ACTIVITY = 120
/** Bytes of a reason. */
const MAX_WHY = 400

const Count = z.number().int().nonnegative()

/** How the end of a run reached somebody: in a notice, or as the result of a call that asked for it. */
const Telling = z.enum(['notified', 'retrieved'])
export type Telling = z.infer<typeof Telling>

/** A ledger as JSON can hold it. */
export const TaskValue = z.strictObject({
  status: z.union([z.enum(['running', 'suspended']), EndStatus]),
  /** Milliseconds since the epoch. */
  startedAt: z.number().optional(),
  endedAt: z.number().optional(),
  /** Why it failed or was killed. */
  why: z.string().optional(),
  /** Of the last request, whatever it was read from. */
  inputTokens: Count,
  /** Of all replies. */
  outputTokens: Count,
  activities: z.array(z.string()),
  /** What it was at when its model was last asked. */
  summary: z.string().optional(),
  /** Of each agent whose end this one was told: the last run, and how. */
  told: z.array(z.strictObject({ key: RunKey, how: Telling })),
})
export type TaskValue = z.infer<typeof TaskValue>

export class TaskLedger {
  #status: TaskValue['status'] = 'running'
  #startedAt: number | undefined
  #endedAt: number | undefined
  #why: string | undefined
  #inputTokens = 0
  #outputTokens = 0
  #activities: readonly string[] = []
  #summary: string | undefined
  readonly #told = new Map<AgentId, { readonly key: RunKey; readonly how: Telling }>()

  /** The ledger that {@link value} was taken of. */
  static from(value: TaskValue): TaskLedger {
    const ledger = new TaskLedger()
    ledger.#status = value.status
    ledger.#startedAt = value.startedAt
    ledger.#endedAt = value.endedAt
    ledger.#why = value.why
    ledger.#inputTokens = value.inputTokens
    ledger.#outputTokens = value.outputTokens
    ledger.#activities = value.activities
    ledger.#summary = value.summary
    for (const told of value.told) ledger.#told.set(told.key.agentId, told)
    return ledger
  }

  push({ at, event }: Pick<Recorded, 'at' | 'event'>): void {
    // Whatever follows it was written by a process that went on.
    if (this.#status === 'suspended') this.#status = 'running'
    switch (event.type) {
      case 'run.started':
        this.#status = 'running'
        this.#startedAt = at
        this.#endedAt = undefined
        this.#why = undefined
        this.#inputTokens = 0
        this.#outputTokens = 0
        this.#activities = []
        this.#summary = undefined
        for (const key of event.tells ?? []) this.#tell(key, 'notified')
        break
      case 'run.suspended':
        if (this.#endedAt === undefined) this.#status = 'suspended'
        break
      case 'reply.received':
        this.#pushReply(event)
        break
      case 'progress.summarised':
        if (event.text !== '') this.#summary = event.text
        break
      case 'message.added':
        for (const key of event.tells ?? []) this.#tell(key, 'notified')
        break
      case 'call.ended':
        if (event.delivered !== undefined) this.#tell(event.delivered, 'retrieved')
        break
      case 'agent.ended':
        this.#status = event.status
        this.#endedAt = at
        this.#why = whyOf(event.outcome)
        break
      default:
    }
  }

  #pushReply({ reply }: AgentEventOf<'reply.received'>): void {
    this.#inputTokens = inputOf(reply.usage)
    this.#outputTokens += reply.usage.output_tokens
    const calls = reply.content.filter(isToolUse).slice(-MOST_ACTIVITIES)
    if (calls.length === 0) return
    const words = calls.map(({ name, input }) =>
      startOfText(onOneLine(callInWords(name, input)), MAX_ACTIVITY),
    )
    this.#activities = [...this.#activities, ...words].slice(-MOST_ACTIVITIES)
  }

  #tell({ agentId, run }: RunKey, how: Telling): void {
    this.#told.set(agentId, { key: { agentId, run }, how })
  }

  /** By the log: whether a process is there that runs it, it does not know. */
  get status(): TaskValue['status'] {
    return this.#status
  }

  /** Milliseconds since the epoch. */
  get startedAt(): number | undefined {
    return this.#startedAt
  }

  get endedAt(): number | undefined {
    return this.#endedAt
  }

  /** Why it failed or was killed. */
  get why(): string | undefined {
    return this.#why
  }

  /** Input of the last request and all that was written: what its conversation takes, and what it made. */
  get tokenCount(): number {
    return this.#inputTokens + this.#outputTokens
  }

  /** The calls that it made last, in words, oldest first; the same array until there are others. */
  get activities(): readonly string[] {
    return this.#activities
  }

  /** What it is at, in a line of its model; undefined when that was not asked. */
  get summary(): string | undefined {
    return this.#summary
  }

  /** How this agent was told of the end of a run; undefined when it was not. */
  howTold({ agentId, run }: RunKey): Telling | undefined {
    const told = this.#told.get(agentId)
    return told?.key.run === run ? told.how : undefined
  }

  /** As JSON can hold it. */
  value(): TaskValue {
    return {
      status: this.#status,
      ...(this.#startedAt !== undefined && { startedAt: this.#startedAt }),
      ...(this.#endedAt !== undefined && { endedAt: this.#endedAt }),
      ...(this.#why !== undefined && { why: this.#why }),
      inputTokens: this.#inputTokens,
      outputTokens: this.#outputTokens,
      activities: [...this.#activities],
      ...(this.#summary !== undefined && { summary: this.#summary }),
      told: [...this.#told.values()],
    }
  }
}

const inputOf = (usage: Usage): number =>
  usage.input_tokens + (usage.cache_creation_input_tokens ?? 0) + (usage.cache_read_input_tokens ?? 0)

function whyOf(outcome: Outcome): string | undefined {
  switch (outcome.kind) {
    case 'failed':
      return startOfText(onOneLine(outcome.fault.message), MAX_WHY)
    case 'killed':
      return startOfText(
        onOneLine(`by ${outcome.by}${outcome.reason === undefined ? '' : `: ${outcome.reason}`}`),
        MAX_WHY,
      )
    case 'completed':
    case 'limit':
    case 'partial':
    case 'no_report':
    case 'invalid_report':
      return undefined
  }
}
