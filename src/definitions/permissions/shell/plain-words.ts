/**
 * Commands so plain that reading them needs no shell: one name with its words. Rules are written in this form, and
 * most commands are, so that the parser is needed for the rest only. Everything else is undefined.
 */
import type { ShellWord } from './reading.ts'

// Letters, digits and punctuation without meaning to a shell. `~` and `#` mean something at the start of a word
// (`~` also after `=` and `:`), so they need an ordinary character before them.
const BARE = String.raw`(?:[\p{L}\p{N}_\-./:,@%+=^]|(?<=[^\s=:])[~#])+`
// Within quotes everything that no shell expands, on one line and without invisible characters.
const SINGLE_QUOTED = String.raw`'[^'\p{C}\p{Zl}\p{Zp}]*'`
const DOUBLE_QUOTED = String.raw`"[^"$\x60\\!\p{C}\p{Zl}\p{Zp}]*"`
const QUOTED = `(?:${SINGLE_QUOTED}|${DOUBLE_QUOTED})`
// Quotes hold a whole word (`"a b"`) or the value of an option (`--grep="a b"`), never a piece of one (`g"i"t`).
const WORD = new RegExp(`(?:${BARE}(?:(?<==)${QUOTED})?|${QUOTED})(?= |$)`, 'uy')
const BLANKS = / */uy

/** Nobody writes a plain command of this length (UTF-16 code units). */
const MAX_LENGTH = 20_000

/** The words of one plain command, `NAME=value` before its name included; undefined for anything that is more, or less. */
export function plainWords(text: string): readonly ShellWord[] | undefined {
  if (text.length > MAX_LENGTH) return undefined
  const words: ShellWord[] = []
  let position = skip(BLANKS, text, 0)
  while (position < text.length) {
    const end = skip(WORD, text, position)
    if (end === position) return undefined
    words.push(wordOf(text.slice(position, end)))
    position = skip(BLANKS, text, end)
  }
  return words.length === 0 ? undefined : words
}

/** Is the word `NAME=value`, as it may stand before a name? */
export function isAssignment(word: ShellWord): boolean {
  return /^\w+=/u.test(word.text)
}

/** A word that is known whole. */
export function knownWord(value: string, text = value): ShellWord {
  return { text, value, pattern: value, keepsItsStart: true }
}

function wordOf(text: string): ShellWord {
  const quoted = /^(?<before>[^"']*)(?<quote>["'])(?<value>.*)\k<quote>$/u.exec(text)?.groups
  return knownWord(quoted === undefined ? text : `${quoted['before']}${quoted['value']}`, text)
}

/** Where a match of the sticky pattern at `position` ends; `position` itself when there is none. */
function skip(pattern: RegExp, text: string, position: number): number {
  pattern.lastIndex = position
  return position + (pattern.exec(text)?.[0].length ?? 0)
}
