/** A process that tries for each lock it is told, says how it went, and holds it. For the tests of the lock. */
import { createInterface } from 'node:readline'
import { acquireSessionLock, SessionLockedError } from '../../src/journal/session-lock.ts'

process.stdout.write('ready\n')
for await (const lock of createInterface({ input: process.stdin })) {
  try {
    acquireSessionLock(lock, { engine: `engine of ${process.pid}`, startedAt: Date.now() })
    process.stdout.write('won\n')
  } catch (error) {
    process.stdout.write(SessionLockedError.is(error) ? 'lost\n' : `failed: ${error}\n`)
  }
}
