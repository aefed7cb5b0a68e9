/** What the classifier says of the work of a run, and of a call. */
import * as z from 'zod'
import type { Verdict } from '../../../definitions/review/verdict.ts'
import { CallId } from '../../ids.ts'
import { Usage } from '../messages.ts'

/**
 * What the classifier says of a call or of the work of a run. `unavailable` is no judgement: it could not be asked, or
 * its answer could not be read.
 */
const AnyVerdict = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('allow'), reason: z.string().optional() }),
  z.object({ kind: z.literal('flag'), reason: z.string() }),
  z.object({ kind: z.literal('block'), reason: z.string() }),
  z.object({
    kind: z.literal('unavailable'),
    cause: z.enum(['timeout', 'refusal', 'malformed', 'error', 'stopped', 'budget']),
    why: z.string(),
  }),
]) satisfies z.ZodType<Verdict>

/** What asking the classifier came to, and what it cost: one request of source `classifier`, or none that was answered. */
const judged = {
  verdict: AnyVerdict,
  /** As the reply names it. Absent when there was none. */
  model: z.string().optional(),
  usage: Usage.optional(),
  durationMs: z.number().int().nonnegative(),
}

/** The work of the run is about to be reviewed. An interrupted review is made again. */
export const ReviewRequested = z.looseObject({ type: z.literal('review.requested') })

/** What the review came to; the run may end. Behind an end that owes it: what was handed on with that. */
export const ReviewEnded = z.looseObject({ type: z.literal('review.ended'), ...judged })

/** The classifier was asked about a call that neither a rule nor its harmlessness allows. It is asked once. */
export const CallClassified = z.looseObject({
  type: z.literal('call.classified'),
  callId: CallId,
  ...judged,
})
