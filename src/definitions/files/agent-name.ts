/** Names of agents: what they may be, as they end up in folder names, rules and messages. */
import { type FileNotes, type Place, quoted } from './file-notes.ts'

const LONGEST_NAME = 100

/** Characters that show as something else than they are, or not at all. */
const INVISIBLE = /[\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu

/**
 * The name as it may be used: without control characters, and no path to anywhere. Undefined where nothing is left.
 * A `/` between words stays, with a warning.
 */
export function usableName(written: string, notes: FileNotes, place: Place): string | undefined {
  const trimmed = written.trim()
  const name = safeName(trimmed)
  // The one text that is no key like others in the tables of many programs.
  if (name === '' || name === '__proto__') return undefined
  if (name !== trimmed) {
    const message = `The name ${quoted(trimmed)} was made ${quoted(name)}: names hold no control characters, begin with no "/", "~" or ".", lead nowhere ("..") and are at most ${LONGEST_NAME} characters long.`
    notes.warn('name-changed', message, place)
  } else if (/[/,]/.test(name)) {
    const message = `The name ${quoted(name)} holds a "/" or ",", which folder names and rules such as Agent(a, b) cannot. Use letters, digits and dashes.`
    notes.warn('name-unusual', message, place)
  }
  return name
}

/** The name that a file gives an agent: its own, without folders and ending. */
export function nameOfFile(path: string): string {
  return path
    .slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1)
    .replace(/\.(?:md|markdown)$/i, '')
}

function safeName(text: string): string {
  // As nearly all are.
  if (/^[\w-]{1,100}$/.test(text)) return text
  const visible = text.replace(INVISIBLE, '-').replaceAll('\\', '-')
  const isPath = /^[/~.]/.test(visible) || visible.includes('..')
  const harmless = isPath
    ? visible
        .replaceAll('/', '-')
        .replace(/\.{2,}/g, '.')
        .replace(/^[-~.]+/, '')
    : visible
  const short = Array.from(harmless.slice(0, 2 * LONGEST_NAME)).slice(0, LONGEST_NAME)
  return short.join('').trim()
}
