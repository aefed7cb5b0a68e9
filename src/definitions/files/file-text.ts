/**
 * From bytes to text: encoding, byte order marks, line ends.
 *
 * T1. Equal texts come out equal, whatever their line ends and marks are: lines end with `\n` only.
 * T2. Nothing is lost silently: what is no text becomes U+FFFD and is counted.
 * T3. What comes out can be sent and stored: no NUL, no lone surrogate.
 */

/** The longest file that is read, in bytes (of a string: in code units). */
export const MAX_FILE_BYTES = 1_048_576

/** A file as text, or how large it is when that is too much. */
export type FileText =
  | {
      readonly kind: 'text'
      readonly text: string
      /** What had to be done to read it, in words. */
      readonly damages: readonly Damage[]
    }
  | { readonly kind: 'too-large'; readonly size: number }

/** Something in the bytes that is no text. */
export interface Damage {
  readonly problem: string
  /** Of the first one. */
  readonly line?: number
}

/** Reads a file's content. Never throws. */
export function readFileText(content: Uint8Array | string): FileText {
  if (content.length > MAX_FILE_BYTES) return { kind: 'too-large', size: content.length }
  const {
    text: raw,
    encoding,
    isDamaged,
  } = typeof content === 'string' ? repaired(content) : decoded(content)
  const unmarked = raw.replace(/^\ufeff+/, '')
  const lines = unmarked.includes('\r') ? unmarked.replace(/\r\n?/g, '\n') : unmarked
  const hasNul = lines.includes('\0')
  const text = hasNul ? lines.replaceAll('\0', '\ufffd') : lines
  const damages: Damage[] = []
  if (encoding !== undefined)
    damages.push({ problem: `The file is saved as ${encoding}; it was read, but save it as UTF-8` })
  if (hasNul || isDamaged) {
    const problem = 'The file holds characters that are no text (NUL, or bytes that are not UTF-8)'
    damages.push({ problem, line: lineAt(text, text.indexOf('\ufffd')) })
  }
  return { kind: 'text', text, damages }
}

interface Decoded {
  readonly text: string
  /** Where it is not UTF-8. */
  readonly encoding?: string
  /** Did something become U+FFFD that was not written as such? */
  readonly isDamaged: boolean
}

/** Part of every Node that we run on, though not yet of the library types that we compile with (ES2024). */
type RepairableString = string & { toWellFormed(): string }

function repaired(text: string): Decoded {
  // The method is there, see above; the compiler does not know it yet.
  const wellFormed = (text as RepairableString).toWellFormed()
  return { text: wellFormed, isDamaged: wellFormed !== text }
}

function decoded(bytes: Uint8Array): Decoded {
  const [first, second] = bytes
  // What some editors and shells on Windows write.
  if (first === 0xff && second === 0xfe) return { ...decodedAs('utf-16le', bytes), encoding: 'UTF-16' }
  if (first === 0xfe && second === 0xff) return { ...decodedAs('utf-16be', bytes), encoding: 'UTF-16' }
  return decodedAs('utf-8', bytes)
}

/** Making one costs as much as decoding a file. It holds no state: each text is decoded as a whole. */
const strictUtf8 = new TextDecoder('utf-8', { fatal: true })

function decodedAs(encoding: string, bytes: Uint8Array): Decoded {
  try {
    const decoder = encoding === 'utf-8' ? strictUtf8 : new TextDecoder(encoding, { fatal: true })
    return { text: decoder.decode(bytes), isDamaged: false }
  } catch {
    return { text: new TextDecoder(encoding).decode(bytes), isDamaged: true }
  }
}

/** The line, from 1, that a position is on. */
function lineAt(text: string, position: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at !== -1 && at < position; at = text.indexOf('\n', at + 1)) line += 1
  return line
}
