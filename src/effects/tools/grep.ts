/** The tool `Grep`. */
import { resolve } from 'node:path'
import * as z from 'zod'
import { type Place, shownPath } from './confinement.ts'
import {
  GROUP_MARK,
  type GrepLine,
  linesToShow,
  type OutputMode,
  parseGrepLines,
  showGrepLine,
} from './grep-output.ts'
import { counted } from './lines.ts'
import { leftOutNote, readableIn } from './readable-files.ts'
import { refusalsAsResults } from './refusals.ts'
import { boundsOf, cutNote, runRipgrep, unreadableNote, WITHOUT_VCS } from './ripgrep.ts'
import { placeSearchRoot } from './search-root.ts'
import { type SearchTarget, withSearchTarget } from './search-target.ts'
import type { Tool, ToolContext, ToolOutput } from './tool.ts'

/** Under what the engine puts in a request. */
const MAX_CHARACTERS = 40_000
/** What is read of ripgrep's output before it is shortened to that: long lines are cut. */
const MAX_BYTES = 1024 * 1024

/** What is read of the names of all files that are searched, to count those that may not be shown. */
const MAX_LISTED_BYTES = 16 * 1024 * 1024

const lineCount = z.int().min(0).optional()

const GrepInput = z.strictObject({
  pattern: z.string().min(1).describe('A regular expression, as ripgrep takes it'),
  path: z.string().optional().describe('File or folder to search in; default: the working directory'),
  glob: z
    .string()
    .optional()
    .describe(
      'Only files that match, for example "*.ts" or "src/**/*.{js,jsx}"; one with a slash counts from path',
    ),
  type: z.string().optional().describe('Only files of a type, for example "ts", "py", "rust"'),
  output_mode: z
    .enum(['content', 'files_with_matches', 'count'])
    .optional()
    .describe('Matching lines, names of files (the default), or matches per file'),
  '-i': z.boolean().optional().describe('Ignore case'),
  '-n': z.boolean().optional().describe('Line numbers; content mode only, default true'),
  '-A': lineCount.describe('Lines to show after each match; content mode only'),
  '-B': lineCount.describe('Lines to show before each match; content mode only'),
  '-C': lineCount.describe('Lines to show before and after each match; content mode only'),
  head_limit: lineCount.describe('Only the first so many lines of the result; 0 or absent: as many as fit'),
  multiline: z.boolean().optional().describe('Let "." match line ends and matches span lines'),
})
export type GrepInput = z.infer<typeof GrepInput>

/** Searches in files. */
export const grepTool: Tool<GrepInput> = {
  name: 'Grep',
  description: `Searches file contents by regular expression (ripgrep). Use it instead of \`grep\` or \`rg\` in Bash.

- \`output_mode\`: "files_with_matches" names files, "content" shows lines as \`path:line:text\`, "count" counts per file. Paths are relative to the working directory.
- Narrow with \`path\`, \`glob\` or \`type\`; \`-A\`, \`-B\`, \`-C\` add lines around a match.
- Put a backslash before literal braces and brackets: \`interface\\{\\}\`. A pattern matches within one line unless \`multiline\` is set.
- Files that .gitignore excludes are left out unless \`path\` or \`glob\` names them.`,
  inputSchema: GrepInput,
  resume: 'repeat',
  isReadOnly: () => true,
  isConcurrencySafe: () => true,
  ruleSubject: (input) => input.path ?? '.',
  run: (input, context) =>
    refusalsAsResults(async () => {
      const mode = input.output_mode ?? 'files_with_matches'
      const root = await placeSearchRoot(input.path, context)
      return withSearchTarget(root, context.cwd, (target) => search(input, mode, root, target, context))
    }),
}

async function search(
  input: GrepInput,
  mode: OutputMode,
  root: Place,
  target: SearchTarget,
  context: ToolContext,
): Promise<ToolOutput> {
  const files = filesArgs(input, root, context.cwd)
  const found = await runRipgrep({
    args: [...searchArgs(input, mode), ...files],
    target,
    maxBytes: MAX_BYTES,
    context,
  })
  const mayShow = readableIn(root, context)
  const lines = parseGrepLines(found, mode).map((line) =>
    line.path === undefined ? line : { ...line, path: target.shown(line.path) },
  )
  const unreadable = found.unreadable.map(target.shown).filter(mayShow)
  const notes = [
    context.mayRead && leftOutNote(await countUnreadable(files, root, target, mayShow, context)),
    unreadableNote(unreadable),
  ]
  return present(context.mayRead ? linesToShow(lines, mayShow) : lines, cutNote(found), notes, mode, input)
}

