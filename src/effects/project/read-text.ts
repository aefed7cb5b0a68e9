/** Text files of settings: where they may lie, and how large they may be. */
import { printable } from '../../definitions/context/text.ts'
import { messageOf } from '../../definitions/message-of.ts'
import { locate, readTextFile } from '../context/read-text-file.ts'
import { isInside } from '../tools/confinement.ts'

/** Bytes of a settings file, a manifest, a list of servers. */
const MAX_BYTES = 1024 * 1024

/** A file's text, or why there is none. */
export type SettingsText =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'outside' | 'unreadable'; readonly reason: string }

/** Reads a file. `within`: the folder, resolved, that it must lie in; undefined: anywhere. Never rejects. */
export async function readSettingsText(path: string, within: string | undefined): Promise<SettingsText> {
  const located = await locate(path)
  const unreadable = (reason: string): SettingsText => ({ kind: 'unreadable', reason })
  if (located.kind === 'missing') return { kind: 'missing' }
  if (located.kind === 'refused') return unreadable(located.reason)
  if (within !== undefined && !isInside(within, located.real))
    return { kind: 'outside', reason: `it leads out of ${printable(within)}` }
  if (located.kind === 'folder') return unreadable('it is a folder')
  const read = await readTextFile(located.real, MAX_BYTES)
  if (read.kind === 'failed') return unreadable(read.reason)
  if (read.isStart) return unreadable(`it has ${read.size} bytes; ${MAX_BYTES} are the most that is read`)
  return { kind: 'text', text: read.text }
}

/** A JSON object, or why a text is none, with the place where it breaks. */
export type JsonObject =
  | { readonly kind: 'object'; readonly value: Readonly<Record<string, unknown>> }
  | { readonly kind: 'broken'; readonly reason: string; readonly line?: number }

/** Parses a text that must be a JSON object. Never throws. */
export function parseJsonObject(text: string): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ''))
  } catch (error) {
    const reason = messageOf(error)
    const line = lineOf(text, reason)
    return {
      kind: 'broken',
      reason: `it is no JSON (${printable(reason)})`,
      ...(line !== undefined && { line }),
    }
  }
  return isObject(value) ? { kind: 'object', value } : { kind: 'broken', reason: 'it is no JSON object' }
}

/** An object with keys. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The position that the engine names, if it does. A text that ends too early ends on its last line. */
function lineOf(text: string, reason: string): number | undefined {
  const end = text.trimEnd().length
  const position = /at position (\d+)/.exec(reason)?.[1]
  if (position === undefined && !/end of JSON input/.test(reason)) return undefined
  return text.slice(0, Math.min(Number(position ?? end), end)).split('\n').length
}
