/** A model that is driven by hand, so that a test decides what comes when. */
import { Observable, type Subscriber } from 'rxjs'
import type { Model, ModelDelta, ModelRequest } from './model.ts'
import { chunksOf, scriptError } from './scripted.ts'
import { buildReply, emitReply, type ScriptedReply } from './scripted-reply.ts'

/** A request that waits for what the test will do. After its end everything is ignored. */
export interface ManualRequest {
  readonly request: ModelRequest
  /** Emits one delta. */
  delta(delta: ModelDelta): void
  /** Ends the request with a reply, or with the error that it is. */
  reply(reply: ScriptedReply): void
  /** Ends the request with an error; anything but a ModelError becomes a `script` error. */
  fail(error: unknown): void
  /** Whether the asker has gone: by its signal, or by unsubscribing before there was a reply. */
  readonly aborted: boolean
  /** Whether there was a reply or an error. */
  readonly ended: boolean
}

export interface ManualModel {
  readonly model: Model
  /** Every request so far, in order. */
  readonly requests: readonly ManualRequest[]
  /** The request at `index`, as soon as it is there. */
  request(index: number): Promise<ManualRequest>
}

/** A model whose requests wait until they are answered by hand. */
export function createManualModel(provider = 'manual'): ManualModel {
  const requests: ManualRequest[] = []
  const awaited = new Map<number, ((request: ManualRequest) => void)[]>()

  const announce = (request: ManualRequest): void => {
    const index = requests.push(request) - 1
    for (const resolve of awaited.get(index) ?? []) resolve(request)
    awaited.delete(index)
  }

  return {
    model: {
      provider,
      stream: (request, signal) =>
        new Observable((subscriber) => {
          const state = { aborted: signal.aborted, ended: false }
          const onAbort = (): void => {
            state.aborted ||= !state.ended
            subscriber.error(signal.reason)
          }
          signal.addEventListener('abort', onAbort, { once: true })
          announce(manualRequest(request, subscriber, state))
          if (signal.aborted) subscriber.error(signal.reason)
          return () => {
            state.aborted ||= !state.ended
            signal.removeEventListener('abort', onAbort)
          }
        }),
    },
    requests,
    request(index) {
      const there = requests[index]
      if (there !== undefined) return Promise.resolve(there)
      return new Promise((resolve) => awaited.set(index, [...(awaited.get(index) ?? []), resolve]))
    },
  }
}

function manualRequest(
  request: ModelRequest,
  subscriber: Subscriber<ModelDelta>,
  state: { aborted: boolean; ended: boolean },
): ManualRequest {
  const end = (outcome: () => void): void => {
    if (state.ended || state.aborted) return
    state.ended = true
    outcome()
  }
  return {
    request,
    delta: (delta) => subscriber.next(delta),
    reply: (reply) =>
      end(() => {
        if (reply instanceof Error) subscriber.error(scriptError(reply))
        else emitReply(subscriber, buildReply(reply, request), chunksOf(reply))
      }),
    fail: (error) => end(() => subscriber.error(scriptError(error))),
    get aborted() {
      return state.aborted
    },
    get ended() {
      return state.ended
    },
  }
}
