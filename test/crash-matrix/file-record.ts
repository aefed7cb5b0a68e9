/** The record of a session in a file: each entry is one line, written at once, and no kill takes it back. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import type { Entry, Record } from './record.ts'

/** Goes on with the record that is there. */
export function createFileRecord(file: string): Record {
  return {
    note: (entry) => appendFileSync(file, `${JSON.stringify(entry)}\n`),
    get entries(): readonly Entry[] {
      if (!existsSync(file)) return []
      return readFileSync(file, 'utf8')
        .trimEnd()
        .split('\n')
        .flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
    },
  }
}
