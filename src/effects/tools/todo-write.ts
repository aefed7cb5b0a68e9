/** The tool `TodoWrite`. */
import * as z from 'zod'
import { failure } from './refusals.ts'
import { TodoItem } from './todo-list.ts'
import type { Tool } from './tool.ts'

const MAX_TODOS = 100

const TodoWriteInput = z.strictObject({
  todos: z
    .array(TodoItem)
    .max(MAX_TODOS)
    .describe('The whole list as it is from now on, in the order of work'),
})
export type TodoWriteInput = z.infer<typeof TodoWriteInput>

/** Replaces the agent's list of what is to be done. The result is where the list is kept. */
export const todoWriteTool: Tool<TodoWriteInput> = {
  name: 'TodoWrite',
  description: `Keeps your list of steps for the task at hand, which the user can watch. Each call replaces the whole list.

- For work of three steps or more, or when the user gives several things to do. Not for what is done in one go.
- Mark a step \`in_progress\` before you begin it, one at a time, and \`completed\` as soon as it is really done: tests pass, nothing is left open. What stops you becomes a step of its own.
- Steps that are not needed any more are left out. An empty list clears it.`,
  inputSchema: TodoWriteInput,
  // Writing the same list again leaves the same list.
  resume: 'repeat',
  isReadOnly: () => true,
  isConcurrencySafe: () => false,
  run: async ({ todos }, context) => {
    const contents = todos.map(({ content }) => content)
    const twice = contents.find((content, index) => contents.indexOf(content) !== index)
    if (twice !== undefined) return failure(`"${twice}" is in the list twice. The list stays as it was.`)
    const count = (status: TodoItem['status']): number =>
      todos.filter((todo) => todo.status === status).length
    const before = context.todos?.()
    const advice =
      count('in_progress') > 1
        ? ' More than one step is in progress: work on one at a time where you can.'
        : ''
    return {
      content:
        todos.length === 0
          ? 'The list is empty now.'
          : `The list is kept: ${count('completed')} of ${todos.length} completed, ${count('in_progress')} in progress.${advice}`,
      structured: { ...(before !== undefined && { oldTodos: before }), newTodos: todos },
    }
  },
}
