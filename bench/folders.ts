/** Folders for one measurement. */
import { lstatSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** Does something in a new folder, which is gone afterwards. */
export async function inFolder<T>(parent: string, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = realpathSync(mkdtempSync(join(parent, 'troupe-bench-')))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Bytes of all files in a folder and below. */
export function bytesIn(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => lstatSync(join(folder, name)))
    .filter((stat) => stat.isFile())
    .reduce((sum, { size }) => sum + size, 0)
}
