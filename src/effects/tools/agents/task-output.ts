/** Status or report of an agent in the background. */
import * as z from 'zod'
import type { Tool } from '../tool.ts'
import { portOf } from './port-of.ts'
import { answerOutput } from './words.ts'

const MAX_WAIT_MS = 600_000

const Input = z.strictObject({
  task_id: z.string().min(1).describe('The id of the agent, as the call that started it gave it.'),
  block: z.boolean().default(true).describe('Wait until it is done. false: only look how far it is.'),
  timeout: z
    .number()
    .int()
    .min(0)
    .max(MAX_WAIT_MS)
    .default(30_000)
    .describe('How long to wait at most, in milliseconds.'),
})

export const taskOutputTool: Tool<z.infer<typeof Input>> = {
  name: 'TaskOutput',
  aliases: ['AgentOutput'],
  description: `Gives the report of an agent that works in the background, or how far it is.

You are told by a notification when such an agent is done, with its report: call this only when you need the report now and have nothing else to do, or to look how far it is (block: false). What you have read here is not told again.`,
  inputSchema: Input,
  resume: 'repeat',
  isReadOnly: () => true,
  isConcurrencySafe: () => true,
  run: async ({ task_id, block, timeout }, context) =>
    answerOutput(await portOf(context).result(task_id, block ? timeout : 0), task_id),
}
