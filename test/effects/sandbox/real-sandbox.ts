/** The real sandbox of this machine, where it has one. */
import { spawnSync } from 'node:child_process'
import { rgPath } from '@vscode/ripgrep'
import { loadSandboxManager } from '../../../src/effects/sandbox/sandbox-manager.ts'

/** Why it cannot be tested here; undefined where it can. */
export const noSandboxHere: string | undefined = await (async () => {
  if (process.platform !== 'linux') return `these tests are for Linux, not ${process.platform}`
  try {
    const manager = await loadSandboxManager()
    const { errors } = manager.checkDependencies({ command: rgPath })
    return errors.length > 0 ? errors.join('; ') : whyNotHere()
  } catch (error) {
    return String(error)
  }
})()

/** Containers often have the program and forbid what it does. */
function whyNotHere(): string | undefined {
  const namespaces = ['--unshare-pid', '--unshare-net', '--dev', '/dev', '--proc', '/proc']
  const { status, error, stderr } = spawnSync('bwrap', ['--ro-bind', '/', '/', ...namespaces, 'true'], {
    encoding: 'utf8',
  })
  return status === 0 ? undefined : (error?.message ?? `bwrap: ${stderr.trim()}`)
}

if (noSandboxHere !== undefined)
  process.stderr.write(`The real sandbox is not tested: ${noSandboxHere} (needs bubblewrap and socat).\n`)
