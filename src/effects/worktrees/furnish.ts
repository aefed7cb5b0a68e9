/** What a worktree gets besides the files of its commit: links to folders of the caller's, copies of ignored files. */
import { createHash } from 'node:crypto'
import {
  constants,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import type { WorktreeOptions } from '../../definitions/worktrees/options.ts'
import type { Git } from './git.ts'
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

/** Puts links and copies into a tree; `caller` is the whole tree that they come from. What is there already, because the commit has it, stays. */
export async function furnish(places: {
  readonly tree: Git
  readonly caller: Git | undefined
  readonly options: WorktreeOptions
}): Promise<Furnished> {
  const { tree, caller, options } = places
  const folders = options.symlinkDirectories ?? []
  if (caller === undefined) return { links: [], copies: [], notes: [] }
  const top = caller.cwd
  const notes: string[] = []
  const links = folders.flatMap((folder) => link(join(top, folder), tree.cwd, folder, notes))
  const copies = existsSync(join(top, INCLUDE_FILE)) ? await copyIncluded(caller, tree.cwd, notes) : []
  return { links, copies, notes }
}

function link(source: string, tree: string, folder: string, notes: string[]): WorktreeRecord['links'] {
  const path = join(tree, folder)
  if (!existsSync(source) || isThere(path) || !leadsInside(tree, folder)) {
    notes.push(
      existsSync(source)
        ? `${folder} was not linked: the commit has something there already.`
        : `${folder} was not linked: there is no ${source}.`,
    )
    return []
  }
  const target = realpathSync(source)
  mkdirSync(dirname(path), { recursive: true })
  symlinkSync(target, path)
  return [{ path: folder, target }]
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
  const wanted = listed.split('\0').filter((path) => path !== '' && !path.endsWith('/'))
  if (wanted.length === 0) return []
  const { stdout } = await caller.ask(['check-ignore', '-z', '--stdin'], { input: `${wanted.join('\0')}\0` })
  const ignored = stdout.split('\0').filter((path) => path !== '')
  const copies: { path: string; hash: string }[] = []
  let bytes = 0
  for (const path of ignored) {
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
    copies.push({ path, hash: hashOf(join(tree, path)) })
  }
  return copies
}

/** SHA-256 of a file's content, in hexadecimal. */
export const hashOf = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex')
