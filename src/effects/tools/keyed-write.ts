/**
 * What Write and Edit share: the intent by hash, and the write that happens at most once by it.
 *
 * W1 `intend` writes nothing. It names the file, the hash of its content now and the hash it is going to have.
 * W2 At the start of a body, first time or after a crash: the file has `after` → done, nothing is written; it has
 *    `before` → it is written; anything else → refused, because somebody changed it in between.
 * W3 A file that this agent has not seen in its present content is not replaced.
 */
import * as z from 'zod'
import { type Place, placeForWriting } from './confinement.ts'
import {
  type FileContent,
  hashOf,
  oneAtATime,
  readPlainFile,
  removeLeftover,
  replaceFile,
} from './file-access.ts'
import { counted } from './lines.ts'
import { failuresAsRefusals } from './refusals.ts'
import type { Intent, ToolContext } from './tool.ts'
import { ToolRefusal } from './tool-refusal.ts'

const MAX_BYTES = 20 * 1024 * 1024

/** What the log keeps of a write before it is done. */
const WriteIntent = z.object({
  /** Resolved path. */
  path: z.string(),
  /** Hash of the content now; null: there is no file. */
  before: z.string().nullable(),
  after: z.string(),
})
type WriteIntent = z.infer<typeof WriteIntent>

/** Makes the new content from the old (null: no file). Throws a {@link ToolRefusal} when it cannot be made. */
export type Change = (place: Place, old: Buffer | null) => Buffer | Promise<Buffer>

/** W1 and W3. Throws a {@link ToolRefusal} when the change cannot be made. */
export function intendChange(path: string, change: Change, context: ToolContext): Promise<Intent> {
  return failuresAsRefusals(async () => {
    const place = await placeForWriting(path, context)
    const old = await currentContent(place)
    refuseUnseen(place, old, context)
    const intent: WriteIntent = {
      path: place.real,
      before: old ? hashOf(old.bytes) : null,
      after: hashOf(await change(place, old?.bytes ?? null)),
    }
    return intent
  })
}

/** What a write came to. */
export interface Written {
  readonly place: Place
  /** There was no file before. */
  readonly isNew: boolean
  /** The content that was replaced; null: there was none; undefined: the work was found done, nobody knows. */
  readonly before: Buffer | null | undefined
  readonly after: Buffer
  readonly hash: string
  /** Further names (hard links) that the file had; they keep the old content. */
  readonly otherNames: number
}

/** What a result says of them; nothing when there are none. */
export function otherNamesNote({ otherNames }: Written): string {
  if (otherNames === 0) return ''
  return ` The file had ${counted(otherNames, 'further name')} (hard links), which still ${otherNames === 1 ? 'has' : 'have'} the old content.`
}

/** W2. Throws a {@link ToolRefusal} when the file is neither as it was nor as it should become. */
export async function applyChange(path: string, change: Change, context: ToolContext): Promise<Written> {
  const intent = WriteIntent.parse(context.intent ?? (await intendChange(path, change, context)))
  return oneAtATime(intent.path, async () => {
    const place = await placeForWriting(path, context)
    if (place.real !== intent.path) {
      throw new ToolRefusal(
        `${place.named} led to ${intent.path} and leads to ${place.real} now. Nothing was written.`,
      )
    }
    if (context.isRepeat) await removeLeftover(place.real, context.key)
    const old = await currentContent(place)
    const hash = old ? hashOf(old.bytes) : null
    const isNew = intent.before === null
    if (old && hash === intent.after) {
      return { place, isNew, before: undefined, after: old.bytes, hash: intent.after, otherNames: 0 }
    }
    if (hash !== intent.before) throw changedInBetween(place, old)
    const before = old?.bytes ?? null
    const after = await change(place, before)
    if (hashOf(after) !== intent.after) {
      throw new Error(
        `The change to ${place.real} gave another content than was intended (call ${context.callId}).`,
      )
    }
    if (context.signal.aborted) throw new ToolRefusal(`Interrupted. ${place.named} was not written.`)
    await replaceFile({ real: place.real, bytes: after, replaces: old, key: context.key })
    return { place, isNew, before, after, hash: intent.after, otherNames: old ? old.names - 1 : 0 }
  })
}

async function currentContent(place: Place): Promise<FileContent | null> {
  if (place.kind === 'folder') throw new ToolRefusal(`${place.named} is a folder, not a file.`)
  if (place.kind === 'missing') return null
  return readPlainFile(place.real, MAX_BYTES)
}

function refuseUnseen(place: Place, old: FileContent | null, context: ToolContext): void {
  if (old === null) return
  const seen = context.seen.hashOf(place.real)
  if (seen === undefined) {
    throw new ToolRefusal(`${place.named} exists and you have not read it. Read it first, then change it.`)
  }
  if (seen === null) {
    throw new ToolRefusal(`${place.named} was created by somebody else in the meantime. Read it first.`)
  }
  if (seen !== hashOf(old.bytes)) {
    throw new ToolRefusal(
      `${place.named} was changed by somebody else since you last saw it. Read it again, then make your change.`,
    )
  }
}

function changedInBetween(place: Place, old: FileContent | null): ToolRefusal {
  const what = old === null ? 'was deleted' : 'was changed by somebody else'
  return new ToolRefusal(
    `${place.named} ${what} between the moment this call was prepared and now. Nothing was written. Read it again, then decide.`,
  )
}
