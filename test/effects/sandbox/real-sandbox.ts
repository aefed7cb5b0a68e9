/** The real sandbox of this machine, where it has one that works. */
import { createSandbox } from '../../../src/effects/sandbox/sandbox.ts'

const plan = {
  ...{ wantedBy: ['a test'], allowedDomains: [], deniedDomains: [] },
  ...{ allowWrite: [], denyWrite: [], denyRead: [] },
}

/** Why it cannot be tested here; undefined where it can. */
export const noSandboxHere: string | undefined = await (async () => {
  if (process.platform !== 'linux') return `these tests are for Linux, not ${process.platform}`
  const sandbox = createSandbox({ plan, records: [], warn: () => {} })
  try {
    await sandbox.open()
    return undefined
  } catch (error) {
    return String(error)
  } finally {
    await sandbox.close()
  }
})()

if (noSandboxHere !== undefined)
  process.stderr.write(`The real sandbox is not tested: ${noSandboxHere} (needs bubblewrap and socat).\n`)
