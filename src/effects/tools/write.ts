/** The tool `Write`. */
import * as z from 'zod'
import { applyChange, type Change, intendChange, otherNamesNote } from './keyed-write.ts'
import { counted, linesOf } from './lines.ts'
import { refusalsAsResults } from './refusals.ts'
import { structuredPatch } from './structured-patch.ts'
import type { Tool } from './tool.ts'

const WriteInput = z.strictObject({
  file_path: z.string().describe('The file, absolute or relative to the working directory'),
  content: z.string().describe('The whole new content'),
})
export type WriteInput = z.infer<typeof WriteInput>

const contentOf =
  (input: WriteInput): Change =>
  () =>
    Buffer.from(input.content)

/** Creates a file or replaces its whole content. */
export const writeTool: Tool<WriteInput> = {
  name: 'Write',
  description: `Writes a whole file: creates it, with its folders, or replaces everything in it.

- To change a part of a file use Edit; it sends less and cannot lose the rest.
- A file that exists must have been read first, and is refused if it changed since.
- Write only what the task needs: no extra documentation or notes nobody asked for.`,
  inputSchema: WriteInput,
  resume: 'keyed',
  isReadOnly: () => false,
  isConcurrencySafe: () => false,
  writes: (input) => input.file_path,
  ruleSubject: (input) => input.file_path,
  intend: (input, context) => intendChange(input.file_path, contentOf(input), context),
  run: (input, context) =>
    refusalsAsResults(async () => {
      const written = await applyChange(input.file_path, contentOf(input), context)
      const { place, isNew, before, hash } = written
      const verb = isNew ? 'Created' : 'Replaced'
      return {
        content: `${verb} ${place.named} (${counted(linesOf(input.content).length, 'line')}).${otherNamesNote(written)}`,
        structured: {
          type: isNew ? 'create' : 'update',
          filePath: place.named,
          content: input.content,
          structuredPatch: before ? await structuredPatch(place.named, before.toString(), input.content) : [],
        },
        files: [{ path: place.real, hash }],
      }
    }),
}
