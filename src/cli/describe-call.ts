/** A tool call as a terminal shows it. */
import { callInWords } from '../definitions/call-in-words.ts'
import { oneLine } from './format.ts'

/** The call in words, on one line. Paths below `cwd` are shortened. */
export const describeCall = (name: string, input: unknown, cwd?: string): string =>
  oneLine(callInWords(name, input, cwd), 120)
