/** A request to a model: what it comes to, and what may keep it from being made. */
import * as z from 'zod'
import { AgentId, CallId } from '../../ids.ts'
import { Reply, Usage } from '../messages.ts'
import { Fault } from './values.ts'

/** One tool call that a reply asks for. */
export const CallRequest = z.object({
  callId: CallId,
  toolUseId: z.string(),
  name: z.string(),
  /** May run beside its neighbours. Decided by the tool when the reply came, kept for ever. */
  concurrencySafe: z.boolean(),
})
export type CallRequest = z.infer<typeof CallRequest>

/** A whole reply. Stored as one line per content block; it counts with its last line. */
export const ReplyReceived = z.looseObject({
  type: z.literal('reply.received'),
  reply: Reply,
  requestId: z.string().optional(),
  /** Position of its first line. */
  seq: z.number().int().nonnegative(),
  calls: z.array(CallRequest),
})

/** The model could not be reached, or its stream could not be finished, after all retries. */
export const RequestFailed = z.looseObject({
  type: z.literal('request.failed'),
  fault: Fault,
  attempts: z.number().int().positive(),
})

/** The model cannot be had: for the rest of the run another one answers. */
export const ModelChanged = z.looseObject({
  type: z.literal('model.changed'),
  from: z.string(),
  to: z.string(),
  why: Fault,
})

/** What is spent of a budget: whole tokens, US dollars, or milliseconds of running time. */
const BudgetNote = {
  limit: z.enum(['tokens', 'money', 'time']),
  of: z.number().nonnegative(),
  used: z.number().nonnegative(),
  /** Whose limit it is, where that is not this agent: an agent above it. */
  owner: AgentId.optional(),
}

/** A request was not made, because it might have gone beyond a budget. The run ends with what there is. */
export const BudgetRefused = z.looseObject({
  type: z.literal('budget.refused'),
  ...BudgetNote,
  /** What it might have cost at most. */
  asked: z.number().nonnegative().optional(),
})

/** A budget is nearly used up. Once in a run. */
export const BudgetWarned = z.looseObject({ type: z.literal('budget.warned'), ...BudgetNote })

/** What the agent is at, in one line of its model, asked for beside its turns. No part of its conversation. */
export const ProgressSummarised = z.looseObject({
  type: z.literal('progress.summarised'),
  /** On one line; empty when the model wrote nothing. */
  text: z.string().max(200),
  /** What it cost, by model. */
  modelUsage: z.record(z.string(), Usage),
})

/** The running time is used up. The run ends at the next point at which nothing is cut off. */
export const TimeExpired = z.looseObject({
  type: z.literal('time.expired'),
  /** The limit, in milliseconds. */
  of: z.number().nonnegative(),
})
