/**
 * What ripgrep is pointed at: the very folder or file that was judged, held open, not its path once more.
 *
 * A folder becomes ripgrep's working directory, a file its standard input. Below a folder ripgrep follows no link;
 * one that is put in place of a subfolder between its listing and its opening is not found out.
 */
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { type Place, shownPath } from './confinement.ts'
import { holdFolder, isStillAt } from './held-folder.ts'
import { ToolRefusal } from './tool-refusal.ts'

/** A search root that is open. */
export interface SearchTarget {
  readonly isFile: boolean
  /** Where ripgrep runs. */
  readonly cwd: string
  /** Its standard input. */
  readonly stdin: 'ignore' | number
  /** Its last arguments. */
  readonly args: readonly string[]
  /** A path of its output as the model knows it: relative to the agent's working directory where it lies inside. */
  shown(path: string): string
}

/** Opens the root, hands it to `search`, closes it. Throws a {@link ToolRefusal} when it leads elsewhere by now. */
export async function withSearchTarget<T>(
  root: Place,
  cwd: string,
  search: (target: SearchTarget) => Promise<T>,
): Promise<T> {
  const base = shownPath(root.named, cwd)
  if (root.kind === 'file') {
    const handle = await open(root.real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      if (!(await handle.stat()).isFile()) throw new ToolRefusal(`${root.named} is not a plain file.`)
      if (!(await isStillAt(handle, root.real))) {
        throw new ToolRefusal(`${root.named} was moved while it was opened. Try again.`)
      }
      return await search({ isFile: true, cwd: '/', stdin: handle.fd, args: ['--', '-'], shown: () => base })
    } finally {
      await handle.close()
    }
  }
  const folder = await holdFolder(root.real)
  try {
    const shown = (path: string): string => (base === '.' ? path : join(base, path))
    return await search({ isFile: false, cwd: folder.path, stdin: 'ignore', args: ['--', './'], shown })
  } finally {
    await folder.close()
  }
}
