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
  /** Byte to stop at: right behind a line. Default: the end of the file. */
  readonly until?: number
  readonly maxLineBytes?: number
}

/** Everything in a log, in order. Throws a `StorageError` (`not-found`, …) when the file cannot be read. */
export async function* readLog(
  storage: Storage,
  path: string,
  options: ReadOptions = {},
): AsyncGenerator<LogItem> {
  yield* createLogReader(storage, path, options).items
}

/** A log that is being read, item by item. */
export interface LogReader {
  /** What is in it, in order. Can be read once. Throws as {@link readLog} does. */
  readonly items: AsyncGenerator<LogItem, void, void>
  /** Where the log stands after the items that were read; after the last one, where writing goes on. */
  readonly cursor: LogCursor
  /** Who wrote its last conversation line so far; undefined when there was none. */
  readonly identity: LogIdentity | undefined
  /**
   * After the last item: byte that the next line will begin with. That is the end of the file, or one more where its
   * last line lacks a line feed, which the next append puts there first.
   */
  readonly nextLineAt: number
}

/** Reads a log for somebody who wants to know where it ends, too. */
export function createLogReader(storage: Storage, path: string, options: ReadOptions = {}): LogReader {
  const decoder = createDecoder(options)
  const end = { at: options.offset ?? 0 }
  return {
    items: read(storage, path, options, decoder, end),
    get cursor() {
      return decoder.cursor
    },
    get identity() {
      return decoder.identity
    },
    get nextLineAt() {
      return end.at
    },
  }
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
  const reader = createLogReader(storage, path, options)
  const events: Recorded[] = []
  const damage: DamageItem[] = []
  let torn: TornItem | undefined
  let abandoned = 0
  let foreign = 0
  for await (const item of reader.items) {
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
  return { events, cursor: reader.cursor, damage, torn, abandoned, foreign, identity: reader.identity }
}

async function* read(
  storage: Storage,
  path: string,
  { offset = 0, until = Number.POSITIVE_INFINITY, maxLineBytes = MAX_LINE_BYTES }: ReadOptions,
  decoder: Decoder,
  end: { at: number },
): AsyncGenerator<LogItem, void, void> {
  let torn: TornItem | undefined
  for await (const line of splitLines(storage.read(path, offset), maxLineBytes, offset)) {
    if (line.from >= until) break
    end.at = line.terminated ? line.to : line.to + 1
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
