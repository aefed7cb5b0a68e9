/**
 * Envelopes: elements that mark a text in a conversation as put there by the engine, and from where.
 *
 * E1 Only {@link envelope} makes one, and only with a name of {@link ENVELOPE_NAMES}.
 * E2 No text inside can close, open or forge one: each `<` that begins a tag with one of those names becomes `&lt;`.
 *    Spelling does not help it: case, blanks, invisible characters, other dashes and wide brackets are seen through.
 * E3 All other text stays as it is. Files are full of markup that agents are to copy (`<my-element>`, `Map<K, V>`);
 *    escaping every `<` would spoil it, so names are reserved instead.
 */
import { printable } from './text.ts'

/** The names of elements that only the engine writes. Whoever adds an envelope adds its name here. */
export const ENVELOPE_NAMES = [
  'agent-memory',
  'agent-message',
  'agent-report',
  'agent-step',
  'agent-task',
  'claude-md',
  'conversation-summary',
  'fork-directive',
  'git-status',
  'hook-output',
  'loaded-skill',
  'proposed-call',
  'security-warning',
  'system-reminder',
  'task-notification',
  'teammate-message',
  'user-words',
] as const

/** The name of an element that only the engine writes. `fork_directive` is the same as `fork-directive`. */
export type EnvelopeName = (typeof ENVELOPE_NAMES)[number]

// A name letter by letter, so that an invisible character between two of them hides nothing. No letter and no dash
// is in `\p{C}`, so there is never a second way to match and the time is linear.
const NAMES = ENVELOPE_NAMES.map((name) =>
  [...name].map((letter) => (letter === '-' ? '[_\\p{Pd}]' : letter)).join('\\p{C}*'),
).join('|')
const FORGED = new RegExp(`[<\\uFF1C\\uFE64](?=[\\s\\p{C}/\\\\]*(?:${NAMES}))`, 'giu')

/** The text with every tag of an envelope in it made plain text. Applied twice, it does no more than once. */
export function inert(text: string): string {
  return text.replace(FORGED, '&lt;')
}

/** A text in an envelope, on lines of its own. `isRaw`: the text is the engine's and holds envelopes already. */
export function envelope(
  name: EnvelopeName,
  text: string,
  options: { readonly attributes?: Readonly<Record<string, string>>; readonly isRaw?: boolean } = {},
): string {
  const attributes = Object.entries(options.attributes ?? {}).map(
    ([key, value]) => ` ${key}="${attributeValue(value)}"`,
  )
  return `<${name}${attributes.join('')}>\n${options.isRaw === true ? text : inert(text)}\n</${name}>`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  // Wide brackets, as in E2.
  '\uFF1C': '&lt;',
  '\uFE64': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
}

function attributeValue(value: string): string {
  return printable(value).replace(/[&<>"\uFF1C\uFE64]/g, (character) => ENTITIES[character] ?? character)
}
