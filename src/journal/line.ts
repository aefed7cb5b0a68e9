/**
 * The shapes of lines, for readers: bytes into JSON, and the members that an event is made from. Writers do not
 * come here, they build the text by hand (`encode.ts`).
 */
import { isUtf8 } from 'node:buffer'
import * as z from 'zod'
import { messageOf } from '../definitions/message-of.ts'
import { ContentBlock } from '../machines/agent/messages.ts'
import { AgentId, SessionId } from '../machines/ids.ts'

/** Why bytes are no line. */
export type DamageReason =
  | 'invalid-utf8'
  | 'nul-bytes'
  | 'invalid-json'
  | 'too-long'
  /** JSON, but not what a line of its type has to be. */
  | 'schema'
  /** `seq` was there before. */
  | 'repeat'
  /** `seq` jumps: lines are missing between the two offsets. */
  | 'gap'
  /** Part of a reply whose beginning is missing. */
  | 'half-reply'

const Seq = z.number().int().nonnegative()
const Timestamp = z.iso.datetime()
const Version = z.number().int().positive().optional()
const Raw = z.looseObject({ type: z.string() })

/** A line of ours that is no part of the conversation. */
export const LifecycleLine = z.looseObject({ seq: Seq, timestamp: Timestamp, v: Version, event: Raw })
export type LifecycleLine = z.infer<typeof LifecycleLine>

const conversation = {
  uuid: z.string().min(1),
  parentUuid: z.string().nullable(),
  sessionId: SessionId,
  agentId: AgentId.optional(),
  isSidechain: z.boolean(),
  cwd: z.string(),
  version: z.string(),
  gitBranch: z.string().optional(),
  timestamp: Timestamp,
  seq: Seq,
  v: Version,
}

/** A prompt or a result: `troupe` holds the rest of the event. */
export const UserLine = z.looseObject({
  ...conversation,
  type: z.literal('user'),
  message: z.looseObject({ role: z.literal('user'), content: z.unknown() }),
  troupe: z.looseObject({ type: z.string().optional() }),
})
export type UserLine = z.infer<typeof UserLine>

/** One block of a reply. What `troupe` says is described at `BlockNote` in `encode.ts`. */
export const AssistantLine = z.looseObject({
  ...conversation,
  type: z.literal('assistant'),
  requestId: z.string().optional(),
  message: z.looseObject({
    id: z.string(),
    content: z.array(ContentBlock).max(1),
    stop_reason: z.string().nullable(),
    usage: z.looseObject({}),
  }),
  troupe: z
    .looseObject({
      block: z.number().int().positive().optional(),
      safe: z.boolean().optional(),
      run: z.number().int().positive().optional(),
      reply: z.looseObject({ usage: z.looseObject({}).optional() }).optional(),
      event: z.looseObject({}).optional(),
    })
    .optional(),
})
export type AssistantLine = z.infer<typeof AssistantLine>

/** Any JSON object. */
export type LineObject = Readonly<Record<string, unknown>>

/** The object in a line, or why there is none. */
export type Parsed =
  | { readonly ok: true; readonly line: LineObject }
  | { readonly ok: false; readonly reason: DamageReason; readonly detail: string }

/** Bytes of one line into its object. */
export function parseLine(bytes: Uint8Array): Parsed {
  if (!isUtf8(bytes)) return { ok: false, reason: 'invalid-utf8', detail: 'the bytes are not UTF-8' }
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    if (bytes.includes(0)) return { ok: false, reason: 'nul-bytes', detail: 'the line contains NUL bytes' }
    return {
      ok: false,
      reason: 'invalid-json',
      detail: messageOf(error),
    }
  }
  if (!isObject(value)) return { ok: false, reason: 'schema', detail: 'the line is JSON but no object' }
  return { ok: true, line: value }
}

export const isObject = (value: unknown): value is LineObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Validates without changing: what comes back is the value itself. A schema's output would be a copy that has lost
 * the unknown fields of its strict parts.
 */
export function check<T>(
  schema: z.ZodType<T>,
  value: unknown,
): { readonly ok: true; readonly value: T } | { readonly ok: false; readonly detail: string } {
  const parsed = schema.safeParse(value)
  // None of the schemas that come here transforms or has defaults, so the accepted input is of the output's type.
  return parsed.success ? { ok: true, value: value as T } : { ok: false, detail: complaint(parsed.error) }
}

/** The first thing that a schema found wrong, as one short text. */
function complaint(error: z.ZodError): string {
  const issue = error.issues[0]
  if (issue === undefined) return 'it does not fit its schema'
  return issue.path.length === 0 ? issue.message : `${issue.path.join('.')}: ${issue.message}`
}
