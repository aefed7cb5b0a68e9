/**
 * A model that says what was said before: the replies of a recorded tree, each to the request that led to it.
 *
 *   K1  A request gets the next reply of the conversation that it is about, found by what is in it: a request does not
 *       say whose it is.
 *   K2  A request that means something else than the one that was recorded is a difference. It is told, and gets the
 *       recorded reply all the same if it is clear whose turn it is: what differs is worth more than where it stops.
 */
import { Observable } from 'rxjs'
import type { Fault } from '../../machines/agent/events.ts'
import type { Reply } from '../../machines/agent/messages.ts'
import type { Model, ModelDelta, ModelErrorCode, ModelRequest, RequestMessage } from './model.ts'
import { ModelError } from './model.ts'
import { emitReply } from './scripted-reply.ts'

/** One turn of a recorded conversation. */
export interface CassetteTurn {
  /** What the log before it makes of a request. */
  readonly messages: readonly RequestMessage[]
  readonly said:
    | { readonly kind: 'reply'; readonly reply: Reply }
    | { readonly kind: 'failed'; readonly fault: Fault; readonly attempts: number }
}

/** The turns of one agent, in order, those of all its runs. */
export interface CassetteReel {
  /** Names it in complaints. */
  readonly name: string
  readonly turns: readonly CassetteTurn[]
}

export interface CassetteOptions {
  /** A request as text, equal for two that mean the same. Default: its JSON. */
  readonly meaning?: (messages: readonly RequestMessage[]) => string
  /** Hears of each request that was recorded otherwise, or not at all. */
  readonly onDifference?: (complaint: string) => void
  /** Hears of each request. */
  readonly onRequest?: () => void
  /** Answers a request that must call a tool: it is no turn of a conversation. Undefined: as a request without a recorded reply. */
  readonly forced?: (request: ModelRequest) => CassetteTurn['said'] | undefined
  /** What a request without a recorded reply gets: nothing until it is aborted, or an error. Default `fail`. */
  readonly atEnd?: 'wait' | 'fail'
}

/** Plays reels. Each turn is played once. */
export function createCassetteModel(reels: readonly CassetteReel[], options: CassetteOptions = {}): Model {
  const { meaning = JSON.stringify, onDifference, onRequest, forced, atEnd = 'fail' } = options
  const played = new Map<CassetteReel, number>()

  const nextOf = (reel: CassetteReel): CassetteTurn | undefined => reel.turns[played.get(reel) ?? 0]

  /** The next turn of the conversation that a request is about. */
  const take = (messages: readonly RequestMessage[]): CassetteTurn | undefined => {
    const wanted = meaning(messages)
    const means = new Map(reels.map((reel) => [reel, nextOf(reel)] as const))
    const exact = reels.find((reel) => {
      const turn = means.get(reel)
      return turn !== undefined && meaning(turn.messages) === wanted
    })
    const found = exact ?? reels.find((reel) => isAbout(means.get(reel), messages, meaning))
    if (found === undefined) {
      const known = reels.find(({ turns }) => turns.some((turn) => meaning(turn.messages) === wanted))
      // At the end of its own reel nothing differs: the log just has no more.
      if (known === undefined && !reels.some((reel) => hasEnded(reel, played, messages, meaning))) {
        onDifference?.(`a request of ${messages.length} messages is in no log`)
      }
      return undefined
    }
    const at = played.get(found) ?? 0
    played.set(found, at + 1)
    if (exact === undefined) {
      onDifference?.(`request ${at + 1} of ${found.name} is not the one that was recorded`)
    }
    return found.turns[at]
  }

  return {
    provider: 'cassette',
    stream: (request, signal) =>
      new Observable<ModelDelta>((subscriber) => {
        if (signal.aborted) return subscriber.error(signal.reason)
        onRequest?.()
        const { messages } = request
        const said = request.toolChoice === undefined ? take(messages)?.said : forced?.(request)
        if (said?.kind === 'reply') return emitReply(subscriber, said.reply)
        if (said?.kind === 'failed') return subscriber.error(errorOf(said.fault, said.attempts))
        if (atEnd === 'fail') return subscriber.error(noMore(messages.length))
        const onAbort = (): void => subscriber.error(signal.reason)
        signal.addEventListener('abort', onAbort, { once: true })
        return () => signal.removeEventListener('abort', onAbort)
      }),
  }
}

type Meaning = (messages: readonly RequestMessage[]) => string

/** The same prompt, and as many replies so far. */
function isAbout(
  turn: CassetteTurn | undefined,
  messages: readonly RequestMessage[],
  meaning: Meaning,
): boolean {
  return (
    turn !== undefined &&
    replies(turn.messages) === replies(messages) &&
    meaning(turn.messages.slice(0, 1)) === meaning(messages.slice(0, 1))
  )
}

function hasEnded(
  reel: CassetteReel,
  played: ReadonlyMap<CassetteReel, number>,
  messages: readonly RequestMessage[],
  meaning: Meaning,
): boolean {
  const first = reel.turns[0]?.messages
  if ((played.get(reel) ?? 0) < reel.turns.length) return false
  return first === undefined || meaning(first.slice(0, 1)) === meaning(messages.slice(0, 1))
}

const replies = (messages: readonly RequestMessage[]): number =>
  messages.filter(({ role }) => role === 'assistant').length

function errorOf({ code, message, retryable }: Fault, attempts: number): ModelError {
  // A code of a newer version passes through as it came.
  return new ModelError(code as ModelErrorCode, message, { retryable, attempts })
}

const noMore = (length: number): ModelError =>
  new ModelError('script', `the log has no reply to this request of ${length} messages`, { retryable: false })
