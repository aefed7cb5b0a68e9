/** The tool `Glob`. */
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import { isAbsolutePath, type Place, withHome } from './confinement.ts'
import { counted } from './lines.ts'
import { printable } from './printable.ts'
import { leftOutNote, readableIn } from './readable-files.ts'
import { refusalsAsResults } from './refusals.ts'
import { boundsOf, cutNote, runRipgrep, unreadableNote, WITHOUT_VCS } from './ripgrep.ts'
import { placeSearchRoot } from './search-root.ts'
import { type SearchTarget, withSearchTarget } from './search-target.ts'
import type { Tool, ToolContext, ToolOutput } from './tool.ts'
import { ToolRefusal } from './tool-refusal.ts'

const MAX_FILES = 100
const MAX_BYTES = 1024 * 1024

const GlobInput = z.strictObject({
  pattern: z.string().min(1).describe('For example "**/*.ts", "src/**/*.{js,jsx}" or "package.json"'),
  path: z.string().optional().describe('The folder to search in; default: the working directory'),
})
export type GlobInput = z.infer<typeof GlobInput>

/** Finds files by name. */
export const globTool: Tool<GlobInput> = {
  name: 'Glob',
  description: `Finds files by name pattern, the last modified first, at most ${MAX_FILES}.

- \`*\`, \`?\`, \`[…]\`, \`{a,b}\` and \`**\` are understood. A pattern without a slash matches names in every folder; one with a slash counts from \`path\`.
- Folders that .gitignore excludes are left out unless \`path\` names one.
- To search inside files use Grep.`,
  inputSchema: GlobInput,
  resume: 'repeat',
  isReadOnly: () => true,
  isConcurrencySafe: () => true,
  ruleSubject: (input) => withHome(splitPattern(input).folder ?? '.'),
  run: (input, context) =>
    refusalsAsResults(async () => {
      refuseOddPattern(input.pattern)
      const { folder, pattern } = splitPattern(input)
      const root = await placeSearchRoot(folder, context)
      if (root.kind !== 'folder') throw new ToolRefusal(`${root.named} is a file. Give a folder as path.`)
      return withSearchTarget(root, context.cwd, (target) => listFiles(root, pattern, target, context))
    }),
}

async function listFiles(
  root: Place,
  pattern: string,
  target: SearchTarget,
  context: ToolContext,
): Promise<ToolOutput> {
  const startedAt = context.clock.now()
  const found = await runRipgrep({
    args: [
      ...['--files', '--null', '--sortr=modified', `--glob=${pattern}`],
      ...WITHOUT_VCS,
      ...boundsOf(root.real),
    ],
    target,
    maxBytes: MAX_BYTES,
    context,
  })
  // Every name ends with the separator; what stands after the last one is empty or was cut.
  const all = found.text
    .split('\0')
    .slice(0, -1)
    .map((name) => name.replace(/^\.\//, ''))
  const mayShow = readableIn(root, context)
  const names = all.filter((name) => mayShow(join(root.named, name)))
  const newest = await newestFirst(names.slice(0, MAX_FILES), target.cwd)
  const filenames = newest.map(target.shown)
  const truncated = found.cut !== undefined || names.length > filenames.length
  const unreadable = found.unreadable.filter((name) => mayShow(join(root.named, name))).map(target.shown)
  const notes = [leftOutNote(all.length - names.length), unreadableNote(unreadable)]
  return {
    content: describe(filenames, truncated, cutNote(found), notes),
    structured: {
      filenames,
      durationMs: context.clock.now() - startedAt,
      numFiles: filenames.length,
      truncated,
    },
  }
}

function describe(
  filenames: readonly string[],
  truncated: boolean,
  cut: string | undefined,
  notes: readonly (string | undefined)[],
): string {
  const last = notes.filter((note) => note !== undefined)
  if (filenames.length === 0) return [cut ?? 'No files found', ...last].join('\n')
  const more = `[Only the ${counted(filenames.length, 'file')} modified last. Make the pattern narrower to see others.]`
  return [...filenames.map(printable), ...(truncated ? [more] : []), ...last].join('\n')
}

/** Files of the same age come in the order of their names, so that the same folder gives the same answer. */
async function newestFirst(names: readonly string[], folder: string): Promise<readonly string[]> {
  const timeOf = async (name: string): Promise<number> =>
    lstat(join(folder, name)).then(
      (stats) => stats.mtimeMs,
      () => 0,
    )
  const aged = await Promise.all(names.map(async (name) => ({ name, time: await timeOf(name) })))
  return aged.sort((a, b) => b.time - a.time || (a.name < b.name ? -1 : 1)).map(({ name }) => name)
}

/** Throws a {@link ToolRefusal} for a pattern that does not mean what it seems to. */
function refuseOddPattern(pattern: string): void {
  if (pattern.startsWith('!')) throw new ToolRefusal('A pattern cannot begin with "!": name what to find.')
  if (partsOf(pattern).rest.includes('..'))
    throw new ToolRefusal(`The pattern ${pattern} has ".." after a wildcard. Use path.`)
}

/** The folders before the first wildcard, and what follows: at least a name. */
function partsOf(pattern: string): { readonly fixed: readonly string[]; readonly rest: readonly string[] } {
  const segments = pattern.split('/')
  const firstWild = segments.findIndex((segment) => /[*?[{\\]/.test(segment))
  const fixed = segments.slice(0, firstWild < 0 ? -1 : firstWild)
  return { fixed, rest: segments.slice(fixed.length) }
}

/** Takes the fixed folders out of a pattern that is absolute or climbs, since globs count from a folder. */
function splitPattern({ pattern, path }: GlobInput): {
  readonly folder: string | undefined
  readonly pattern: string
} {
  const { fixed, rest } = partsOf(pattern)
  if (isAbsolutePath(pattern)) return { folder: fixed.join('/') || '/', pattern: `/${rest.join('/')}` }
  if (!fixed.includes('..')) return { folder: path, pattern: pattern.replace(/^(\.\/)+/, '') }
  return { folder: join(path ?? '.', ...fixed), pattern: `/${rest.join('/')}` }
}
