/** Tools of tests: one that only looks, one that does something. Their fields may be replaced by spreading. */
import { z } from 'zod'
import type { Tool } from '../../src/effects/tools/tool.ts'

type Run<I> = Tool<I>['run']

/** Changes nothing: a resume repeats it, and it runs beside others. */
export const lookingTool = <I>(name: string, inputSchema: z.ZodType<I>, run: Run<I>): Tool<I> => ({
  name,
  description: name,
  inputSchema,
  resume: 'repeat',
  isReadOnly: () => true,
  isConcurrencySafe: () => true,
  run,
})

/** Changes something: a resume does not repeat it, and it runs alone. */
export const actingTool = <I>(name: string, inputSchema: z.ZodType<I>, run: Run<I>): Tool<I> => ({
  ...lookingTool(name, inputSchema, run),
  resume: 'interrupt',
  isReadOnly: () => false,
  isConcurrencySafe: () => false,
})

/** Writes nothing, and notes what it would have written. */
export const pretendedWrite = (done: string[]): Tool<{ file_path: string }> => ({
  ...actingTool('Write', z.strictObject({ file_path: z.string() }), async ({ file_path }) => {
    done.push(file_path)
    return { content: 'written' }
  }),
  writes: ({ file_path }) => file_path,
})

/** A shell that runs nothing, for rules about commands. `run` is told what it would have run. */
export const pretendedShell = (run: (command: string) => string): Tool<{ command: string }> => ({
  ...actingTool('Bash', z.strictObject({ command: z.string() }), async ({ command }) => ({
    content: run(command),
  })),
  ruleSubject: ({ command }) => command,
})

/** A result as long as was asked for. */
export const longLookTool = lookingTool('Look', z.strictObject({ chars: z.number() }), async ({ chars }) => ({
  content: 'x'.repeat(chars),
}))
