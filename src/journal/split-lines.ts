/**
 * Cuts chunks of bytes into lines, with bounded memory: at most one line is kept, and none above the cap.
 */

const LINE_FEED = 0x0a

/** One line of a file. `to` is behind its line feed, if it has one. */
export interface FileLine {
  readonly from: number
  readonly to: number
  /** Without the line feed; undefined for a line above the cap. */
  readonly bytes: Uint8Array | undefined
  /** Only the last line of a file can lack its line feed. */
  readonly terminated: boolean
}

/** The lines of a file that is read from byte `offset` on. */
export async function* splitLines(
  chunks: AsyncIterable<Uint8Array>,
  maxLineBytes: number,
  offset = 0,
): AsyncGenerator<FileLine> {
  let parts: Uint8Array[] = []
  let kept = 0
  let from = offset
  let at = offset
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      const to = at + end + 1
      const length = to - 1 - from
      const last = chunk.subarray(start, end)
      const bytes =
        length > maxLineBytes
          ? undefined
          : parts.length === 0
            ? last
            : Buffer.concat([...parts, last], length)
      yield { from, to, bytes, terminated: true }
      parts = []
      kept = 0
      start = end + 1
      from = to
    }
    at += chunk.length
    const rest = chunk.subarray(start)
    if (rest.length === 0) continue
    kept += rest.length
    if (kept > maxLineBytes) parts = []
    else parts.push(rest)
  }
  if (at > from) {
    yield { from, to: at, bytes: kept > maxLineBytes ? undefined : Buffer.concat(parts), terminated: false }
  }
}
