/**
 * The task of an exploring child: how the parent writes it, and how the child reads it. It is a prompt that a
 * person or another model understands as well.
 */
import type { Angle } from './angle.ts'
import { angleNamed } from './angle.ts'
import type { Wanted } from './rank.ts'
import type { TellingWord } from './words.ts'
import { tellingWord, tellingWords } from './words.ts'

export interface Task {
  /** Absent: all of them, one agent alone. */
  readonly angle: Angle | undefined
  readonly words: readonly TellingWord[]
  /** What kind of thing would answer the question, where it shows. */
  readonly wanted?: Wanted | undefined
}

const INSTRUCTION: Readonly<Record<Angle, string>> = {
  definitions:
    'Find where the things that these words name are defined: functions, classes, types, constants, and files named after them.',
  usages:
    'Find the lines of code where the things that these words name are used, nearest where several of the words stand together.',
  'docs-and-tests': 'Find what the documentation and the tests say of the things that these words name.',
}

const ASKED = 'A question about the code base in the working directory: '

/** The prompt for one child. */
export function taskPrompt(question: string, angle: Angle, words: readonly TellingWord[]): string {
  const asked = question.replace(/\s+/g, ' ').trim()
  return [
    `${ASKED}${asked.length > 400 ? `${asked.slice(0, 400)}…` : asked}`,
    INSTRUCTION[angle],
    'Report each place as path:line: text, with nothing that you have not read yourself.',
    '',
    `Angle: ${angle}`,
    `Search words: ${words.map(written).join(', ')}`,
  ].join('\n')
}

/** The task in a prompt. A prompt without the two lines is a question by itself. */
export function readTask(prompt: string): Task {
  const angle = angleNamed(/^Angle: (.+)$/m.exec(prompt)?.[1] ?? '')
  const list = /^Search words: (.+)$/m.exec(prompt)?.[1]
  const asked = prompt.startsWith(ASKED) ? (prompt.slice(ASKED.length).split('\n')[0] ?? '') : prompt
  return { angle, words: list === undefined ? tellingWords(prompt) : read(list), wanted: wantedBy(asked) }
}

/** «how does …», «which function …» ask for something that does; «which type …» for something that is. Only the question tells: the words have lost it. */
export function wantedBy(question: string): Wanted | undefined {
  if (/\b(?:tests?|tested)\b/i.test(question)) return 'test'
  if (
    /\b(?:class|type|interface|struct|enum|constant|event|schema|default|limit|option|setting)s?\b/i.test(
      question,
    )
  )
    return 'shape'
  return /^\s*(?:how|when|why)\b|\b(?:function|method|who|what happens)\b|\b(?:is|are|gets?)\b.* \w+(?:ed|en)\b/i.test(
    question,
  )
    ? 'behaviour'
    : undefined
}

/** A word as a person marks it: names in backticks, literal text in quotation marks. */
export function written(word: TellingWord): string {
  if (word.kind === 'name' || word.kind === 'path') return `\`${word.text}\``
  return word.kind === 'quote' ? `"${word.text}"` : word.text
}

function read(list: string): readonly TellingWord[] {
  return [...list.matchAll(/`([^`]+)`|"([^"]+)"|([^,`"\s][^,`"]*)/g)].flatMap(([, name, quote, plain]) => {
    // Names and paths share the backticks: what a question would make of the text tells them apart.
    if (name !== undefined) return tellingWords(`\`${name}\``)
    const word = quote !== undefined ? tellingWord('quote', quote) : tellingWord('word', (plain ?? '').trim())
    return word === undefined ? [] : [word]
  })
}
