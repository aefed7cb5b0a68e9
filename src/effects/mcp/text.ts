/** Text that comes from a server, made fit for messages and requests. */
import { stripVTControlCharacters } from 'node:util'

const REPLACEMENT = '\ufffd'

/** Without lone surrogates. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, REPLACEMENT)
}

/** At most `length` UTF-16 units, never half a character, with a sign where something is missing. */
export function capped(text: string, length: number): string {
  const fit = wellFormed(text)
  return fit.length <= length ? fit : `${wellFormed(fit.slice(0, length - 1)).replace(/\ufffd$/, '')}…`
}

/** A piece of foreign text for one line of a message: no control sequences, no line breaks, not long. */
export function quoted(text: string, length: number): string {
  return capped(
    stripVTControlCharacters(text)
      .replace(/\p{Cc}+/gu, ' ')
      .trim(),
    length,
  )
}
