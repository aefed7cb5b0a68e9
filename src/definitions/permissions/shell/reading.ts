/** What a shell command line comes to, as far as permission rules have to know. Plain data: made once, read by pure functions. */

/** Stands in a word's pattern for text that only a shell knows, of any length. */
export const UNKNOWN = '\u0001'

/** One word of a command. */
export interface ShellWord {
  /** As written. */
  readonly text: string
  /** What the command gets, quotes and escapes worked out; undefined when only a shell knows. */
  readonly value: string | undefined
  /** The value with {@link UNKNOWN} for what only a shell knows. */
  readonly pattern: string
  /** However it expands, each word that comes of it starts with what stands before the first {@link UNKNOWN}. */
  readonly keepsItsStart: boolean
}

/** What a command runs in turn: `xargs grep x`, `find -exec …`, `sh -c '…'`. */
export type ShellRun =
  | {
      readonly kind: 'known'
      /** The index of its words at which they begin. */
      readonly from: number
      readonly commands: readonly ShellCommand[]
      /** It adds nothing of its own, as `nohup`. */
      readonly isThin: boolean
      /** The word at `from` is a text in which they stand. */
      readonly isCode: boolean
    }
  /** It runs some of its words, which are not looked into. */
  | { readonly kind: 'opaque' }
  /** It runs something that may not even be written here. */
  | { readonly kind: 'unknown' }

/** One simple command: a name with its words. */
export interface ShellCommand {
  /** The name, then the arguments. Never empty. */
  readonly words: readonly ShellWord[]
  /** `NAME=value` before the name. */
  readonly assignments: readonly ShellWord[]
  readonly runs: ShellRun | undefined
  /** It does nothing outside of its shell: `true`, `[ -f x ]`, a call of a function whose body is looked at. */
  readonly isInert: boolean
}

/** A whole command line. */
export type ShellReading =
  | {
      readonly kind: 'understood'
      /** Every simple command in it, however deep, save those that another one {@link ShellCommand.runs}. */
      readonly commands: readonly ShellCommand[]
      /** What no rule for a command covers, in words: `it writes to the file x`. */
      readonly obstacles: readonly string[]
      /** Words that somebody might run: texts that are given to commands. In patterns, as of {@link ShellWord}. */
      readonly guesses: readonly (readonly string[])[]
      /** Some of what it runs is made while it runs (`eval $X`): it could be anything. */
      readonly isOpen: boolean
    }
  /** No parser made sense of it: it could be anything. */
  | { readonly kind: 'unclear'; readonly reason: string }
