/**
 * Versions of event shapes. An event is written in the newest shape of its type; one that was written in an older
 * shape is brought up, step by step, when it is read. No log is ever rewritten.
 *
 * A line names its shape in `v`; absent means 1. A shape changes only where an old event would be misread:
 * a new optional field needs no version.
 */

/** An event as it stands in a line, before anything is known about it but that it names its type. */
export type RawEvent = Readonly<Record<string, unknown>> & { readonly type: string }

/** Turns an event of one version of its type into the next. Pure; may throw for an event that makes no sense. */
export type Upcaster = (event: RawEvent) => RawEvent

/** By event type, then by the version that the upcaster takes. The versions of a type have no holes. */
export type UpcasterTable = Readonly<Record<string, Readonly<Record<number, Upcaster>>>>

/** What this version of the program knows. The first change of a shape adds the first entry. */
export const UPCASTERS: UpcasterTable = {}

/** The version in which events of this type are written. */
export function currentVersion(type: string, table: UpcasterTable = UPCASTERS): number {
  return Object.keys(table[type] ?? {}).reduce((newest, from) => Math.max(newest, Number(from) + 1), 1)
}

/** The event in its newest shape, or undefined when it is newer than this program. */
export function upcast(event: RawEvent, version: number, table: UpcasterTable): RawEvent | undefined {
  let current = event
  let at = version
  for (let up = table[current.type]?.[at]; up !== undefined; up = table[current.type]?.[at]) {
    current = up(current)
    at += 1
  }
  return at > currentVersion(current.type, table) ? undefined : current
}
