/** The list of what an agent has to do, as its log keeps it. */
import * as z from 'zod'

/** One thing to do. */
export const TodoItem = z.strictObject({
  content: z.string().trim().min(1).max(500).describe('What is to be done, as an order: "Run the tests"'),
  status: z.enum(['pending', 'in_progress', 'completed']),
  activeForm: z
    .string()
    .trim()
    .min(1)
    .max(500)
    .describe('The same while it is being done: "Running the tests"'),
})
export type TodoItem = z.infer<typeof TodoItem>

const TodoResult = z.looseObject({ newTodos: z.array(TodoItem) })

/**
 * The list that a TodoWrite result left, from its structured result (`toolUseResult`); undefined for any other result.
 * An agent's list is that of its last such call: whoever keeps it needs no state of its own.
 */
export function todosOfResult(toolUseResult: unknown): readonly TodoItem[] | undefined {
  const parsed = TodoResult.safeParse(toolUseResult)
  return parsed.success ? parsed.data.newTodos : undefined
}
