/**
 * Where a worker kills itself: at a named moment, by the same signal that anyone else would send.
 */
import { appendFileSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Span } from '../../../src/journal/log-items.ts'
import type { Append, Storage } from '../../../src/journal/storage.ts'
import type { AgentEventType } from '../../../src/machines/agent/events.ts'

/** A moment in the life of an engine. */
export type KillPoint =
  | AppendPoint
  /** A model request is on its way: the one of this prompt's conversation with this many replies before it. */
  | { readonly at: 'request'; readonly prompt: string; readonly turn: number }
  /** Inside the body of the tool `Put`, with its work done and not reported. */
  | { readonly at: 'put'; readonly id: string }

/** The append that brings the `nth` (from 1) event of a type into the root's log or into that of any child. */
export interface AppendPoint {
  readonly at: 'append'
  readonly event: AgentEventType
  readonly of: 'root' | 'child'
  readonly nth?: number
  /**
   * `before`: nothing of the append is in the file. `after`: all of it is. A number: what is before the event's line
   * and this share of the line; 1 is all but its line feed.
   */
  readonly when: 'before' | 'after' | number
}

/** Ends this process at once, without a word. */
export function die(): never {
  process.kill(process.pid, 'SIGKILL')
  throw new Error('a process outlived its SIGKILL')
}

/** The event that an append is found by: the `nth` (from 1, the default) of its type in such a log. */
export type Landmark = Pick<AppendPoint, 'event' | 'of' | 'nth'>

/** Recognises the append of a landmark. Gives the byte offsets of the event's line in it, its line feed left out. */
export function findLandmark({ event, of, nth = 1 }: Landmark): (append: Append) => Span | undefined {
  let seen = 0
  return (append) => {
    if (isChildLog(append.path) !== (of === 'child')) return undefined
    const line = lineOf(append, event)
    if (line !== undefined) seen += 1
    return seen === nth ? line : undefined
  }
}

/** A storage under which the process dies at the given point. */
export function dyingStorage(storage: Storage, point: AppendPoint): Storage {
  const find = findLandmark(point)
  return {
    ...storage,
    append: (batch) => {
      const [first] = batch
      const line = first && find(first)
      if (first === undefined || line === undefined) return storage.append(batch)
      if (point.when === 'before') die()
      if (point.when === 'after') return Promise.resolve(storage.append(batch)).then(die)
      const bytes = Buffer.from(first.text)
      mkdirSync(dirname(first.path), { recursive: true })
      appendFileSync(
        first.path,
        bytes.subarray(0, Math.floor(line.from + (line.to - line.from) * point.when)),
      )
      die()
    },
  }
}

const isChildLog = (path: string): boolean => path.includes('/subagents/')

/** Byte offsets of the first line of the event in what is appended; the end is before its line feed. */
function lineOf({ text }: Append, event: AgentEventType): Span | undefined {
  let from = 0
  for (const line of text.split('\n')) {
    const to = from + Buffer.byteLength(line)
    if (line !== '' && eventTypeOf(line) === event) return { from, to }
    from = to + 1
  }
  return undefined
}

/** The event that a line stands for. */
export function eventTypeOf(line: string): string {
  const { type, event, message } = JSON.parse(line)
  if (type === 'system') return event.type
  if (type === 'assistant') return 'reply.received'
  return Array.isArray(message.content) && message.content[0]?.type === 'tool_result'
    ? 'call.ended'
    : 'run.started'
}
