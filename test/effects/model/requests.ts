/** Requests and ways of listening to their answers, for the specs of this folder. */
import type { Observable } from 'rxjs'
import type { ModelDelta, ModelRequest } from '../../../src/effects/model/model.ts'
import { ModelError } from '../../../src/effects/model/model.ts'
import { createBell } from '../../helpers/bell.ts'

/** A small request; `parts` replace its fields. */
export const aRequest = (parts: Partial<ModelRequest> = {}): ModelRequest => ({
  model: 'claude-test',
  system: 'You are a test.',
  tools: [],
  messages: [{ role: 'user', content: 'hello' }],
  maxTokens: 1_000,
  source: 'main',
  ...parts,
})

/** A signal that never aborts. */
export const never = new AbortController().signal

/** A subscription and what it has seen so far. */
export interface Watched {
  readonly deltas: ModelDelta[]
  readonly errors: unknown[]
  completed: boolean
  readonly unsubscribe: () => void
  /** Resolves at the end, however the stream ends. */
  readonly ended: Promise<void>
  /** Resolves when so many deltas have come. */
  readonly has: (count: number) => Promise<void>
}

export function watch(stream: Observable<ModelDelta>): Watched {
  let end: () => void = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const deltas: ModelDelta[] = []
  const errors: unknown[] = []
  const bell = createBell()
  const watched = {
    deltas,
    errors,
    completed: false,
    ended,
    has: (count: number) => bell.until(() => deltas.length >= count),
    unsubscribe: () => subscription.unsubscribe(),
  }
  const subscription = stream.subscribe({
    next: (delta) => {
      deltas.push(delta)
      bell.ring()
    },
    error: (error: unknown) => {
      errors.push(error)
      end()
    },
    complete: () => {
      watched.completed = true
      end()
    },
  })
  return watched
}

/** The ModelError that a promise rejects with; fails when it resolves or rejects with anything else. */
export async function modelErrorOf(promise: Promise<unknown>): Promise<ModelError> {
  const outcome = await promise.then(
    () => 'a success',
    (error: unknown) => error,
  )
  if (!ModelError.is(outcome)) throw new Error(`expected a ModelError, got ${String(outcome)}`)
  return outcome
}

export const overloaded = (retryAfterMs?: number): ModelError =>
  new ModelError('overloaded', 'too busy', { retryable: true, status: 529, retryAfterMs })
