/**
 * Could a command line run what a deny or an ask rule names? Yes wherever it could be so.
 *
 *   C1  The denied words may stand in any command of the line, however deep, and anywhere in it: many programs run
 *       what they are given. Only in lines of programs that take nothing but data must they be the command itself.
 *   C2  A name that starts with what only a shell knows could be any command with any arguments.
 *   C3  Between two denied words there may be options with their values: `git -C /x push` is `git push`.
 *   C4  Known not to see: what a script, or a program of the project, does.
 */
import { matchesWildcard } from '../wildcard.ts'
import { takesDataOnly } from './data-only.ts'
import { wordsIn } from './guesses.ts'
import { plainWords } from './plain-words.ts'
import { type ShellReading, UNKNOWN } from './reading.ts'
import { isRunner, programOf } from './runners.ts'

/** The commands that a rule names, each as its words; all of them must be there. */
export type DeniedCommand = readonly (readonly string[])[]

/** Reads the command of a deny rule, which may be more than a plain one. Case does not count. */
export function deniedCommand(command: string): DeniedCommand {
  const plain = plainWords(command)
  if (plain !== undefined)
    return [withoutAssignments(plain.map(({ value, text }) => (value ?? text).toLowerCase()))]
  return command
    .toLowerCase()
    .replaceAll(/["'\\]/gu, '')
    .split(/[;&|\n(){}`<>]+/u)
    .map((part) => withoutAssignments(part.split(/\s+/u).filter((word) => word !== '')))
    .filter((words) => words.length > 0)
}

/** A command is the same with other variables before it. */
function withoutAssignments(words: readonly string[]): readonly string[] {
  const at = words.findIndex((word) => !/^\w+\+?=/u.test(word))
  return at === -1 ? words : words.slice(at)
}

/** Rules by the name of the first command that they deny; those without one name are in `others`. */
export interface DeniedRules<R> {
  readonly byName: ReadonlyMap<string, readonly DeniedRule<R>[]>
  readonly others: readonly DeniedRule<R>[]
}

/** A rule with what it denies. */
export interface DeniedRule<R> {
  readonly denied: DeniedCommand
  readonly rule: R
}

/** Sorts rules by name. */
export function deniedRules<R>(rules: readonly DeniedRule<R>[]): DeniedRules<R> {
  const byName = new Map<string, DeniedRule<R>[]>()
  const others: DeniedRule<R>[] = []
  for (const each of rules) {
    const first = each.denied[0]?.[0]
    if (first === undefined || /[*?]/u.test(first)) others.push(each)
    else {
      const named = byName.get(programOf(first))
      if (named === undefined) byName.set(programOf(first), [each])
      else named.push(each)
    }
  }
  return { byName, others }
}

/** The first rule whose command the line could run; undefined when it could run none of them. */
export function findDenied<R>(rules: DeniedRules<R>, reading: ShellReading): R | undefined {
  const anyRule = (): R | undefined => (rules.others[0] ?? [...rules.byName.values()][0]?.[0])?.rule
  if (reading.kind === 'unclear' || reading.isOpen) return anyRule()
  const parts = partsOf(reading)
  if (
    parts.some(({ words, isPlace }) =>
      words.some((word, index) => isPlace(index) && word.startsWith(UNKNOWN)),
    )
  )
    return anyRule()
  const isDenied = ({ denied }: DeniedRule<R>): boolean =>
    denied.every((wanted) => parts.some((part) => couldStand(wanted, part)))
  const candidates = new Set<DeniedRule<R>>()
  for (const { words, isPlace, isCommand } of parts) {
    for (const [index, word] of words.entries()) {
      if (!isCommand(index)) continue
      for (const each of rules.byName.get(programOf(word)) ?? []) candidates.add(each)
      if (isPlace(index) && isOpenWord(word))
        for (const [name, named] of rules.byName)
          if (couldBe(programOf(word), name)) for (const each of named) candidates.add(each)
    }
  }
  return [...candidates, ...rules.others].find(isDenied)?.rule
}

/** Words in a row, and which of them may be the name of a command. */
interface Part {
  readonly words: readonly string[]
  /** Where a shell, or a program that runs what it is given, takes a word for a command. */
  readonly isPlace: (index: number) => boolean
  /** Where a name that is written out counts. */
  readonly isCommand: (index: number) => boolean
}

function partsOf(reading: ShellReading & { readonly kind: 'understood' }): readonly Part[] {
  const isData = reading.commands.every(takesDataOnly)
  const commands = wordsIn(reading.commands).map((patterns): Part => {
    const words = patterns.map((pattern) => pattern.toLowerCase())
    const runner = words.findIndex((word) => isRunner(word))
    const isPlace = (index: number): boolean => index === 0 || (runner !== -1 && index > runner)
    return { words, isPlace, isCommand: isData ? (index) => index === 0 : () => true }
  })
  const guesses = reading.guesses.map(
    (patterns): Part => ({
      words: patterns.map((pattern) => pattern.toLowerCase()),
      isPlace: () => false,
      isCommand: () => true,
    }),
  )
  return [...commands, ...guesses]
}

function couldStand(wanted: readonly string[], { words, isPlace, isCommand }: Part): boolean {
  const [first = '', ...rest] = wanted
  // `rm` and `/bin/rm` are one command, in the rule as in the call.
  const name = programOf(first)
  // Where the next wanted word may stand, ascending.
  let places = words.flatMap((word, index) =>
    (isCommand(index) && isWord(programOf(word), name)) || (isPlace(index) && couldBe(programOf(word), name))
      ? [index + 1]
      : [],
  )
  let isOpen = false
  for (const word of rest) {
    if (word === '*') {
      isOpen = true
      continue
    }
    const adjacent = new Set(places)
    const openFrom = places.find((place) => isOpen || isSkippable(words[place])) ?? words.length
    places = words.flatMap((given, index) => {
      const stands = isWord(given, word) && (adjacent.has(index) || index >= openFrom)
      return stands || (adjacent.has(index) && couldBe(given, word)) ? [index + 1] : []
    })
    isOpen = false
  }
  return places.length > 0
}

/** Is it the wanted word? That may have stars, as in `Bash(git * main)`. */
function isWord(given: string, wanted: string): boolean {
  return given === wanted || (wanted.includes('*') && matchesWildcard(wanted, given))
}

/** Could a word with unknowns in it turn out to be the wanted one? */
function couldBe(word: string, wanted: string): boolean {
  if (word.startsWith(UNKNOWN)) return true
  return isOpenWord(word) && matchesWildcard(word.replaceAll(UNKNOWN, '*'), wanted)
}

function isOpenWord(word: string): boolean {
  return word.includes(UNKNOWN)
}

function isSkippable(word: string | undefined): boolean {
  return word !== undefined && (word.startsWith('-') || word.includes(UNKNOWN))
}
