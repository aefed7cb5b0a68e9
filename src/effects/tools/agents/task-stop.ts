/** Ends an agent in the background. */
import * as z from 'zod'
import type { Tool } from '../tool.ts'
import { portOf } from './port-of.ts'
import { answerOutput } from './words.ts'

const Input = z.strictObject({
  task_id: z.string().min(1).describe('The id of the agent, as the call that started it gave it.'),
})

export const taskStopTool: Tool<z.infer<typeof Input>> = {
  name: 'TaskStop',
  aliases: ['KillAgent'],
  description:
    'Stops an agent that works in the background, everything that it has started, and all its processes. Returns when nothing of it runs any more, with what it had by then. A stopped agent can go on later: send it a message.',
  inputSchema: Input,
  // Stopping twice is stopping once.
  resume: 'repeat',
  isReadOnly: () => true,
  isConcurrencySafe: () => true,
  run: async ({ task_id }, context) => answerOutput(await portOf(context).stop(task_id), task_id),
}
