/** Agents beside each other: ends that are owed, and messages. */
import * as z from 'zod'
import type { MessageMeaning } from '../../../definitions/message-meaning.ts'
import { AgentId } from '../../ids.ts'
import { Usage } from '../messages.ts'
import { Origin, PermissionModeName, RunKey } from './values.ts'

/** The end of a run in the background, told to whoever is owed it; what it cost is counted with the telling. */
export const ToldEnd = z.looseObject({
  agentId: AgentId,
  run: z.number().int().positive(),
  modelUsage: z.record(z.string(), Usage).optional(),
  /** Its log does not tell the end, and there will be none: whoever is owed it is told that the run failed. */
  isLost: z.literal(true).optional(),
})
export type ToldEnd = z.infer<typeof ToldEnd>

/**
 * A run goes on in the background, and this agent is owed its end: it is told by a notice, or reads the result. A fact
 * about the agent, not about a run of its own: it can happen between two of them.
 */
export const ChildLaunched = z.looseObject({
  type: z.literal('child.launched'),
  child: RunKey,
  /** Who was owed it so far and has come to its end. Its own log may not say so: it may be what cannot be written. */
  takenFrom: AgentId.optional(),
})

/** Somebody else is told the end of that run now, as this agent came to its own end first; or the run never began. */
export const ChildReleased = z.looseObject({
  type: z.literal('child.released'),
  child: RunKey,
  /** Nobody is told: the agent was killed, and its agents with it. The line stands for the telling. */
  isUndeliverable: z.literal(true).optional(),
  /** What an undeliverable run cost, it and what it was told of. */
  modelUsage: z.record(z.string(), Usage).optional(),
})

const AnyMeaning = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('shutdown_request') }),
  z.object({ kind: z.literal('shutdown_response'), requestId: z.string(), approve: z.boolean() }),
  z.object({ kind: z.literal('plan_approval_request') }),
  z.object({
    kind: z.literal('plan_approval_response'),
    requestId: z.string(),
    approve: z.boolean(),
    mode: PermissionModeName.optional(),
  }),
]) satisfies z.ZodType<MessageMeaning>

/** A message that another agent sent while the run is on. It stands in the conversation with the next request. */
export const MessageAccepted = z.looseObject({
  type: z.literal('message.accepted'),
  /** The key of the sender's call: a call that is repeated after a crash sends nothing twice. */
  messageId: z.string(),
  content: z.string(),
  origin: Origin,
  /** What it asks for or answers. Absent: it is its text. */
  means: AnyMeaning.optional(),
})

/**
 * A name is that of this agent from now on, in the log of the root: one registry for the whole session. It stands
 * there before the agent does; one that was never born holds nothing. A fact about the session, not about a run.
 */
export const NameRegistered = z.looseObject({
  type: z.literal('name.registered'),
  name: z.string().min(1),
  agentId: AgentId,
})

/** The run was moved out of its parent's foreground. */
export const AgentBackgrounded = z.looseObject({ type: z.literal('agent.backgrounded'), by: z.string() })
