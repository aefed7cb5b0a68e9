/** The text of a page, by the character set that it says it has. */

/** A text, and a note where something about it had to be guessed. */
export interface DecodedText {
  readonly text: string
  readonly note: string | undefined
}

/** Bytes at the start of a page in which it may name its character set: what browsers look at. */
const PRESCAN = 1024

/** Decodes by byte order mark, then by the header, then by what an HTML page says itself, else as UTF-8. */
export function decodeText(bytes: Buffer, contentType: string, isHtml: boolean): DecodedText {
  const label =
    markOf(bytes) ?? charsetIn(contentType) ?? (isHtml ? charsetOfPage(bytes) : undefined) ?? 'utf-8'
  try {
    return { text: new TextDecoder(label).decode(bytes), note: undefined }
  } catch {
    return {
      text: bytes.toString(),
      note: `[The character set "${label.slice(0, 40)}" is unknown; read as UTF-8.]`,
    }
  }
}

function markOf(bytes: Buffer): string | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8'
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be'
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  return undefined
}

const charsetIn = (text: string): string | undefined => /charset\s*=\s*["']?([^\s"';>]+)/i.exec(text)?.[1]

function charsetOfPage(bytes: Buffer): string | undefined {
  const start = bytes.toString('latin1', 0, PRESCAN)
  return /<meta[^>]*?charset\s*=\s*["']?([^\s"';>]+)/i.exec(start)?.[1]
}
