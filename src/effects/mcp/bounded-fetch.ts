/**
 * `fetch` for the SDK's HTTP transports, which read whatever a server sends and do not notice when the stream
 * that a call waits on ends without its answer.
 */

export interface BoundedFetchOptions {
  /** Bytes of one answer, or of one event of a stream. */
  readonly maxBytes: number
  /** The stream that should have brought the answer to a request has ended, and cannot be taken up again. */
  onStreamEnded(requestId: string | number): void
}

/** Answers beyond the bound fail where they are read. */
export function createBoundedFetch({
  maxBytes,
  onStreamEnded,
}: BoundedFetchOptions): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async (url, init) => {
    const response = await fetch(url, init)
    // Redirects have to stay as they are: the SDK reads their address.
    if (response.body === null || (response.status >= 300 && response.status < 400)) return response
    const isStream = response.headers.get('content-type')?.includes('text/event-stream') === true
    const requestId = isStream ? requestIdOf(init) : undefined
    const watch = createStreamWatch(isStream)
    const reader = response.body.getReader()
    const ended = (): void => {
      if (requestId !== undefined && !watch.isResumable()) onStreamEnded(requestId)
    }
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (done) {
            controller.close()
            return ended()
          }
          if (watch.see(value) > maxBytes) throw new Error(`an answer has more than ${maxBytes} bytes`)
          controller.enqueue(value)
        } catch (error) {
          controller.error(error)
          ended()
          await reader.cancel().catch(() => {})
        }
      },
      cancel: (reason) => reader.cancel(reason),
    })
    const { status, statusText, headers } = response
    return new Response(body, { status, statusText, headers })
  }
}

/** The id of the JSON-RPC request in the body; undefined for notifications, answers and requests without body. */
function requestIdOf(init: RequestInit | undefined): string | number | undefined {
  if (typeof init?.body !== 'string') return undefined
  // Our own JSON, made by the SDK.
  const message: unknown = JSON.parse(init.body)
  if (typeof message !== 'object' || message === null || !('id' in message) || !('method' in message))
    return undefined
  return typeof message.id === 'string' || typeof message.id === 'number' ? message.id : undefined
}

const [LF, CR] = [0x0a, 0x0d]
const ID_FIELD = 'id:'

interface StreamWatch {
  /** Takes a chunk; returns the most bytes that belong together: the whole answer, or one event of a stream. */
  see(chunk: Uint8Array): number
  /** Whether an event had an id: the SDK asks for the rest of such a stream itself. */
  isResumable(): boolean
}

function createStreamWatch(isStream: boolean): StreamWatch {
  let size = 0
  let lineLength = 0
  let lineStart = ''
  let previous = 0
  let hasId = false
  return {
    isResumable: () => hasId,
    see(chunk) {
      if (!isStream) {
        size += chunk.length
        return size
      }
      let most = 0
      for (const byte of chunk) {
        size++
        most = Math.max(most, size)
        const isSecondHalf = byte === LF && previous === CR
        previous = byte
        if (isSecondHalf) continue
        if (byte !== LF && byte !== CR) {
          lineLength++
          if (lineLength <= ID_FIELD.length) lineStart += String.fromCharCode(byte)
          continue
        }
        if (lineLength === 0) size = 0
        if (lineStart === ID_FIELD) hasId = true
        lineLength = 0
        lineStart = ''
      }
      return most
    },
  }
}
