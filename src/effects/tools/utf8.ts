/** Text of files, so that writing it back damages nothing. */
import type { Place } from './confinement.ts'
import { ToolRefusal } from './tool-refusal.ts'

/**
 * The text of a file that is going to be changed. Strict: what is no UTF-8 would come back damaged. The byte order mark
 * stays part of the text. Throws a {@link ToolRefusal}.
 */
export function decodeStrictly(place: Place, bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new ToolRefusal(
      `${place.named} is not UTF-8 text; an edit would damage it. Use Bash with a fitting program.`,
    )
  }
}
