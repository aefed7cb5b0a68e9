/**
 * Branded ids: a string of one kind cannot be handed in where another is meant.
 */
import * as z from 'zod'

/** A session: a root agent with its descendants. A lower-case UUID, also the name of its folder of logs. */
export const SessionId = z
  .string()
  .regex(
    /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
    'a session id is a lower-case UUID',
  )
  .brand<'SessionId'>()
export type SessionId = z.infer<typeof SessionId>

/** An agent: `a` and 16 hexadecimal digits. The prefix `agent-` belongs to file and branch names only. */
export const AgentId = z
  .string()
  .regex(/^a[0-9a-f]{16}$/, 'an agent id is "a" and 16 hexadecimal digits')
  .brand<'AgentId'>()
export type AgentId = z.infer<typeof AgentId>

/**
 * A tool call: `<run>.<seq>.<index>`, made from the position of the assistant line that asked for it and the
 * block's index within that line. Unlike the model's own `tool_use` id it is unique within a log, whatever
 * the model sends, and a resume derives the same one.
 */
export const CallId = z
  .string()
  .regex(/^\d+\.\d+\.\d+$/, 'a call id is run.seq.index')
  .brand<'CallId'>()
export type CallId = z.infer<typeof CallId>

/**
 * The name of a blob: the first 160 bits of the SHA-256 of its bytes, in hexadecimal. Logs name several blobs per agent;
 * whole hashes were a thirtieth of their bytes. Logs of before have all 256 bits.
 */
export const BlobHash = z
  .string()
  .regex(/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/, 'a blob hash is 40 or 64 hexadecimal digits')
  .brand<'BlobHash'>()
export type BlobHash = z.infer<typeof BlobHash>

/** The id of the call at block `index` of the assistant line at `seq` in run `run`. */
export function callId(run: number, seq: number, index: number): CallId {
  return `${run}.${seq}.${index}` as CallId
}
