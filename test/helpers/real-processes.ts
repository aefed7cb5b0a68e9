/** Watching processes that are real. */
import { readFileSync, watch } from 'node:fs'
import path from 'node:path'
import { readProcessTable } from '../../src/effects/process/process-table.ts'

/** Whether anything of a group runs. Zombies do not. Without `/proc` nothing can be seen. */
export const runsStill = (group: number): boolean =>
  (readProcessTable() ?? []).some((entry) => entry.group === group && !entry.isDead)

/**
 * The text of a file, as soon as a process has written some: commands make one to say that they are where they should
 * be. Its folder must be there.
 */
export function onceWritten(file: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const look = (): void => {
      const text = textOf(file)
      if (text === '') return
      watcher.close()
      resolve(text)
    }
    const watcher = watch(path.dirname(file), look).on('error', reject)
    // It may have been there before anybody watched.
    look()
  })
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
