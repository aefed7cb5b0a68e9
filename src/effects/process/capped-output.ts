/** Output of a process in bounded memory: the first and the last bytes are kept, the middle is counted. */

/** What was kept. */
interface CappedText {
  readonly text: string
  /** Bytes that are not in `text`. */
  readonly omittedBytes: number
}

/** Collects chunks as they come. */
export interface CappedOutput {
  push(chunk: Buffer): void
  /** The text so far. Both edges of the gap are on character borders, and a marker stands in the gap. */
  text(): CappedText
}

/** What stands in the gap. */
export const omissionMarker = (bytes: number): string =>
  `\n\n[… ${bytes} bytes of output left out here …]\n\n`

/** Keeps at most `maxBytes` bytes, half of them from the beginning and half from the end. */
export function createCappedOutput(maxBytes: number): CappedOutput {
  const headCap = Math.ceil(maxBytes / 2)
  const tailCap = maxBytes - headCap
  const head: Buffer[] = []
  const tail: Buffer[] = []
  let headBytes = 0
  let tailBytes = 0
  let dropped = 0

  return {
    push(chunk) {
      const forHead = chunk.subarray(0, headCap - headBytes)
      const forTail = chunk.subarray(forHead.length)
      if (forHead.length > 0) head.push(forHead)
      headBytes += forHead.length
      if (forTail.length === 0) return
      tail.push(forTail)
      tailBytes += forTail.length
      for (let first = tail[0]; first && tailBytes - first.length >= tailCap; first = tail[0]) {
        tail.shift()
        tailBytes -= first.length
        dropped += first.length
      }
    },
    text() {
      const surplus = Math.max(0, tailBytes - tailCap)
      const start = Buffer.concat(head)
      const end = Buffer.concat(tail).subarray(surplus)
      // The head runs into the tail without a gap: cutting on borders would lose a character for nothing.
      if (dropped + surplus === 0) return { text: Buffer.concat([start, end]).toString(), omittedBytes: 0 }
      const wholeStart = withoutOpenCharacter(start)
      const wholeEnd = withoutStrayContinuation(end)
      const omittedBytes =
        dropped + surplus + (start.length - wholeStart.length) + (end.length - wholeEnd.length)
      return {
        text: wholeStart.toString() + omissionMarker(omittedBytes) + wholeEnd.toString(),
        omittedBytes,
      }
    },
  }
}

const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80

/** Drops a UTF-8 character at the end that lacks bytes. */
function withoutOpenCharacter(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if (isContinuation(byte)) continue
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return length > back ? bytes.subarray(0, bytes.length - back) : bytes
  }
  return bytes
}

/** Drops the end of a UTF-8 character whose beginning is gone. */
function withoutStrayContinuation(bytes: Buffer): Buffer {
  let start = 0
  while (start < Math.min(3, bytes.length) && isContinuation(bytes[start] ?? 0)) start++
  return bytes.subarray(start)
}
