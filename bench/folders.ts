/**
 * Folders for measurements.
 *
 * Nothing is deleted before the end: some file systems are slow to create files where many were deleted a minute
 * ago (ext4 without a journal looks at each of their inodes again, which made one file cost a millisecond), and
 * every run would pay for the tidiness of the one before.
 */
import { lstatSync, mkdtempSync, readdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'

/** A new folder, real path. */
export function newFolder(parent: string): string {
  return realpathSync(mkdtempSync(join(parent, 'troupe-bench-')))
}

/** Bytes of all files in a folder and below. */
export function bytesIn(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => lstatSync(join(folder, name)))
    .filter((stat) => stat.isFile())
    .reduce((sum, { size }) => sum + size, 0)
}
