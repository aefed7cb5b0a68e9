/** What a call may do, and who says so. */
import * as z from 'zod'
import { CallId } from '../../ids.ts'
import { PermissionModeName } from './values.ts'

/** A call may run only if somebody approves it. The call waits; so may others, each for its own answer. */
export const ApprovalRequested = z.looseObject({
  type: z.literal('approval.requested'),
  callId: CallId,
  /** Why it was not simply allowed, for whoever decides. */
  reason: z.string(),
})

/** The one answer. */
export const ApprovalAnswered = z.looseObject({
  type: z.literal('approval.answered'),
  callId: CallId,
  decision: z.enum(['allow', 'deny']),
  /** Who decided: `host`, or a name that the host gives. */
  by: z.string(),
  /** For the model, with a refusal. */
  message: z.string().optional(),
  /** What the call runs with instead of what the model wrote. */
  input: z.unknown().optional(),
})

/** A tool asks the person something; its call waits. The question itself is in the call's input. */
export const QuestionAsked = z.looseObject({
  type: z.literal('question.asked'),
  callId: CallId,
  /** Its place among the questions of the call. */
  place: z.number().int().nonnegative(),
  about: z.enum(['plan', 'questions']),
})

/** The one answer, or that it was put away (`none`). */
export const QuestionAnswered = z.looseObject({
  type: z.literal('question.answered'),
  callId: CallId,
  place: z.number().int().nonnegative(),
  answer: z.looseObject({ kind: z.enum(['plan', 'questions', 'none']) }),
  /** Who answered: `host`, a name that the host gives, or the agent that started this one. */
  by: z.string(),
  /** The message of that agent that the answer came in. */
  messageId: z.string().optional(),
})

/** The permission mode of the agent is another one from now on, because somebody who may say so approved its plan. */
export const ModeChanged = z.looseObject({
  type: z.literal('mode.changed'),
  from: PermissionModeName,
  mode: PermissionModeName,
  /** The mode that the person or host had given the session: under another one the change does not hold. */
  given: PermissionModeName,
  by: z.string(),
})

/** Calls like this need no approval from now on: in the whole session, or by this agent. */
export const PermissionGranted = z.looseObject({
  type: z.literal('permission.granted'),
  rule: z.string(),
  by: z.string(),
})
