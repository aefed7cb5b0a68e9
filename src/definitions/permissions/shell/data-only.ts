/** Commands that never run what they are given. A denied name among their words is a text, not a command. */
import { hiddenWord } from './hidden-words.ts'
import type { ShellCommand } from './reading.ts'
import { programOf } from './runners.ts'

const DATA_ONLY: ReadonlySet<string> = new Set(
  'basename cat cd cmp cp cut date dirname echo egrep fgrep grep head ls mkdir mv printf pwd readlink realpath seq sleep stat tail touch tr wc which'.split(
    ' ',
  ),
)

/** Does the command take its words for nothing but data? */
export function takesDataOnly({ words, isInert, runs }: ShellCommand): boolean {
  const name = words[0]?.value
  if (name === undefined || runs !== undefined) return false
  const program = programOf(name)
  return isInert || DATA_ONLY.has(program) || (program === 'git' && hiddenWord(words, 1) === undefined)
}
