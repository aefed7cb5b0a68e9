/** Line ↔ event: what writers and readers of logs need, from one place. */
export type { LogCursor, LogIdentity } from './cursor.ts'
export { START_CURSOR } from './cursor.ts'
export { createDecoder } from './decode.ts'
export type { Encoded } from './encode.ts'
export { encode } from './encode.ts'
export type { LogItem, Span } from './log-items.ts'
