/** Cuts what a server writes into lines, in bounded memory and linear time. */

/** Takes chunks as they come. */
export interface LineCutter {
  /** False when a line has outgrown its bound: nothing of it is kept, and no more should be pushed. */
  push(chunk: Buffer): boolean
}

const LINE_FEED = 0x0a

/** Hands each whole line on, without its end. A line may have at most `maxBytes` bytes. */
export function createLineCutter(maxBytes: number, onLine: (line: string) => void): LineCutter {
  let parts: Buffer[] = []
  let size = 0
  return {
    push(chunk) {
      let start = 0
      for (;;) {
        const end = chunk.indexOf(LINE_FEED, start)
        const part = chunk.subarray(start, end < 0 ? undefined : end)
        size += part.length
        if (size > maxBytes) {
          parts = []
          return false
        }
        parts.push(part)
        if (end < 0) return true
        const line = Buffer.concat(parts).toString()
        parts = []
        size = 0
        start = end + 1
        onLine(line.endsWith('\r') ? line.slice(0, -1) : line)
      }
    },
  }
}
