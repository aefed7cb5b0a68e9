/** The tool `NotebookEdit`. */
import * as z from 'zod'
import { applyChange, type Change, intendChange, otherNamesNote } from './keyed-write.ts'
import { changeCell } from './notebook-text.ts'
import { refusalsAsResults } from './refusals.ts'
import type { Tool, ToolContext } from './tool.ts'
import { ToolRefusal } from './tool-refusal.ts'
import { decodeStrictly } from './utf8.ts'

const NotebookEditInput = z.strictObject({
  notebook_path: z.string().describe('The .ipynb file, absolute or relative to the working directory'),
  cell_id: z.string().optional().describe('The id of the cell; for insert the one that the new cell follows'),
  cell_number: z.int().min(0).optional().describe('Instead of cell_id: its position, from 0'),
  new_source: z.string().optional().describe('The whole new source of the cell; not for delete'),
  cell_type: z
    .enum(['code', 'markdown', 'raw'])
    .optional()
    .describe('Required for insert; for replace: another type for the cell'),
  edit_mode: z.enum(['replace', 'insert', 'delete']).optional().describe('Default replace'),
})
export type NotebookEditInput = z.infer<typeof NotebookEditInput>

/** Changes one cell of a Jupyter notebook. */
export const notebookEditTool: Tool<NotebookEditInput> = {
  name: 'NotebookEdit',
  description: `Replaces, inserts or deletes one cell of a Jupyter notebook (.ipynb). Everything else in the file keeps its bytes.

- Read the notebook first. One that you have not read, or that changed since, is refused.
- Name the cell by its \`cell_id\` as the file has it, or by \`cell_number\`. An inserted cell follows the one named; without a name it becomes the first.
- \`new_source\` is the whole cell. Outputs and count of a code cell are removed with its old source; run it to get new ones.`,
  inputSchema: NotebookEditInput,
  resume: 'keyed',
  isReadOnly: () => false,
  isConcurrencySafe: () => false,
  writes: (input) => input.notebook_path,
  ruleSubject: (input) => input.notebook_path,
  intend: (input, context) => intendChange(input.notebook_path, edited(input, context), context),
  run: (input, context) =>
    refusalsAsResults(async () => {
      const written = await applyChange(input.notebook_path, edited(input, context), context)
      const { place, before, hash } = written
      // Found done after a crash: which cell it was can only be told from the text before.
      const cell = before ? changeCell(before.toString(), changeOf(input, context)) : undefined
      const verb = { replace: 'Replaced', insert: 'Inserted', delete: 'Deleted' }[
        input.edit_mode ?? 'replace'
      ]
      const which =
        cell === undefined ? 'the cell' : `cell ${cell.at}${cell.cellId ? ` (${cell.cellId})` : ''}`
      return {
        content: `${verb} ${which} in ${place.named}.${otherNamesNote(written)}`,
        structured: {
          notebook_path: place.named,
          new_source: input.new_source ?? '',
          edit_mode: input.edit_mode ?? 'replace',
          ...(cell?.cellId !== undefined && { cell_id: cell.cellId }),
          ...(cell !== undefined && { cell_type: cell.cellType, cell_number: cell.at }),
        },
        files: [{ path: place.real, hash }],
      }
    }),
}

const edited =
  (input: NotebookEditInput, context: ToolContext): Change =>
  (place, old) => {
    if (!place.named.endsWith('.ipynb')) {
      throw new ToolRefusal(`${place.named} is no notebook (.ipynb). Use Edit for other files.`)
    }
    if (old === null) {
      throw new ToolRefusal(`${place.named} does not exist. Use Write to create a notebook.`)
    }
    const text = decodeStrictly(place, old)
    return Buffer.from(changeCell(text, changeOf(input, context)).text)
  }

function changeOf(input: NotebookEditInput, { key }: ToolContext): Parameters<typeof changeCell>[1] {
  const mode = input.edit_mode ?? 'replace'
  if (mode !== 'delete' && input.new_source === undefined) {
    throw new ToolRefusal(`new_source is missing: to ${mode} a cell, give its source.`)
  }
  return {
    mode,
    cellId: input.cell_id,
    cellNumber: input.cell_number,
    cellType: input.cell_type,
    source: input.new_source ?? '',
    seed: key,
  }
}
