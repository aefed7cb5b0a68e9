/**
 * Which shell commands are so plain that reading them needs no shell: the only ones that an allow rule is
 * matched against. Everything else is undefined, whatever it may be, so that nothing passes by being misread.
 */

// Letters, digits and punctuation without meaning to a shell. `~` and `#` mean something at the start of a word
// (`~` also after `=` and `:`), so they need an ordinary character before them.
const BARE = String.raw`(?:[\p{L}\p{N}_\-./:,@%+=^]|(?<=[^\s=:])[~#])+`
// Within quotes everything that no shell expands, on one line and without invisible characters.
const SINGLE_QUOTED = String.raw`'[^'\p{C}\p{Zl}\p{Zp}]*'`
const DOUBLE_QUOTED = String.raw`"[^"$\x60\\!\p{C}\p{Zl}\p{Zp}]*"`
const QUOTED = `(?:${SINGLE_QUOTED}|${DOUBLE_QUOTED})`
// Quotes hold a whole word (`"a b"`) or the value of an option (`--grep="a b"`), never a piece of one (`g"i"t`).
const TOKEN = new RegExp(`(?:${BARE}(?:(?<==)${QUOTED})?|${QUOTED})(?= |$)`, 'uy')
const BLANKS = / */uy

/** Nobody writes a plain command of this length (UTF-16 code units). */
const MAX_LENGTH = 20_000

/**
 * The words of a single simple command, quotes kept as written; undefined for an operator, substitution,
 * expansion, redirect, wildcard, comment, escape, control character, or quotes within a word.
 */
export function simpleCommandTokens(command: string): readonly string[] | undefined {
  if (command.length > MAX_LENGTH) return undefined
  const tokens: string[] = []
  let position = skip(BLANKS, command, 0)
  while (position < command.length) {
    const end = skip(TOKEN, command, position)
    if (end === position) return undefined
    tokens.push(command.slice(position, end))
    position = skip(BLANKS, command, end)
  }
  return tokens.length === 0 ? undefined : tokens
}

/** Do the tokens start with these? Quotes count, so `'git' log` does not start with `git log`. */
export function startsWithTokens(tokens: readonly string[], prefix: readonly string[]): boolean {
  return prefix.length <= tokens.length && prefix.every((token, index) => token === tokens[index])
}

/** Where a match of the sticky pattern at `position` ends; `position` itself when there is none. */
function skip(pattern: RegExp, text: string, position: number): number {
  pattern.lastIndex = position
  return position + (pattern.exec(text)?.[0].length ?? 0)
}
