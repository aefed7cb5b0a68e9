/** A question to whoever started the agent, instead of a guess. */
import * as z from 'zod'
import type { Tool } from '../tool.ts'
import { portOf } from './port-of.ts'

const MAX_CHARS = 20_000

const Input = z.strictObject({
  question: z
    .string()
    .regex(/\S/u, 'the question is empty')
    .max(MAX_CHARS)
    .describe('What you need to know, with what you found and the answers that you see.'),
})

export const askParentTool: Tool<z.infer<typeof Input>> = {
  name: 'AskParent',
  description:
    'Asks the agent that gave you your task, and waits for its answer. Only for what decides how the work goes on and what you cannot find out: a choice that is not yours, a contradiction in the task. What you can look up, look up.',
  inputSchema: Input,
  // Asked again under the same key: the question is there already, and so may be the answer.
  resume: 'repeat',
  isReadOnly: () => true,
  // It is a message, as those of `SendMessage` are; and what answers one question must not answer another.
  isConcurrencySafe: () => false,
  run: async ({ question }, context) => {
    const answer = await portOf(context).ask(question, context.key)
    return answer.kind === 'answered'
      ? { content: answer.text, injects: [answer.messageId] }
      : { content: `${answer.why} Decide yourself, and say in your report what you decided.`, isError: true }
  },
}
