/** A message to another agent. */
import * as z from 'zod'
import type { Tool, ToolContext, ToolOutput } from '../tool.ts'
import type { SendReceipt } from './agents-port.ts'
import { portOf } from './port-of.ts'
import { StructuredMessage } from './structured-message.ts'
import { taskLine } from './words.ts'

const MAX_CHARS = 50_000

const Input = z.strictObject({
  to: z
    .string()
    .min(1)
    .describe(
      'The id or the name of an agent, "parent" (who started you), "main" (the agent that the user talks to) or "*" (everybody else who is at work).',
    ),
  message: z
    .union([z.string().regex(/\S/u, 'the message is empty').max(MAX_CHARS), StructuredMessage])
    .describe('What to tell it: a text, or an object that asks for something or answers a request.'),
  summary: z.string().optional().describe('The message in 5 to 10 words, shown to people.'),
})

const EVERYBODY = '*'

export const sendMessageTool: Tool<z.infer<typeof Input>> = {
  name: 'SendMessage',
  description: `Sends a message to another agent. One that is at work reads it between two of its steps; one that is done or was stopped goes on with it in the background, knowing everything that it knew, and you are told when it is done.

"Sent" means that it will read the message, not that it has. Use this to go on with an agent instead of starting a new one that would have to learn everything again.

With {"type": "shutdown_request"} you ask an agent that you have started to come to its end by itself, which TaskStop does not ask it. Requests that you read say how they are answered.`,
  inputSchema: Input,
  resume: 'keyed',
  isReadOnly: () => true,
  // Messages of one agent arrive in the order in which it sent them.
  isConcurrencySafe: () => false,
  intend: async ({ to, message }) => ({ to, ...(typeof message !== 'string' && { type: message.type }) }),
  run: async ({ to, message }, context) => {
    if (typeof message !== 'string') return structuredOutput(to, message, context)
    if (to === EVERYBODY) return broadcastOutput(await portOf(context).broadcast(message, context.key))
    const receipt = await portOf(context).send(to, message, context.key)
    if (receipt.kind === 'refused') return { content: receipt.message, isError: true }
    const how =
      receipt.how === 'queued'
        ? 'It reads the message between two of its steps.'
        : 'It goes on with the message.'
    return {
      content: `Sent to ${taskLine(receipt.to)}. ${how}`,
      structured: { success: true, message: how, to: receipt.to.taskId },
    }
  },
}

async function structuredOutput(
  to: string,
  message: StructuredMessage,
  context: ToolContext,
): Promise<ToolOutput> {
  if (to === EVERYBODY)
    return { content: `A ${message.type} is for one agent: "*" takes texts only.`, isError: true }
  const receipt = await portOf(context).sendStructured(to, message, context.key)
  if (receipt.kind === 'refused') return { content: receipt.message, isError: true }
  const { says, answers } = receipt
  return {
    content: `Sent to ${taskLine(receipt.to)}. ${says}`,
    structured: { success: true, message: says, to: receipt.to.taskId },
    ...(answers !== undefined && { answers }),
  }
}

function broadcastOutput(receipts: readonly SendReceipt[]): ToolOutput {
  const sent = receipts.flatMap((receipt) => (receipt.kind === 'sent' ? [receipt.to] : []))
  const refusals = receipts.flatMap((receipt) => (receipt.kind === 'refused' ? [receipt.message] : []))
  const content = [
    sent.length === 0 ? 'Nobody else is at work: the message was sent to nobody.' : 'Sent to:',
    ...sent.map(taskLine),
    ...refusals,
  ].join('\n')
  if (sent.length === 0) return { content, isError: true }
  return { content, structured: { success: true, to: sent.map(({ taskId }) => taskId) } }
}
