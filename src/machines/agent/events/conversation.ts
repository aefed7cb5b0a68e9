/** The conversation beside prompts, replies and results: what is added to it, and what is summed up. */
import * as z from 'zod'
import { BlobHash, CallId } from '../../ids.ts'
import { PromptContent, ResultContent, Usage } from '../messages.ts'
import { ToldEnd } from './background.ts'
import { Fault, Origin } from './values.ts'

/**
 * A user-role message that nobody wrote as a prompt: what the agent is told of its surroundings, and corrections.
 * Stored as a user line that other programs do not show (`isMeta`).
 */
export const MessageAdded = z.looseObject({
  type: z.literal('message.added'),
  /** What it is about; readers of other versions may find other words. */
  about: z.string(),
  content: PromptContent,
  origin: Origin,
  /** It stands before the run's prompt. Absent: behind everything so far. */
  before: z.literal(true).optional(),
  /** For what changes in the course of a run: all of it as of now, as a blob. The message may tell the change only. */
  state: BlobHash.optional(),
  /** The ends that it tells: this line is their delivery. */
  tells: z.array(ToldEnd).optional(),
  /** The messages of other agents that it holds, by their ids. */
  injects: z.array(z.string()).optional(),
})

/** The next request would not leave enough of the model's context window. Figures are tokens. */
export const ContextExceeded = z.looseObject({
  type: z.literal('context.exceeded'),
  tokens: z.number().int().nonnegative(),
  /** More than this is too many. */
  of: z.number().int().nonnegative(),
})

/** Long results stand in requests with their two ends only from now on. The log keeps them as they were. */
export const ResultsCut = z.looseObject({
  type: z.literal('results.cut'),
  results: z
    .array(
      z.object({
        callId: CallId,
        content: ResultContent,
        /**
         * How many results of calls with this id stand between the one that is meant and this line. Absent: none. Ids are
         * unique within a log; a conversation that begins in another one may have an id twice.
         */
        after: z.number().int().positive().optional(),
      }),
    )
    .min(1),
  /** Tokens that requests are shorter by, as estimated. */
  saves: z.number().int().nonnegative(),
})

/**
 * What is before it stands in requests as this summary from now on. Stored as a user line; the log keeps everything.
 */
export const ConversationCompacted = z.looseObject({
  type: z.literal('conversation.compacted'),
  summary: z.string(),
  /** Position, in this log, of the last line of the conversation that is summed up. 0: only what is before this log. */
  upTo: z.number().int().nonnegative(),
  trigger: z.enum(['auto', 'manual']),
  /** Tokens of the request that was too long, as estimated. */
  tokens: z.number().int().nonnegative(),
  /** What the summary cost, by model. */
  modelUsage: z.record(z.string(), Usage),
  /** Agents that run in the background, in words. */
  roster: z.string().optional(),
})

/** There is no summary; the run goes on with the whole conversation. */
export const CompactionFailed = z.looseObject({
  type: z.literal('compaction.failed'),
  fault: Fault,
  /** What the attempts have cost, by model. */
  modelUsage: z.record(z.string(), Usage).optional(),
})
