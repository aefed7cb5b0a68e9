/** The tool `Edit`. */
import * as z from 'zod'
import type { Place } from './confinement.ts'
import { applyChange, type Change, intendChange, otherNamesNote } from './keyed-write.ts'
import { counted, lineNumberAt } from './lines.ts'
import { nearNames } from './near-names.ts'
import { printable } from './printable.ts'
import { refusalsAsResults } from './refusals.ts'
import { explainNoMatch, findMatches, replaceMatches } from './replace-text.ts'
import { structuredPatch } from './structured-patch.ts'
import type { Tool } from './tool.ts'
import { ToolRefusal } from './tool-refusal.ts'
import { decodeStrictly } from './utf8.ts'

/** Characters up to which transcripts keep the content from before the edit. */
const MAX_ORIGINAL = 32_768
const MAX_LINES_NAMED = 10

const EditInput = z.strictObject({
  file_path: z.string().describe('The file, absolute or relative to the working directory'),
  old_string: z.string().describe('The text to replace, exactly as it stands in the file'),
  new_string: z.string().describe('What to put in its place'),
  replace_all: z.boolean().optional().describe('Replace every occurrence; default false'),
})
export type EditInput = z.infer<typeof EditInput>

/** Replaces a text in a file. */
export const editTool: Tool<EditInput> = {
  name: 'Edit',
  description: `Replaces one exact text in a file with another.

- Read the file first. A file that you have not read, or that changed since, is refused.
- \`old_string\` must stand in the file exactly once: copy it with its indentation, without the line numbers of Read, and add lines around it until it is unique. Or set \`replace_all\` to change every occurrence, for example to rename something.
- Keep \`old_string\` short: a few lines are enough. An empty \`new_string\` deletes.
- To create a file use Write.`,
  inputSchema: EditInput,
  resume: 'keyed',
  isReadOnly: () => false,
  isConcurrencySafe: () => false,
  writes: (input) => input.file_path,
  ruleSubject: (input) => input.file_path,
  intend: async (input, context) => {
    let where: Where | undefined
    const change: Change = (place, old) => {
      where = whereIn(old, input)
      return edited(input)(place, old)
    }
    return { ...(await intendChange(input.file_path, change, context)), ...where }
  },
  run: (input, context) =>
    refusalsAsResults(async () => {
      const written = await applyChange(input.file_path, edited(input), context)
      const { place, before, after, hash } = written
      const original = before?.toString()
      return {
        content: summary(place, Where.safeParse(context.intent).data) + otherNamesNote(written),
        structured: {
          filePath: place.named,
          oldString: input.old_string,
          newString: input.new_string,
          ...(original !== undefined && original.length <= MAX_ORIGINAL ? { originalFile: original } : {}),
          structuredPatch:
            before === undefined ? [] : await structuredPatch(place.named, original ?? '', after.toString()),
          userModified: false,
          replaceAll: input.replace_all ?? false,
        },
        files: [{ path: place.real, hash }],
      }
    }),
}

/** The change that an input asks for. */
const edited =
  (input: EditInput): Change =>
  async (place, old) => {
    if (input.old_string === input.new_string) {
      throw new ToolRefusal('old_string and new_string are the same: there is nothing to change.')
    }
    // The way in which models create a file by an edit; an empty file has nothing else to replace either.
    if (input.old_string === '' && (old === null || old.length === 0)) return Buffer.from(input.new_string)
    if (old === null) throw await missing(place)
    if (input.old_string === '') {
      throw new ToolRefusal(`old_string is empty, but ${place.named} is not. Name the text to replace.`)
    }
    const text = decodeStrictly(place, old)
    const matches = findMatches(text, input.old_string)
    if (matches.length === 0) {
      const hint = explainNoMatch(text, input.old_string)
      throw new ToolRefusal(`old_string does not stand in ${place.named}.${hint}`)
    }
    if (matches.length > 1 && !input.replace_all) {
      const lines = matches.slice(0, MAX_LINES_NAMED).map(({ start }) => lineNumberAt(text, start))
      const more = matches.length > lines.length ? ', …' : ''
      throw new ToolRefusal(
        `old_string stands ${matches.length} times in ${place.named} (lines ${lines.join(', ')}${more}). Add lines around it until it is unique, or set replace_all.`,
      )
    }
    return Buffer.from(replaceMatches(text, matches, input.new_string))
  }

async function missing(place: Place): Promise<ToolRefusal> {
  const near = await nearNames(place.named)
  const hint =
    near.length > 0 ? `Did you mean ${near.map(printable).join(' or ')}?` : 'Use Write to create it.'
  return new ToolRefusal(`${place.named} does not exist. ${hint}`)
}

function summary(place: Place, where: Where | undefined): string {
  if (where === undefined || where.matches === 0) return `Edited ${place.named}.`
  if (where.matches === 1) return `Edited ${place.named} at line ${where.line}.`
  return `Edited ${place.named}: ${counted(where.matches, 'replacement')}.`
}

/** Part of the intent: an edit that a resume finds done says what it would have said at once (law 3). */
const Where = z.object({
  matches: z.number().int().nonnegative(),
  /** Of the first match, from 1; 0 when there is none. */
  line: z.number().int().nonnegative(),
})
type Where = z.infer<typeof Where>

function whereIn(old: Buffer | null, { old_string }: EditInput): Where {
  const text = old === null || old_string === '' ? '' : old.toString()
  const matches = text === '' ? [] : findMatches(text, old_string)
  const first = matches[0]
  return { matches: matches.length, line: first === undefined ? 0 : lineNumberAt(text, first.start) }
}
