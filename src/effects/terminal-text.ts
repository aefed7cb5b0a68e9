/** What programs write for a terminal, as text. */

const ESC = '\u001b'
const BEL = '\u0007'
/** Colours, moves of the cursor, titles and links; a sequence that is cut off goes to its end. */
const SEQUENCES = new RegExp(
  `${ESC}(?:\\[[0-?]*[ -/]*[@-~]|\\][^${BEL}${ESC}]*(?:${BEL}|${ESC}\\\\)?|.)?`,
  'g',
)

/** A text without the sequences that steer a terminal. Single control characters stay. */
export const withoutSequences = (text: string): string => text.replace(SEQUENCES, '')
