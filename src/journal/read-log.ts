/**
 * Reading a log: streaming, with bounded memory, over whatever a crash or a disk has left.
 *
 * The last line may lack its line feed. If it is a whole line all the same, it counts: the next append puts a line
 * feed in front of itself, and from then on every reader sees that line as a good one; a writer that had not
 * counted it would have used its position again. Anything else at the end is torn: dropped, reported, and left in
 * place, where the next append makes it a damaged line that is missing nothing.
 */
import type { Recorded } from '../machines/agent/events.ts'
import type { LogCursor, LogIdentity } from './cursor.ts'
import type { Decoder, DecoderOptions } from './decode.ts'
import { createDecoder } from './decode.ts'
import { parseLine } from './line.ts'
import type { DamageItem, LogItem, TornItem } from './log-items.ts'
import type { FileLine } from './split-lines.ts'
import { splitLines } from './split-lines.ts'
import type { Storage } from './storage.ts'

/** Longest line that is read, in bytes. Far above what any tool may return; a longer one is damage. */
export const MAX_LINE_BYTES = 64 * 1024 * 1024

export interface ReadOptions extends DecoderOptions {
  /** Byte to start at: the beginning of a line, where the log stands at `cursor`. Default 0. */
  readonly offset?: number
  readonly maxLineBytes?: number
}

/** Everything in a log, in order. Throws a `StorageError` (`not-found`, …) when the file cannot be read. */
export async function* readLog(
  storage: Storage,
  path: string,
  options: ReadOptions = {},
): AsyncGenerator<LogItem> {
  yield* read(storage, path, options, createDecoder(options))
}

/** A log, read to its end. */
export interface LoadedLog {
  readonly events: readonly Recorded[]
  /** Where writing goes on. */
  readonly cursor: LogCursor
  /** In the order of the file. What has `missing` 0 is harmless: leftovers of a torn write. */
  readonly damage: readonly DamageItem[]
  readonly torn: TornItem | undefined
  /** Lines of replies that were cut off. */
  readonly abandoned: number
  /** Lines of other programs or newer versions. */
  readonly foreign: number
  /** Who wrote its last conversation line; undefined when there is none. */
  readonly identity: LogIdentity | undefined
}

/** Reads a whole log for a resume. Throws as {@link readLog} does. */
export async function loadLog(storage: Storage, path: string, options: ReadOptions = {}): Promise<LoadedLog> {
  const decoder = createDecoder(options)
  const events: Recorded[] = []
  const damage: DamageItem[] = []
  let torn: TornItem | undefined
  let abandoned = 0
  let foreign = 0
  for await (const item of read(storage, path, options, decoder)) {
    switch (item.kind) {
      case 'event':
        events.push(item.recorded)
        break
      case 'damage':
        damage.push(item)
        break
      case 'torn':
        torn = item
        break
      case 'abandoned':
        abandoned += item.lines
        break
      case 'foreign':
        foreign += 1
        break
    }
  }
  return { events, cursor: decoder.cursor, damage, torn, abandoned, foreign, identity: decoder.identity }
}

async function* read(
  storage: Storage,
  path: string,
  { offset = 0, maxLineBytes = MAX_LINE_BYTES }: ReadOptions,
  decoder: Decoder,
): AsyncGenerator<LogItem> {
  let torn: TornItem | undefined
  for await (const line of splitLines(storage.read(path, offset), maxLineBytes, offset)) {
    if (!line.terminated && !isWhole(line)) torn = { kind: 'torn', from: line.from, to: line.to }
    else yield* decodeLine(decoder, line, maxLineBytes)
  }
  yield* decoder.end()
  if (torn !== undefined) yield torn
}

function decodeLine(decoder: Decoder, line: FileLine, maxLineBytes: number): readonly LogItem[] {
  const { bytes, from, to } = line
  if (bytes === undefined) {
    const detail = `the line has ${to - from} bytes; at most ${maxLineBytes} are read`
    return decoder.damaged('too-long', detail, { from, to })
  }
  return bytes.length === 0 ? [] : decoder.push(bytes, { from, to })
}

/** No beginning of a JSON object is an object itself, so that one which parses has lost nothing but its line feed. */
function isWhole({ bytes }: FileLine): boolean {
  return bytes !== undefined && parseLine(bytes).ok
}
