/**
 * Do allow rules cover a command line? Only where that is certain.
 *
 *   A1  Every command in it must be covered, each by a rule or because it does nothing outside of its shell.
 *   A2  A rule's words are the first words of the command, one by one; without a star they are all of them.
 *   A3  A star covers arguments: not what the command runs in turn (A1 holds for that), and no word by which it
 *       would do more than it says (`hidden-words.ts`).
 *   A4  What is no command is covered by no rule: files that are written, variables that change programs.
 */
import { hiddenWord } from './hidden-words.ts'
import { isAssignment, plainWords } from './plain-words.ts'
import type { ShellCommand, ShellReading, ShellWord } from './reading.ts'
import { isHarmlessToPrograms } from './variables.ts'

/** The words of a rule: `git log:*` is `git`, `log` and a star. */
export interface CommandPattern {
  /** `NAME=value`, which must stand before the command just so. */
  readonly assignments: readonly string[]
  readonly words: readonly string[]
  readonly isPrefix: boolean
}

/** Reads the command of an allow rule; undefined for what no plain command is. */
export function commandPattern(command: string, isPrefix: boolean): CommandPattern | undefined {
  const all = plainWords(command)
  if (all === undefined) return undefined
  const at = all.findIndex((word) => !isAssignment(word))
  if (at === -1) return undefined
  const known = ({ value, text }: ShellWord): string => value ?? text
  return { assignments: all.slice(0, at).map(known), words: all.slice(at).map(known), isPrefix }
}

/** Rules by the first word of their command. */
export type CommandRules<R> = ReadonlyMap<
  string,
  readonly { readonly pattern: CommandPattern; readonly rule: R }[]
>

/**
 * The rules that together cover the whole line, in the order of its commands; undefined when some of it is not
 * covered, or when no rule was needed: a line that does nothing is nobody's to allow.
 */
export function coveringRules<R>(rules: CommandRules<R>, reading: ShellReading): readonly R[] | undefined {
  if (reading.kind === 'unclear' || reading.obstacles.length > 0) return undefined
  const known = new Map<ShellCommand, readonly R[] | undefined>()

  function all(commands: readonly ShellCommand[]): readonly R[] | undefined {
    const found: R[] = []
    for (const command of commands) {
      const ofCommand = known.has(command) ? known.get(command) : cover(command)
      known.set(command, ofCommand)
      if (ofCommand === undefined) return undefined
      found.push(...ofCommand)
    }
    return found
  }

  function cover(command: ShellCommand): readonly R[] | undefined {
    const { words, assignments, runs } = command
    if (assignments.every(isHarmless)) {
      if (command.isInert) return []
      const inner = runs?.kind === 'known' && runs.isThin ? all(runs.commands) : undefined
      if (inner !== undefined) return inner
    }
    for (const { pattern, rule } of rules.get(words[0]?.value ?? '') ?? []) {
      if (!startsWith(command, pattern)) continue
      const rest = pattern.isPrefix ? behindStar(command, pattern.words.length) : []
      if (rest !== undefined) return [rule, ...rest]
    }
    return undefined
  }

  /** What more is needed where a star covers the words from the index on (A3). */
  function behindStar({ words, runs }: ShellCommand, from: number): readonly R[] | undefined {
    if (hiddenWord(words, from) !== undefined) return undefined
    switch (runs?.kind) {
      case undefined:
        return []
      case 'unknown':
        return undefined
      case 'opaque':
        return from >= 2 ? [] : undefined
      case 'known': {
        if (runs.from >= from) return all(runs.commands)
        // The rule names the command that is run: its star covers the arguments of that one.
        const [first, ...others] = runs.commands
        if (runs.isCode || first === undefined) return []
        const ofFirst = behindStar(first, from - runs.from)
        const ofOthers = all(others)
        return ofFirst === undefined || ofOthers === undefined ? undefined : [...ofFirst, ...ofOthers]
      }
    }
  }

  const found = all(reading.commands)
  return found === undefined || found.length === 0 ? undefined : [...new Set(found)]
}

function startsWith({ words, assignments }: ShellCommand, pattern: CommandPattern): boolean {
  const isSet =
    pattern.assignments.length === 0
      ? assignments.every(isHarmless)
      : assignments.length === pattern.assignments.length &&
        pattern.assignments.every((text, index) => text === assignments[index]?.value)
  const fits = pattern.isPrefix ? words.length >= pattern.words.length : words.length === pattern.words.length
  return isSet && fits && pattern.words.every((word, index) => word === words[index]?.value)
}

function isHarmless({ text }: ShellWord): boolean {
  return isHarmlessToPrograms(text.slice(0, text.indexOf('=')))
}
