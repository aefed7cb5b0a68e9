/**
 * The one place that knows which parser reads shell commands. It is loaded when the first command needs it: most
 * are plain words, which need none.
 */

import { builtinEffect } from './builtins.ts'
import { guessesIn } from './guesses.ts'
import { isAssignment, plainWords } from './plain-words.ts'
import { readScript, type ShellParser } from './read-script.ts'
import type { ShellReading } from './reading.ts'
import { innerOf } from './runners.ts'

/**
 * Reads a shell command line for the permission rules: once for each call, before it is decided on. Never rejects:
 * without a parser the command is unclear, so that no allow rule matches it.
 */
export async function readShell(command: string): Promise<ShellReading> {
  const plain = readPlainShell(command)
  return plain.kind === 'understood' ? plain : (await loadShellReader())(command)
}

/** Reads what needs no parser: a name with plain words. All else is unclear. */
export function readPlainShell(command: string): ShellReading {
  const words = plainWords(command) ?? []
  const [first] = words
  const isPlain =
    first !== undefined &&
    !isAssignment(first) &&
    !RESERVED.has(first.text) &&
    !words.some(({ text }) => isCodeLike(text))
  if (!isPlain || innerOf(words) !== undefined)
    return { kind: 'unclear', reason: 'it is more than a plain command' }
  const effect = builtinEffect(words)
  const commands = [{ words, assignments: [], runs: undefined, isInert: effect?.kind === 'inert' }]
  return {
    kind: 'understood',
    commands,
    obstacles: effect?.kind === 'obstacle' ? [effect.what] : [],
    // Plain words hold no code, but an option's value may be a name.
    guesses: guessesIn(commands, [], () => ({ kind: 'unclear', reason: 'it is text' })),
    isOpen: false,
  }
}

/** Loads the parser, once for the process. Rejects never. */
export function loadShellReader(): Promise<(command: string) => ShellReading> {
  loading ??= import('unbash').then(
    (parser: ShellParser) => (command: string) => readScript(command, parser),
    () => () => ({ kind: 'unclear', reason: 'the parser for shell commands could not be loaded' }),
  )
  return loading
}

let loading: Promise<(command: string) => ShellReading> | undefined

/** Could somebody's program take the word for more than one? */
function isCodeLike(text: string): boolean {
  return /[\s;&|<>()$`\\{}]/u.test(text)
}

/** Words that begin something else than a command. */
const RESERVED: ReadonlySet<string> = new Set(
  '! [[ { } case coproc do done elif else esac fi for function if in select then time until while'.split(' '),
)
