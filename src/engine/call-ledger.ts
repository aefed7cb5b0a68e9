/**
 * What the log says of the calls of one agent that have no result yet: whether and how each was started, and what
 * was decided about it. An effect is at-least-once; this is where it looks before it acts.
 */
import type { AgentEventOf, Recorded } from '../machines/agent/events.ts'
import type { CallId } from '../machines/ids.ts'
import type { DigestValue } from './digest-value.ts'

export interface StartedCall {
  readonly started: AgentEventOf<'call.started'>
  readonly processes: readonly AgentEventOf<'process.started'>[]
}

/** An approval that was asked for, and the answer where there is one. */
export interface RecordedApproval {
  readonly requested: AgentEventOf<'approval.requested'>
  readonly answered: AgentEventOf<'approval.answered'> | undefined
}

/** A question that a call asked, and the answer where there is one. */
export interface RecordedQuestion {
  readonly asked: AgentEventOf<'question.asked'>
  readonly answered: AgentEventOf<'question.answered'> | undefined
}

export class CallLedger {
  readonly #calls = new Map<CallId, StartedCall>()
  readonly #approvals = new Map<CallId, RecordedApproval>()
  readonly #verdicts = new Map<CallId, AgentEventOf<'call.classified'>>()
  readonly #questions = new Map<CallId, readonly RecordedQuestion[]>()

  push({ event }: Pick<Recorded, 'event'>): void {
    switch (event.type) {
      case 'call.started':
        this.#calls.set(event.callId, { started: event, processes: [] })
        return
      case 'process.started': {
        const call = this.#calls.get(event.callId)
        if (call !== undefined) {
          this.#calls.set(event.callId, { ...call, processes: [...call.processes, event] })
        }
        return
      }
      case 'call.classified':
        this.#verdicts.set(event.callId, event)
        return
      case 'approval.requested':
        this.#approvals.set(event.callId, { requested: event, answered: undefined })
        return
      case 'approval.answered': {
        const approval = this.#approvals.get(event.callId)
        // The first answer counts.
        if (approval !== undefined && approval.answered === undefined)
          this.#approvals.set(event.callId, { ...approval, answered: event })
        return
      }
      case 'question.asked':
        this.#questions.set(event.callId, [
          ...(this.#questions.get(event.callId) ?? []),
          { asked: event, answered: undefined },
        ])
        return
      case 'question.answered':
        this.#questions.set(
          event.callId,
          (this.#questions.get(event.callId) ?? []).map((known) =>
            // The first answer counts.
            known.asked.place === event.place && known.answered === undefined
              ? { ...known, answered: event }
              : known,
          ),
        )
        return
      case 'call.ended':
        this.#questions.delete(event.callId)
        this.#calls.delete(event.callId)
        this.#approvals.delete(event.callId)
        this.#verdicts.delete(event.callId)
        return
      default:
    }
  }

  get(callId: CallId): StartedCall | undefined {
    return this.#calls.get(callId)
  }

  approval(callId: CallId): RecordedApproval | undefined {
    return this.#approvals.get(callId)
  }

  /** What the classifier said of a call without a result. */
  verdict(callId: CallId): AgentEventOf<'call.classified'> | undefined {
    return this.#verdicts.get(callId)
  }

  question(callId: CallId, place: number): RecordedQuestion | undefined {
    return this.#questions.get(callId)?.find(({ asked }) => asked.place === place)
  }

  /** Started calls without a result, oldest first. */
  get open(): readonly StartedCall[] {
    return [...this.#calls.values()]
  }

  /** As JSON can hold it. Lists are absent while they are empty. */
  value(): CallLedgerValue {
    const approvals = [...this.#approvals.values()]
    const questions = [...this.#questions.values()].flat()
    return {
      calls: this.open.map(({ started, processes }) => ({ started, processes: [...processes] })),
      ...(approvals.length > 0 && { approvals: approvals.map(withoutNoAnswer) }),
      ...(this.#verdicts.size > 0 && { verdicts: [...this.#verdicts.values()] }),
      ...(questions.length > 0 && { questions: questions.map(withoutNoAnswer) }),
    }
  }

  /** Takes what {@link value} gave, in a ledger that has nothing yet. */
  restore({ calls, approvals = [], verdicts = [], questions = [] }: CallLedgerValue): void {
    const events = [
      ...calls.flatMap(({ started, processes }) => [started, ...processes]),
      ...approvals.flatMap(({ requested, answered }) => [requested, answered]),
      ...verdicts,
      ...questions.flatMap(({ asked, answered }) => [asked, answered]),
    ]
    for (const event of events) if (event !== undefined) this.push({ event })
  }
}

/** What a snapshot holds of it. */
type CallLedgerValue = Pick<DigestValue, 'calls' | 'approvals' | 'verdicts' | 'questions'>

/** A field without a value is no JSON. */
function withoutNoAnswer<Asked extends object, Answered>({
  answered,
  ...asked
}: Asked & { readonly answered: Answered | undefined }) {
  return { ...asked, ...(answered !== undefined && { answered }) }
}
