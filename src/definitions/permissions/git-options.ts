/**
 * Options with which git commands that only read write a file or start a program: `git log --output=x`.
 *
 * Who allows `git log` means reading, so an allow rule that ends in a star does not cover them. This list knows
 * git only; the general answer, what each option of each program does, is for the classifier to come.
 */

/**
 * `output` writes a file; `ext-diff` and `textconv` run programs that the repository's settings name;
 * `open-files-in-pager`, `-O` for short, runs any.
 */
const WRITING = ['output', 'ext-diff', 'textconv', 'open-files-in-pager']

/** Is it a git command with such an option among its words from `from` on? The words as a shell command has them. */
export function hasWritingOption(words: readonly string[], from: number): boolean {
  const values = words.map((word) => word.replaceAll(/["']/gu, ''))
  if (!/(?:^|\/)git$/u.test(values[0] ?? '')) return false
  // Short options of `git grep` may stand in one word. Elsewhere the letter may be part of a value, as in `-SFOO`.
  const short = values.includes('grep') ? /^-[^-]*O/u : /^-O/u
  return values.slice(from).some((value) => short.test(value) || isWritingLongOption(value))
}

/** Git takes the start of an option for the option. */
function isWritingLongOption(value: string): boolean {
  const name = /^--(?<name>[^=]+)/u.exec(value)?.groups?.['name']
  return name !== undefined && WRITING.some((option) => option.startsWith(name))
}
