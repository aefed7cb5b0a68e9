/** The agents of the session, from the engine's own state. */
import * as z from 'zod'
import type { Tool } from '../tool.ts'
import { portOf } from './port-of.ts'
import { taskLine } from './words.ts'

const Input = z.strictObject({})

export const listAgentsTool: Tool<z.infer<typeof Input>> = {
  name: 'ListAgents',
  description:
    'Lists the agents of this session that are at work: id, type, status and task of each. The list is the engine’s own, so it is right also after your conversation was shortened.',
  inputSchema: Input,
  resume: 'repeat',
  isReadOnly: () => true,
  isConcurrencySafe: () => true,
  run: async (_input, context) => {
    const tasks = portOf(context).list()
    return {
      content: tasks.length === 0 ? 'No other agent is at work.' : tasks.map(taskLine).join('\n'),
      structured: { agents: tasks.map((task) => ({ ...task, parentId: task.parentId ?? '' })) },
    }
  },
}
