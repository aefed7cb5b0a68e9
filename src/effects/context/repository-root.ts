/** Where the repository ends that a folder is part of. */
import { existsSync, realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

/** The nearest folder from `cwd` upwards that holds `.git`, links resolved; undefined outside a repository. */
export function findRepositoryRoot(cwd: string): string | undefined {
  for (let folder = realFolder(cwd); ; folder = dirname(folder)) {
    if (existsSync(join(folder, '.git'))) return folder
    if (dirname(folder) === folder) return undefined
  }
}

/** The folder with links resolved, or as it is named where that cannot be done. */
export function realFolder(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return resolve(path)
  }
}
