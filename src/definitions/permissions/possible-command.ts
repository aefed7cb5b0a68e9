/**
 * Could a shell command run what a deny rule names?
 *
 * Reading a shell exactly is not tried: the question is answered yes whenever it could be so. The command is
 * looked at in several views (quotes taken out, quotes as gaps, substitutions opened, substitutions as an
 * unknown); one view in which the denied words stand is enough. Known to err on the side of yes, as in
 * `git commit -m "then rm it"` under `Bash(rm:*)`. Known not to see: what a script or an interpreter does.
 *
 *   P1  No view may hide text: what one view leaves out, another shows.
 *   P2  A name that starts with a variable or substitution could be any command, one with wildcards what they match.
 *   P3  Time grows with the length of the command only, whatever a model writes.
 */
import { matchesWildcard } from './wildcard.ts'

/** Stands for text that only a shell knows. */
const UNKNOWN = '\u0001'

/**
 * A longer command is not looked at: it could be anything (UTF-16 code units). Linux starts no shell with more
 * than 128 KiB in one argument, so nobody is in need of it.
 */
const MAX_LENGTH = 100_000

/**
 * A set of characters as bash reads one in a name: `]` may come first, blanks and separators may be escaped or in
 * quotes. Bounded (P3); what is longer or nested stays and is seen by {@link couldBe}.
 */
const SET = /\[[!^]?\]?(?:\\.|'[^']{0,64}'|"[^"]{0,64}"|\[:\w{1,16}:\]|[^[\]\s\\'"]){0,64}\]/gsu

/** `[` and `[[` are commands, not the start of a set. */
const TESTS = new Set(['[', '[['])

/** After these the next word is a command. */
const KEYWORDS = new Set(['if', 'then', 'elif', 'else', 'while', 'until', 'do', 'time', '!', 'coproc'])

/** After these any word may be a command: they run what they are given. */
const RUNNERS = new Set(
  'bash busybox builtin command dash doas env eval exec ionice ksh nice nohup parallel sh ssh stdbuf sudo timeout watch xargs zsh'.split(
    ' ',
  ),
)

/** Is there a view of the command in which it, or a part of it, runs a command that starts with these words? */
export function couldRun(command: string, denied: string): boolean {
  if (command.length > MAX_LENGTH) return true
  const wanted = partsOf(removeQuotes(separate(openSubstitutions(denied.toLowerCase()))))
  const parts = viewsOf(command.toLowerCase()).flatMap(partsOf)
  return wanted.every((words) => parts.some((part) => couldStand(words, part)))
}

