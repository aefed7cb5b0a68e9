/** What `SendMessage` takes besides text: requests that are answered, and their answers. */
import * as z from 'zod'

const MAX_CHARS = 20_000

const requestId = z.string().min(1).max(200).describe('As the request has it.')

export const StructuredMessage = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('shutdown_request'),
    reason: z.string().max(MAX_CHARS).optional().describe('Why it should stop, and what matters before.'),
  }),
  z.strictObject({
    type: z.literal('shutdown_response'),
    request_id: requestId,
    approve: z.boolean(),
    reason: z
      .string()
      .max(MAX_CHARS)
      .optional()
      .describe('Approved: your report, if it is not what you said last. Refused: why you go on.'),
  }),
  z.strictObject({
    type: z.literal('plan_approval_response'),
    request_id: requestId,
    approve: z.boolean(),
    feedback: z.string().max(MAX_CHARS).optional().describe('What to change in the plan.'),
  }),
])
export type StructuredMessage = z.infer<typeof StructuredMessage>
