/** The order of lines: `seq` goes up without a step back, and conversation lines hang on each other in one chain. */
import { lastLineOf } from '../log-entry.ts'
import type { Law } from './law.ts'

/** No two events stand at one position. That none is missing is what the decoder sees. */
export function seqLaw(): Law {
  let last = -1
  return {
    name: 'seq',
    see: ({ recorded }) => {
      if (recorded.seq <= last) return `it stands at position ${recorded.seq}, behind position ${last}`
      last = lastLineOf(recorded)
      return undefined
    },
  }
}

/** Each conversation line names the one before it; the first of a log names none. */
export function chainLaw(): Law {
  /** Undefined: the line before is lost, so that nobody can tell. */
  let last: string | null | undefined = null
  return {
    name: 'chain',
    see: ({ recorded: { lines }, parents }) => {
      for (const [i, line] of lines.entries()) {
        const parent = parents?.[i]
        if (parent !== undefined && last !== undefined && parent !== last) {
          return `line ${line} hangs on ${parent ?? 'nothing'}, the line before it is ${last ?? 'none'}`
        }
        last = line
      }
      return undefined
    },
    gap: (line) => {
      last = line
    },
  }
}