function searchArgs(input: GrepInput, mode: OutputMode): readonly string[] {
  const around = (['-A', '-B', '-C'] as const).flatMap((flag) => {
    const lines = input[flag]
    return lines === undefined || mode !== 'content' ? [] : [`${flag}${lines}`]
  })
  return [
    // Sorted: the same files give the same answer. `--null` tells the end of a path from a colon in it.
    ...['--sort=path', '--null', '--no-heading', '--with-filename', `--regexp=${input.pattern}`],
    `--context-separator=${GROUP_MARK}`,
    ...(mode === 'content' ? ['--line-number', ...around] : []),
    ...(mode === 'files_with_matches' ? ['--files-with-matches'] : []),
    ...(mode === 'count' ? ['--count'] : []),
    ...(input['-i'] ? ['--ignore-case'] : []),
    ...(input.multiline ? ['--multiline', '--multiline-dotall'] : []),
  ]
}

/** Which files are searched. */
function filesArgs(input: GrepInput, root: Place, cwd: string): readonly string[] {
  const folder = shownPath(root.named, cwd)
  return [
    ...(input.type === undefined ? [] : [`--type=${input.type}`]),
    ...splitGlobs(input.glob ?? '')
      .flatMap((glob) => withoutFolder(glob, folder))
      .map((glob) => `--glob=${glob}`),
    ...WITHOUT_VCS,
    ...boundsOf(root.real),
  ]
}

/** A glob that begins with the very folder that is searched is also understood as counting from above it. */
function withoutFolder(glob: string, folder: string): readonly string[] {
  const [, mark = '', plain = ''] = /^(!?)(?:\.\/)?(.*)$/s.exec(glob) ?? []
  return plain.startsWith(`${folder}/`) ? [glob, mark + plain.slice(folder.length)] : [glob]
}

/**
 * How many of the files that are searched may not be shown, matching or not: a number of matches would let their
 * content be guessed, one pattern after the other.
 */
async function countUnreadable(
  files: readonly string[],
  root: Place,
  target: SearchTarget,
  mayShow: (path: string) => boolean,
  context: ToolContext,
): Promise<number> {
  if (target.isFile) return mayShow(root.named) ? 0 : 1
  const args = ['--files', '--null', ...files]
  const listed = await runRipgrep({ args, target, maxBytes: MAX_LISTED_BYTES, context })
  const names = listed.text.split('\0').slice(0, -1)
  return names.filter((name) => !mayShow(resolve(root.named, name))).length
}

/** Several globs may stand in one field, parted by blanks or by commas outside of braces. */
function splitGlobs(globs: string): readonly string[] {
  const found: string[] = []
  let glob = ''
  let depth = 0
  for (const character of globs) {
    if (character === '{') depth += 1
    if (character === '}' && depth > 0) depth -= 1
    const isBorder = /\s/.test(character) || (character === ',' && depth === 0)
    if (!isBorder) glob += character
    else if (glob !== '') {
      found.push(glob)
      glob = ''
    }
  }
  return glob === '' ? found : [...found, glob]
}

function present(
  all: readonly GrepLine[],
  cut: string | undefined,
  notes: readonly (string | undefined)[],
  mode: OutputMode,
  input: GrepInput,
): ToolOutput {
  const wanted = input.head_limit ? all.slice(0, input.head_limit) : all
  const shown: string[] = []
  let characters = 0
  for (const line of wanted) {
    const text = showGrepLine(line, mode, input['-n'] ?? true)
    characters += text.length + 1
    if (characters > MAX_CHARACTERS) break
    shown.push(text)
  }
  const lines = wanted.slice(0, shown.length)
  const tooLong =
    lines.length < wanted.length
      ? `[${counted(wanted.length - lines.length, 'more line')} not shown. Make the search narrower.]`
      : undefined
  const limitIsReached =
    input.head_limit !== undefined && input.head_limit > 0 && all.length >= input.head_limit
  const note = tooLong ?? (limitIsReached ? undefined : cut)
  const body = shown.join('\n')
  const found = all.length === 0 && !note ? nothingFound(mode) : headline(mode, lines)
  const text = [found, body, note, ...notes].filter((part) => part !== undefined && part !== '')
  return {
    content: text.join('\n'),
    structured: structuredResult(mode, lines, body),
  }
}

const nothingFound = (mode: OutputMode): string =>
  mode === 'content' ? 'No matches found' : 'No files found'

const totalOf = (lines: readonly GrepLine[]): number => lines.reduce((sum, { text }) => sum + Number(text), 0)

function headline(mode: OutputMode, lines: readonly GrepLine[]): string | undefined {
  if (mode === 'content' || lines.length === 0) return undefined
  const files = counted(lines.length, 'file')
  return mode === 'count' ? `Found ${counted(totalOf(lines), 'matching line')} in ${files}` : `Found ${files}`
}

function structuredResult(mode: OutputMode, lines: readonly GrepLine[], content: string): unknown {
  const filenames = [...new Set(lines.flatMap(({ path }) => (path === undefined ? [] : [path])))]
  if (mode === 'files_with_matches') return { mode, filenames, numFiles: filenames.length }
  if (mode === 'count')
    return { mode, filenames, numFiles: filenames.length, content, numMatches: totalOf(lines) }
  return { mode, filenames, numFiles: filenames.length, content, numLines: lines.length }
}
