/** The tool `Read`. */
import { dirname } from 'node:path'
import * as z from 'zod'
import { type Place, placeJudged, placePath } from './confinement.ts'
import { hashOf, readPlainFile } from './file-access.ts'
import { imageType } from './image-type.ts'
import { counted, cutLine, linesOf } from './lines.ts'
import { nearNames } from './near-names.ts'
import { printable } from './printable.ts'
import { failure, refusalsAsResults } from './refusals.ts'
import type { Tool, ToolOutput } from './tool.ts'
import { ToolRefusal } from './tool-refusal.ts'

const DEFAULT_LINES = 2000
const MAX_LINE = 2000
/** Under what the engine puts in a request: the cut is made here, between lines, where the model can go on. */
const MAX_CHARACTERS = 48_000
const MAX_BYTES = 20 * 1024 * 1024
const MAX_IMAGE_BYTES = 5 * 1024 * 1024

const ReadInput = z.strictObject({
  file_path: z.string().describe('The file, absolute or relative to the working directory'),
  offset: z.int().min(1).optional().describe('The line to start at, from 1'),
  limit: z.int().min(1).optional().describe('How many lines to read'),
})
export type ReadInput = z.infer<typeof ReadInput>

/** Reads a text file as numbered lines, or a picture as an image block. */
export const readTool: Tool<ReadInput> = {
  name: 'Read',
  description: `Reads a file. Lines come back as \`cat -n\` prints them: number, tab, text. Number and tab are not part of the file.

- Gives the first ${DEFAULT_LINES} lines unless \`offset\` and \`limit\` ask for others, and says where to go on if it had to stop early. Lines over ${MAX_LINE} characters are cut.
- Read a file before changing it with Edit or Write; both refuse files that were not read or have changed since.
- PNG, JPEG, GIF and WebP files come back as pictures you can see.
- Reads files only. To find files use Glob, to search in them Grep. When several files matter, read them all in one turn.`,
  inputSchema: ReadInput,
  resume: 'repeat',
  isReadOnly: () => true,
  isConcurrencySafe: () => true,
  ruleSubject: (input) => input.file_path,
  run: (input, context) =>
    refusalsAsResults(async () => {
      const place = await placeJudged(input.file_path, context)
      if (place.kind === 'folder') {
        throw new ToolRefusal(`${place.named} is a folder. Use Glob to list files, for example with "*".`)
      }
      if (place.kind === 'missing') return missing(place, context.cwd)
      const { bytes } = await readPlainFile(place.real, MAX_BYTES)
      const output = imageType(bytes) ? showImage(place, bytes) : showText(place, bytes, input)
      return output.isError ? output : { ...output, files: [{ path: place.real, hash: hashOf(bytes) }] }
    }),
}

async function missing(place: Place, cwd: string): Promise<ToolOutput> {
  const near = await nearNames(place.named)
  const parent = near.length > 0 ? undefined : await placePath(dirname(place.named), cwd)
  const hint =
    near.length > 0
      ? `Did you mean ${near.map(printable).join(' or ')}?`
      : parent?.kind === 'missing'
        ? `Its folder does not exist either. The working directory is ${cwd}.`
        : `The working directory is ${cwd}.`
  return {
    ...failure(`${place.named} does not exist. ${hint}`),
    files: [{ path: place.real, hash: null }],
  }
}

function showText(place: Place, bytes: Buffer, input: ReadInput): ToolOutput {
  if (bytes.includes(0)) {
    throw new ToolRefusal(`${place.named} is a binary file (${bytes.length} bytes), which Read cannot show.`)
  }
  const lines = linesOf(bytes.toString())
  const { offset = 1, limit = DEFAULT_LINES } = input
  if (lines.length === 0) {
    const content = `${place.named} exists and is empty.`
    return { content, structured: textResult(place, [], 1, 0) }
  }
  if (offset > lines.length) {
    throw new ToolRefusal(
      `${place.named} has only ${counted(lines.length, 'line')}; there is no line ${offset}.`,
    )
  }
  const numbered = numberLines(lines.slice(offset - 1, offset - 1 + limit), offset)
  const end = offset - 1 + numbered.length
  const stoppedEarly = end < lines.length && numbered.length < (input.limit ?? Number.POSITIVE_INFINITY)
  const note = stoppedEarly
    ? `\n\n[Lines ${offset} to ${end} of ${lines.length}. Go on with offset ${end + 1}.]`
    : ''
  return {
    content: numbered.join('\n') + note,
    structured: textResult(place, lines.slice(offset - 1, end), offset, lines.length),
  }
}

/** As many lines as fit, at least one. */
function numberLines(lines: readonly string[], first: number): readonly string[] {
  const numbered: string[] = []
  let characters = 0
  for (const line of lines) {
    const text = `${String(first + numbered.length).padStart(6)}\t${cutLine(line, MAX_LINE)}`
    characters += text.length + 1
    if (characters > MAX_CHARACTERS && numbered.length > 0) break
    numbered.push(text)
  }
  return numbered
}

function textResult(place: Place, lines: readonly string[], startLine: number, totalLines: number): unknown {
  const content = lines.join('\n')
  return {
    type: 'text',
    file: { filePath: place.named, content, numLines: lines.length, startLine, totalLines },
  }
}

function showImage(place: Place, bytes: Buffer): ToolOutput {
  const mediaType = imageType(bytes)
  if (bytes.length > MAX_IMAGE_BYTES) {
    throw new ToolRefusal(
      `${place.named} is a picture of ${bytes.length} bytes; at most ${MAX_IMAGE_BYTES} can be shown. Make it smaller first.`,
    )
  }
  const source = { type: 'base64', media_type: mediaType, data: bytes.toString('base64') }
  return {
    content: [{ type: 'image', source }],
    structured: {
      type: 'image',
      file: { filePath: place.named, type: mediaType, originalSize: bytes.length },
    },
  }
}
