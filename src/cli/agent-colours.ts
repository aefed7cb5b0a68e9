/** The colours that definitions name, as terminals have them. */
import type { Colours } from './colours.ts'

/** Paints a text that holds no colours yet. */
type Paint = (text: string) => string

const asItIs: Paint = (text) => text

/** The paint for the `color` of a definition; one that changes nothing for other words, and where colours are off. */
export function paintFor(color: string | undefined, colours: Colours): Paint {
  switch (color?.toLowerCase()) {
    case 'red':
      return colours.red
    case 'blue':
      return colours.blue
    case 'green':
      return colours.green
    case 'yellow':
      return colours.yellow
    case 'purple':
      return colours.magenta
    case 'pink':
      return colours.magentaBright
    case 'cyan':
      return colours.cyan
    case 'orange':
      // None of the sixteen that every terminal has; nearly all know these 256.
      return colours.isColorSupported ? (text) => `\x1b[38;5;208m${text}\x1b[39m` : asItIs
    default:
      return asItIs
  }
}
