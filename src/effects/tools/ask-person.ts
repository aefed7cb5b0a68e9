/**
 * Asking a person, as a port: tools give a question, the host answers it, or whoever started an agent that plans. What text a model wrote never
 * answers one (law 12).
 */
import * as z from 'zod'
import { PermissionMode } from '../../definitions/permission-mode.ts'
import { ToolRefusal } from './tool-refusal.ts'

/** One thing to choose. */
export interface QuestionOption {
  readonly label: string
  readonly description: string
}

/** A question with the answers that the agent can think of. The person may always answer in words of their own. */
export interface AskedQuestion {
  readonly question: string
  /** A word or two, for a tab or a heading. */
  readonly header: string
  readonly options: readonly QuestionOption[]
  readonly multiSelect: boolean
}

/** What is asked: whether a plan may be carried out, or some questions at once. */
export type Question =
  | { readonly kind: 'plan'; readonly plan: string }
  | { readonly kind: 'questions'; readonly questions: readonly AskedQuestion[] }

const PlanAnswer = z.discriminatedUnion('approved', [
  z.object({
    kind: z.literal('plan'),
    approved: z.literal(true),
    mode: PermissionMode.exclude(['plan', 'bubble']).optional(),
  }),
  z.object({ kind: z.literal('plan'), approved: z.literal(false), feedback: z.string().optional() }),
])
/** The answer to a plan. `feedback`: what to change. `mode`: in which permission mode it is carried out. */
export type PlanAnswer = z.infer<typeof PlanAnswer>

const QuestionsAnswer = z.object({
  kind: z.literal('questions'),
  answers: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
})
/** Answers by the text of their question: labels that were chosen, or the person's own words. */
export type QuestionsAnswer = z.infer<typeof QuestionsAnswer>

/** An answer of the kind of its question. */
export type Answer = PlanAnswer | QuestionsAnswer

/**
 * Shows a question and waits for its answer. Undefined: it was put away unanswered, or nobody can be asked after all.
 * Rejects when the signal aborts.
 * `messageId`: the message of another agent that the answer came in; the result of the call holds it.
 */
export type AskPerson = (
  question: Question,
  signal: AbortSignal,
) => Promise<(Answer & { readonly messageId?: string }) | undefined>

/** Checks what came back for a plan: an approval must never be made of an answer to something else. */
export const planAnswer = (answer: Answer | undefined): PlanAnswer | undefined => checked(PlanAnswer, answer)

/** Checks what came back for questions. */
export const questionsAnswer = (answer: Answer | undefined): QuestionsAnswer | undefined =>
  checked(QuestionsAnswer, answer)

/** Whoever answers is a host's code, which may return anything. */
function checked<T>(schema: z.ZodType<T>, answer: Answer | undefined): T | undefined {
  if (answer === undefined) return undefined
  const parsed = schema.safeParse(answer)
  if (parsed.success) return parsed.data
  throw new ToolRefusal(
    `The answer that came back cannot be used: ${z.prettifyError(parsed.error).replaceAll('\n', ' ')}`,
  )
}
