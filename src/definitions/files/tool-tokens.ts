/** Takes a list of tools apart: names with an optional specifier in brackets, between commas and blanks. */

/** The entries of a text. */
export interface ToolTokens {
  readonly tokens: readonly string[]
  /** From the name whose bracket is never closed to the end; undefined where all are closed. */
  readonly unclosed: string | undefined
}

/**
 * Splits at commas and blanks outside brackets. A bracket belongs to the name before it, also behind blanks; quotes
 * around an entry are taken off. Linear in the length of the text.
 */
export function toolTokens(text: string): ToolTokens {
  const tokens: string[] = []
  let start = -1
  let end = -1
  let depth = 0
  const close = (): void => {
    if (start !== -1) tokens.push(withoutQuotes(text.slice(start, end)))
    start = -1
  }
  for (let at = 0; at < text.length; at++) {
    const character = text[at] ?? ''
    if (depth === 0 && character === ',') {
      close()
    } else if (depth === 0 && isBlank(character)) {
      // Whether the entry ends here is seen at the next character that is no blank.
    } else {
      if (start !== -1 && depth === 0 && end < at && character !== '(') close()
      if (start === -1) start = at
      if (character === '(') depth += 1
      if (character === ')' && depth > 0) depth -= 1
      end = at + 1
    }
  }
  if (depth > 0) return { tokens, unclosed: text.slice(start) }
  close()
  return { tokens: tokens.filter((token) => token !== ''), unclosed: undefined }
}

/** The pattern knows all blanks there are; most characters need no look at it. */
function isBlank(character: string): boolean {
  return (character <= ' ' || character > '~') && /\s/.test(character)
}

function withoutQuotes(token: string): string {
  const quote = token[0]
  const isQuoted = token.length > 1 && (quote === '"' || quote === "'") && token.endsWith(quote)
  return (isQuoted ? token.slice(1, -1) : token).trim()
}
