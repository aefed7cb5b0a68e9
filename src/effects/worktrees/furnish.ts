/** What a worktree gets besides the files of its commit: links to folders of the caller's, copies of ignored files. */
import {
  constants,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { innerPathProblem } from '../../definitions/worktrees/inner-path.ts'
import type { WorktreeOptions } from '../../definitions/worktrees/options.ts'
import { hashOf } from '../tools/file-access.ts'
import { entriesOf, type Git } from './git.ts'
import { isThere } from './is-there.ts'
import type { WorktreeRecord } from './records.ts'

/** The file in which a project names ignored files that its worktrees need, in the syntax of `.gitignore`. */
const INCLUDE_FILE = '.worktreeinclude'
/** Of all copies together. More is hardly meant, and takes as long as installing it again. */
const MAX_COPIES = 1_000
const MAX_BYTES = 200 * 1024 * 1024

/** What was put there. */
export interface Furnished extends Pick<WorktreeRecord, 'links' | 'copies'> {
  readonly notes: readonly string[]
}

/** Where it is put, and where it comes from. */
interface Places {
  readonly tree: Git
  readonly caller: Git | undefined
  readonly options: WorktreeOptions
  /** The main tree, below which all worktrees are. */
  readonly root: string
}

/** Puts links and copies into a tree; `caller` is the whole tree that they come from. What is there already, because the commit has it, stays. */
export async function furnish(places: Places): Promise<Furnished> {
  const { tree, caller, options } = places
  const folders = options.symlinkDirectories ?? []
  if (caller === undefined) return { links: [], copies: [], notes: [] }
  const top = caller.cwd
  const notes: string[] = []
  const links = folders.length === 0 ? [] : await linkFolders(places, caller, notes)
  // A link would be followed, wherever it leads.
  const isFile = lstatSync(join(top, INCLUDE_FILE), { throwIfNoEntry: false })?.isFile()
  if (isFile === false) notes.push(`${INCLUDE_FILE} is no plain file, so nothing was copied.`)
  const copies = isFile === true ? await copyIncluded(caller, tree.cwd, notes) : []
  return { links, copies, notes }
}

async function linkFolders(
  { tree, options, root }: Places,
  caller: Git,
  notes: string[],
): Promise<WorktreeRecord['links']> {
  const roots = [caller.cwd, root].map((folder) => realpathSync(folder))
  const links: { path: string; target: string }[] = []
  for (const folder of options.symlinkDirectories ?? []) {
    const problem = innerPathProblem(folder) ?? (await linkProblem(folder, { tree, top: caller.cwd, roots }))
    if (problem !== undefined) {
      notes.push(`${folder} was not linked: ${problem}.`)
      continue
    }
    const [path, target] = [join(tree.cwd, folder), realpathSync(join(caller.cwd, folder))]
    mkdirSync(dirname(path), { recursive: true })
    symlinkSync(target, path)
    links.push({ path: folder, target })
  }
  return links
}

/** Why a folder is not linked. What the commit has is the agent's own, checked out or not; what lies outside stays there. */
async function linkProblem(
  folder: string,
  { tree, top, roots }: { readonly tree: Git; readonly top: string; readonly roots: readonly string[] },
): Promise<string | undefined> {
  const source = join(top, folder)
  if (!existsSync(source)) return `there is no ${source}`
  const target = realpathSync(source)
  if (!statSync(target).isDirectory()) return `${source} is no folder`
  const isInside = roots.some((root) => innerPathProblem(relative(root, target)) === undefined)
  if (!isInside) return `it leads to ${target}, which is not in the repository's own tree`
  const listed = await tree.ask(['ls-tree', '-z', '--name-only', 'HEAD', '--', folder])
  if (listed.exitCode !== 0 || listed.stdout !== '' || isThere(join(tree.cwd, folder)))
    return 'the commit has something there already'
  return leadsInside(tree.cwd, folder) ? undefined : 'the way to it leads through a link'
}

/** Whether the parent of a path in a tree is really in it: a commit can hold links that lead out. */
function leadsInside(tree: string, path: string): boolean {
  for (let parent = dirname(path); parent !== '.'; parent = dirname(parent)) {
    if (lstatSync(join(tree, parent), { throwIfNoEntry: false })?.isDirectory() === false) return false
  }
  return true
}

async function copyIncluded(caller: Git, tree: string, notes: string[]): Promise<WorktreeRecord['copies']> {
  const top = caller.cwd
  // Matched by the file, and ignored by git: what is merely untracked is the caller's unfinished work.
  const listed = await caller.run([
    'ls-files',
    '-z',
    '--others',
    '--ignored',
    `--exclude-from=${join(top, INCLUDE_FILE)}`,
  ])
  const wanted = entriesOf(listed).filter((path) => !path.endsWith('/'))
  if (wanted.length === 0) return []
  const { stdout } = await caller.ask(['check-ignore', '-z', '--stdin'], { input: `${wanted.join('\0')}\0` })
  const copies: { path: string; hash: string }[] = []
  let bytes = 0
  for (const path of entriesOf(stdout)) {
    const stats = lstatSync(join(top, path), { throwIfNoEntry: false })
    if (stats?.isFile() !== true || isThere(join(tree, path)) || !leadsInside(tree, path)) continue
    bytes += stats.size
    if (copies.length >= MAX_COPIES || bytes > MAX_BYTES) {
      notes.push(
        `${INCLUDE_FILE} matches more than ${MAX_COPIES} files or ${MAX_BYTES / 1024 / 1024} MB; the rest was not copied.`,
      )
      break
    }
    mkdirSync(dirname(join(tree, path)), { recursive: true })
    copyFileSync(join(top, path), join(tree, path), constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
    copies.push({ path, hash: hashOfFile(join(tree, path)) })
  }
  return copies
}

/** SHA-256 of a file's content, in hexadecimal. */
export const hashOfFile = (path: string): string => hashOf(readFileSync(path))
