import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { onTestFinished } from 'vitest'

/** A new folder that is gone when the test is over. Call it inside a test. */
export function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'troupe-test-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
