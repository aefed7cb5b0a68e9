/** A tool result that is too long for a request is stored whole, and replaced by its head, its tail and a reference. */
import type { BlobStore } from '../../journal/blob-store.ts'
import type { SessionPaths } from '../../journal/paths.ts'
import type { ResultContent } from '../../machines/agent/messages.ts'

const KEPT_CHARS = 4_000

/** The content as the model gets it: whole up to `maxChars` UTF-16 units. The whole text stays readable at the path it names. */
export async function capContent(
  content: ResultContent,
  blobs: BlobStore,
  paths: SessionPaths,
  maxChars: number,
): Promise<ResultContent> {
  if (typeof content !== 'string' || content.length <= maxChars) return content
  const hash = await blobs.put(content)
  const kept = Math.min(KEPT_CHARS, Math.floor(maxChars / 4))
  const head = cut(content, 0, kept)
  const tail = cut(content, content.length - kept, content.length)
  const left = content.length - head.length - tail.length
  return (
    `${head}\n\n[… ${left} characters left out: this result has ${content.length}. ` +
    `All of it is in ${paths.blob(hash)}; read the part you need …]\n\n${tail}`
  )
}

/** A slice that never ends in half a surrogate pair. */
function cut(text: string, from: number, to: number): string {
  const isLow = (at: number) => (text.charCodeAt(at) & 0xfc00) === 0xdc00
  return text.slice(isLow(from) ? from + 1 : from, isLow(to) ? to - 1 : to)
}
