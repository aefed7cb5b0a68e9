/**
 * The verdict of the classifier: the tool through which it answers, and how an answer is read.
 *
 *   V1  Reading never throws, whatever a model sends.
 *   V2  What cannot be read is `unavailable`, which neither allows nor accuses.
 *   V3  Of several verdicts in one answer the strictest counts: saying more never makes it milder.
 */
import * as z from 'zod'
import { inert } from '../context/envelope.ts'
import { onOneLine } from '../context/text.ts'
import { headAndTail } from './excerpt.ts'

/** Why there is no judgement. `stopped`: somebody did not want to wait for it. `budget`: it could not be paid for. */
export type UnavailableCause = 'timeout' | 'refusal' | 'malformed' | 'error' | 'stopped' | 'budget'

/** What the classifier says of a call or of a run's work; or that it said nothing that counts. */
export type Verdict =
  | { readonly kind: 'allow'; readonly reason?: string | undefined }
  | { readonly kind: 'flag'; readonly reason: string }
  | { readonly kind: 'block'; readonly reason: string }
  | { readonly kind: 'unavailable'; readonly cause: UnavailableCause; readonly why: string }

/** The one tool that the classifier has, and must call. */
export const VERDICT_TOOL = {
  name: 'verdict',
  description: 'Records your verdict. Call it once.',
  input_schema: {
    type: 'object',
    properties: {
      verdict: { type: 'string', enum: ['allow', 'flag', 'block'] },
      reason: { type: 'string', description: 'One or two sentences that name what you judged.' },
    },
    required: ['verdict', 'reason'],
    additionalProperties: false,
  },
} as const

/** UTF-16 units of a reason that are kept. */
const MAX_REASON = 600

/** What of a reply is read. */
export interface VerdictReply {
  readonly content: readonly { readonly type: string; readonly [field: string]: unknown }[]
  readonly stop_reason: string
}

const Answer = z.looseObject({
  verdict: z.enum(['allow', 'flag', 'block']),
  // A judgement without a word of why is one all the same.
  reason: z.string().optional().catch(undefined),
})

const STRICTNESS = { allow: 0, flag: 1, block: 2 } as const

/** Reads the answer of the classifier. */
export function readVerdict({ content, stop_reason }: VerdictReply): Verdict {
  const calls = content.filter(({ type, name }) => type === 'tool_use' && name === VERDICT_TOOL.name)
  const answers = calls.map(({ input }) => Answer.safeParse(input))
  const [strictest] = answers
    .flatMap(({ data }) => (data === undefined ? [] : [data]))
    .toSorted((left, right) => STRICTNESS[right.verdict] - STRICTNESS[left.verdict])
  const isWhole = answers.every(({ success }) => success)
  // An answer that is half rubbish still accuses, but it allows nothing.
  if (strictest !== undefined && (isWhole || strictest.verdict !== 'allow')) return verdictOf(strictest)
  if (stop_reason === 'refusal') return unavailable('refusal', 'the classifier refused to answer')
  return unavailable(
    'malformed',
    calls.length === 0 ? 'the classifier gave no verdict' : 'the verdict of the classifier cannot be read',
  )
}

function verdictOf({ verdict, reason = '' }: z.infer<typeof Answer>): Verdict {
  const said = inLine(reason)
  if (verdict === 'allow') return said === '' ? { kind: 'allow' } : { kind: 'allow', reason: said }
  return { kind: verdict, reason: said === '' ? 'no reason was given' : said }
}

/** That there is no judgement, and why. */
export const unavailable = (cause: UnavailableCause, why: string): Verdict => ({
  kind: 'unavailable',
  cause,
  why: inLine(why),
})

/** On one line, and no envelope: whoever wrote it has read what strangers wrote. */
const inLine = (text: string): string => onOneLine(headAndTail(inert(text), MAX_REASON))
