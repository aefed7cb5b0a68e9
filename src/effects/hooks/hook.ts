/** Hooks of both kinds, and what is told of each of their runs. */
import type { HookEvent } from '../../definitions/hook-declaration.ts'
import type { HookInput, HookInputOf } from '../../definitions/hooks/hook-input.ts'
import type { HookOutcome } from '../../definitions/hooks/hook-outcome.ts'
import type { HookOutput } from '../../definitions/hooks/read-output.ts'
import type { HookScope, HookSource, ScopedHook } from '../../definitions/hooks/scoped-hook.ts'

/** What a function hook answers: nothing, or what a command would print as JSON. */
export type HookReply = HookOutput | undefined

/**
 * A hook that the host gives as a function. It runs in this process and is trusted: it can be told that its time is
 * over, but nothing can end it.
 */
export interface HostHook<E extends HookEvent = HookEvent> {
  readonly event: E
  /** As in declarations. Absent: all. */
  readonly matcher?: string
  /** Default: all agents. */
  readonly scope?: HookScope
  /** For messages and envelopes. Default: the host. */
  readonly name?: string
  /** In seconds. Default 60. */
  readonly timeout?: number
  /** Gets a copy of the input of its own. What it throws is a fault of the hook. */
  readonly run: (
    input: HookInputOf<E>,
    context: { readonly signal: AbortSignal },
  ) => HookReply | Promise<HookReply>
}

/** A host hook of any event, as `hostHook` makes it. */
export interface AnyHostHook extends Omit<HostHook, 'run'> {
  readonly run: (
    input: HookInput,
    context: { readonly signal: AbortSignal },
  ) => HookReply | Promise<HookReply>
}

/**
 * A function as a hook.
 *
 * @example hostHook({ event: 'PreToolUse', matcher: 'Bash', run: ({ tool_input }) => check(tool_input) })
 */
export function hostHook<E extends HookEvent>(hook: HostHook<E>): AnyHostHook {
  return {
    ...hook,
    // Never called with another event; the check is what tells the compiler.
    run: (input, context) => (isInputOf(hook.event, input) ? hook.run(input, context) : undefined),
  }
}

function isInputOf<E extends HookEvent>(event: E, input: HookInput): input is HookInputOf<E> {
  return input.hook_event_name === event
}

/** A hook that is about to run, or ran. */
export interface HookIdentity {
  /** Its place among the hooks of this event; the order in which their texts are given. */
  readonly place: number
  /** `<agent>/<effect>.<place>`: unique in a session, and in `TROUPE_CALL` of a command. */
  readonly mark: string
  readonly event: HookEvent
  /** Who speaks, in words. */
  readonly label: string
  readonly source: HookSource
  /** Absent for functions. */
  readonly command?: string
}

/** A hook that ran. */
export interface HookRun extends HookIdentity {
  /** In milliseconds, on the clock. */
  readonly durationMs: number
  readonly outcome: HookOutcome
}

/** A hook that is for an event. */
export type ApplicableHook =
  | { readonly kind: 'command'; readonly hook: ScopedHook }
  | { readonly kind: 'function'; readonly hook: AnyHostHook }
