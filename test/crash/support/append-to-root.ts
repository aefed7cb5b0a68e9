/** Puts facts into a root's log, as an engine does that dies right after it. */
import { appendFileSync } from 'node:fs'
import { encode } from '../../../src/journal/encode.ts'
import { createFileStorage } from '../../../src/journal/file-storage.ts'
import { loadLog } from '../../../src/journal/read-log.ts'
import type { EventDraft } from '../../../src/machines/agent/events.ts'
import type { Stage } from './stage.ts'

export async function appendToRoot({ paths }: Stage, ...drafts: readonly EventDraft[]): Promise<void> {
  const log = await loadLog(createFileStorage({ durability: 'write' }), paths.rootLog)
  if (log.identity === undefined) throw new Error(`nobody has spoken in ${paths.rootLog}`)
  let { cursor } = log
  for (const draft of drafts) {
    const encoded = encode(log.identity, cursor, draft, Date.now(), () => crypto.randomUUID())
    appendFileSync(paths.rootLog, encoded.text)
    cursor = encoded.cursor
  }
}
