/** What came of a hook: values that events keep and decisions are made of. Plain data, bounded. */
import { onOneLine } from '../context/text.ts'

/** Why a hook said nothing that counts. It changes nothing, and is told. */
export type HookFaultCode =
  /** It ended with a code that is neither 0 nor 2, or by a signal. */
  | 'hook-failed'
  /** A function of the host threw. */
  | 'hook-threw'
  | 'hook-timed-out'
  | 'hook-not-started'

/** A hook that went wrong. */
export interface HookFault {
  readonly code: HookFaultCode
  readonly message: string
}

/** What is not honoured of something that a hook said. */
export type HookProblemCode =
  /** A value is of another kind or unknown: that part is left out. */
  | 'hook-output-unreadable'
  /** It wrote more than is kept: what it wrote is no JSON any more. */
  | 'hook-output-cut'
  /** It asks for something that cannot be had at this event. */
  | 'hook-output-without-effect'
  /** Hooks of one event want things that exclude each other. */
  | 'hooks-disagree'

/** Something that a hook said and that is not honoured (law 11). */
export interface HookProblem {
  readonly code: HookProblemCode
  readonly message: string
}

/** `allow`, `ask`, `deny`: a tool call. `block`: what else the event is about, see `BlockEffect`. */
export interface HookVerdict {
  readonly kind: 'allow' | 'ask' | 'deny' | 'block'
  readonly reason?: string
}

/** All that one hook said. Its parts are independent of each other. */
export interface HookAnswer {
  readonly verdict?: HookVerdict
  /** The run is to end here. Stronger than any verdict. */
  readonly stop?: { readonly reason?: string }
  /** The call's input instead of the one that the hook was shown. */
  readonly updatedInput?: Readonly<Record<string, unknown>>
  /** For the agent. */
  readonly context?: string
  /** For the person. */
  readonly notice?: string
  /** The folder that a `WorktreeCreate` hook made. Absolute. */
  readonly worktreePath?: string
  /** The hook asks not to be shown among what happened. */
  readonly isQuiet?: true
}

/** What came of a hook. */
export type HookOutcome =
  | {
      readonly kind: 'answered'
      readonly answer: HookAnswer
      readonly problems: readonly HookProblem[]
    }
  | { readonly kind: 'failed'; readonly fault: HookFault }
  /** The run was interrupted while the hook was at work. */
  | { readonly kind: 'aborted' }
  /** It was started, and what came of it is not known: the engine died. Or nobody could ask it. */
  | { readonly kind: 'lost'; readonly why: string }

/** Most characters (UTF-16 units) that one text of a hook has: reason, context, notice. */
export const MAX_HOOK_TEXT = 10_000

const CUT_MARK = '\n[… the rest of what the hook said is left out …]'

/** A text of a hook: well formed, trimmed, at most {@link MAX_HOOK_TEXT} long. Undefined when it is blank. */
export function hookText(text: string): string | undefined {
  const trimmed = text.trim()
  if (trimmed === '') return undefined
  if (trimmed.length <= MAX_HOOK_TEXT) return wellFormed(trimmed)
  return `${startOf(trimmed, MAX_HOOK_TEXT - CUT_MARK.length)}${CUT_MARK}`
}

/** Foreign text for a message: on one line, well formed, at most `most` UTF-16 units of its start or its end. */
export function shortText(text: string, most: number, kept: 'start' | 'end' = 'start'): string {
  // Cut before it is cleaned, so that a flood costs nothing, and after it, as cleaning makes it longer.
  if (kept === 'start') return startOf(onOneLine(text.trimStart().slice(0, most)), most)
  return wellFormed(onOneLine(text.trimEnd().slice(-most)).slice(-most))
}

/** Half a character at the cut goes. */
const startOf = (text: string, most: number): string =>
  wellFormed(text.length <= most ? text : text.slice(0, most).replace(/[\uD800-\uDBFF]$/, ''))

// The method is there; the compiler's library types (ES2023) do not know it yet.
const wellFormed = (text: string): string => (text as string & { toWellFormed(): string }).toWellFormed()
