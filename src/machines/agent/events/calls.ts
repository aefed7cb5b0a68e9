/** The calls that a reply asks for, from their start to their result. */
import * as z from 'zod'
import { AgentId, CallId } from '../../ids.ts'
import { ToolResultBlock } from '../messages.ts'
import { SpawnPlan } from './birth.ts'
import { RunKey, SeenFile } from './values.ts'

/**
 * The body of a call is about to run. Durable first for every call whose body is not harmless to repeat.
 * `intent` is what a keyed tool needs to know at a resume; `child` is the agent that an `Agent` call starts.
 */
export const CallStarted = z.looseObject({
  type: z.literal('call.started'),
  callId: CallId,
  intent: z.record(z.string(), z.unknown()).optional(),
  child: z.object({ agentId: AgentId, plan: SpawnPlan }).optional(),
})

/** A call's own process group is running; a resume ends what survived a crash by it. */
export const ProcessStarted = z.looseObject({
  type: z.literal('process.started'),
  callId: CallId,
  pid: z.number().int().positive(),
  /** Kernel start time (clock ticks since boot on Linux), so that a reused pid is not taken for ours. */
  startTime: z.string().optional(),
})

/**
 * The result of a call: `ok`, `error`, `denied` by permissions, or `interrupted`. Stored as the user line with
 * the `tool_result`. For an `Agent` call this line *is* the delivery of the child's end to its parent.
 */
export const CallEnded = z.looseObject({
  type: z.literal('call.ended'),
  callId: CallId,
  outcome: z.enum(['ok', 'error', 'denied', 'interrupted']),
  result: ToolResultBlock,
  /** The structured result, for readers of transcripts; never sent to the model. */
  toolUseResult: z.unknown().optional(),
  /** Key of the delivered end: the child and its run. */
  delivered: RunKey.optional(),
  /** The messages of other agents that the result holds. */
  injects: z.array(z.string()).optional(),
  /**
   * The request to stop that the call has answered. `approve`: the run ends when the calls of its turn have results, and
   * `reason`, where one was given, is its report.
   */
  answers: z
    .object({ requestId: z.string(), approve: z.boolean(), reason: z.string().optional() })
    .optional(),
  /** Files whose content the agent now knows. */
  files: z.array(SeenFile).optional(),
})
