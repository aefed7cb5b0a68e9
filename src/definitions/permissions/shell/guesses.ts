/**
 * Which words somebody might run besides the commands that are there to be seen: `python -c 'os.system("rm x")'`,
 * `hyperfine 'rm x'`, a here-document for a shell. For deny rules only: they err on the side of yes.
 */
import { takesDataOnly } from './data-only.ts'
import { type ShellCommand, type ShellReading, UNKNOWN } from './reading.ts'

/** What is unknown in a text is unknown in the code that it is. */
const SOME_VARIABLE = '$' + '{_}'
const BETWEEN_WORDS = new RegExp(`[^\\p{L}\\p{N}_./*?${UNKNOWN}-]+`, 'u')

/** A text that may be code is looked into where something in the line may run it, or where it is plainly code. */
export function guessesIn(
  commands: readonly ShellCommand[],
  texts: readonly string[],
  read: (code: string) => ShellReading,
): readonly (readonly string[])[] {
  const isData = commands.every(takesDataOnly)
  const candidates = [...texts, ...(isData ? [] : commands.flatMap(textsOf))]
  return candidates.filter((text) => !isData || /\$\(|`/u.test(text)).flatMap((text) => guessesOf(text, read))
}

/** The words of all commands in a reading, one list a command. */
export function wordsIn(commands: readonly ShellCommand[]): readonly (readonly string[])[] {
  return commands.flatMap((command) => [
    command.words.map(({ pattern }) => pattern),
    ...(command.runs?.kind === 'known' ? wordsIn(command.runs.commands) : []),
  ])
}

/** What of a command's words is more than one word, or the value of an option. */
function textsOf({ words }: ShellCommand): readonly string[] {
  return words.slice(1).flatMap(({ pattern }) => {
    const value = /^-[^=]*=(?<value>.*)$/su.exec(pattern)?.groups?.['value']
    // `-c'rm x'`
    const joined = /^-\w(?<value>.*\s.*)$/su.exec(pattern)?.groups?.['value']
    const whole = /[^\w./:@%+=,-]/u.test(pattern) ? pattern : undefined
    return [whole, value, joined].filter((text) => text !== undefined)
  })
}

function guessesOf(text: string, read: (code: string) => ShellReading): readonly (readonly string[])[] {
  const loose = text.split(BETWEEN_WORDS).filter((word) => word !== '')
  // Of a text in another language only its words are known, of one in this its commands too.
  const reading = /[\s;&|<>()$`'"\\{}]/u.test(text)
    ? read(text.replaceAll(UNKNOWN, SOME_VARIABLE))
    : undefined
  return [
    ...(loose.length === 0 ? [] : [loose]),
    ...(reading?.kind === 'understood' ? [...wordsIn(reading.commands), ...reading.guesses] : []),
  ]
}