function viewsOf(command: string): readonly string[] {
  const joined = command.replaceAll(/\\\r?\n/gu, '')
  // The third: separators within a set of characters end no command.
  const withoutSets = joined.replaceAll(SET, '*')
  return [
    openSubstitutions(joined),
    closeSubstitutions(joined),
    ...(withoutSets === joined ? [] : [closeSubstitutions(withoutSets)]),
  ].flatMap((view) => [removeQuotes(separate(view)), separate(view).replaceAll(/['"\\,=]/gu, ' ')])
}

/** What is inside of substitutions, groups and braces becomes a command of its own; nothing is left out (P1). */
function openSubstitutions(command: string): string {
  return command.replaceAll(/[<>$]?[({]|[)}`]/gu, '\n')
}

/** Substitutions, brace expansions and extended wildcards (`@(a|b)`) become unknowns, the command around them stays whole. */
function closeSubstitutions(command: string): string {
  let view = command.replaceAll(/`[^`]*`/gu, UNKNOWN)
  // From the inside out. The bound only keeps a hostile depth from costing more than it is worth: what is left
  // is split at its brackets below, and the other view has shown everything anyway.
  for (let depth = 0; depth < 16; depth++) {
    const next = view.replaceAll(/[<>$?*+@!]\([^()]*\)|\$\{[^{}]*\}|\{[^{}\s,]*,[^{}\s]*\}/gu, UNKNOWN)
    if (next === view) break
    view = next
  }
  return view
    .replaceAll(/[?*+@!]\(/gu, `${UNKNOWN}\n`)
    .replaceAll(/\d{0,3}(?:&>>?|>>?[|&]?|<<-?(?!<)|<)[ \t]*[^\s;&|<>()]*/gu, ' - ')
    .replaceAll(/[<>$]?[({]|[)}`]/gu, '\n')
}

/** Commands end at newlines; variables are unknowns, sets of characters a star; a redirect left over is a gap. */
function separate(view: string): string {
  return view
    .replaceAll(/[;&|\r]/gu, '\n')
    .replaceAll(/[<>]+/gu, ' - ')
    .replaceAll(/\$(?:[@*#?!$-]|\w*)/gu, UNKNOWN)
    .replaceAll(SET, '*')
}

function removeQuotes(view: string): string {
  return view.replaceAll(/['"\\]/gu, '')
}

function partsOf(view: string): readonly (readonly string[])[] {
  return view
    .split('\n')
    .map((part) => part.split(/\s+/u).filter((word) => word !== ''))
    .filter((words) => words.length > 0)
}

/**
 * Do the wanted words stand in the part, in order? Between two of them there may be options with their values,
 * and unknowns, which may be empty: `git -C /x push` could run `git push`.
 */
function couldStand(wanted: readonly string[], part: readonly string[]): boolean {
  const [first = '', ...rest] = wanted
  // `rm` and `/bin/rm` are one command, in the rule as in the call.
  const name = baseName(first)
  const isPlace = commandPlaces(part)
  // An unknown in a command's place may hold the name with all its arguments (P2).
  if (part.some((word, index) => isPlace(index) && word.startsWith(UNKNOWN))) return true
  // Where the next wanted word may stand, ascending.
  let places = part.flatMap((word, index) =>
    isWord(baseName(word), name) || (isPlace(index) && couldBe(baseName(word), name)) ? [index + 1] : [],
  )
  let isOpen = false
  for (const word of rest) {
    if (word === '*') {
      isOpen = true
      continue
    }
    const adjacent = new Set(places)
    const openFrom = places.find((place) => isOpen || isSkippable(part[place])) ?? part.length
    places = part.flatMap((given, index) => {
      const stands = isWord(given, word) && (adjacent.has(index) || index >= openFrom)
      return stands || (adjacent.has(index) && couldBe(given, word)) ? [index + 1] : []
    })
    isOpen = false
  }
  return places.length > 0
}

/** Which words of a part may be the name of a command? */
function commandPlaces(part: readonly string[]): (index: number) => boolean {
  const first = part.findIndex((word) => !/^\w+=/u.test(word) && !KEYWORDS.has(word) && !word.startsWith('-'))
  const runner = part.findIndex((word) => RUNNERS.has(baseName(word)))
  return (index) => index === first || (runner !== -1 && index > runner)
}

/** Is it the wanted word? That may have stars, as in `Bash(git * main)`. */
function isWord(given: string, wanted: string): boolean {
  return given === wanted || (wanted.includes('*') && matchesWildcard(wanted, given))
}

/** Could a word with unknowns or wildcards in it turn out to be the wanted one? */
function couldBe(word: string, wanted: string): boolean {
  if (word.startsWith(UNKNOWN)) return true
  if (TESTS.has(word)) return false
  // From a bracket that is left on, it is a set that only a shell can read: anything may come of it.
  const pattern = word.replaceAll(UNKNOWN, '*').replace(/\[.*$/su, '*')
  return /[*?]/u.test(pattern) && matchesWildcard(pattern, wanted)
}

function isSkippable(word: string | undefined): boolean {
  return word !== undefined && (word.startsWith('-') || word.includes(UNKNOWN))
}

/** The last part of a path. One that ends in a slash is a folder and keeps its name. */
function baseName(word: string): string {
  return word.slice(word.lastIndexOf('/', word.length - 2) + 1)
}
