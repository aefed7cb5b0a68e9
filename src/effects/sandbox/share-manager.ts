/**
 * The one sandbox of a process, shared by the engines in it.
 *
 * Owns: who uses it, when it is started, and when it is ended. Its proxy keeps the process alive until then.
 *
 *   M1  Files are said anew with each command. The network is one for all of them: the package has one proxy. So an engine
 *       with another network is refused, as is one that finds the package at work for somebody else.
 *   M2  The last one to leave ends it. Whoever comes meanwhile waits, and starts it again.
 *   M3  The package listens for SIGINT and SIGTERM, which would then not end the process of a host that does not, and takes
 *       the protection away from commands that go on where the host does. Those listeners are replaced: where nobody else
 *       listens, the sandbox is ended first, and then the process as the signal says.
 *   M4  What it starts to reach the proxy ends with this process, however that ends.
 */
import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '../../definitions/message-of.ts'
import { attempt } from '../attempt.ts'
import { SandboxError } from './sandbox-error.ts'
import type { SandboxManager, SandboxNetwork } from './sandbox-manager.ts'

interface Shared {
  readonly network: string
  readonly ripgrep: string
  readonly ignoreSignals: () => void
  readonly socat: SocatScript
  users: number
  readonly started: Promise<void>
}

const inUse = new WeakMap<SandboxManager, Shared>()
/** Settles when it has been ended; never rejects. */
const ending = new WeakMap<SandboxManager, Promise<void>>()

/** Starts it, or joins those who use it. Resolves with how to leave. Rejects with a {@link SandboxError}. */
export async function shareManager(
  manager: SandboxManager,
  network: SandboxNetwork,
  ripgrep: string,
): Promise<() => Promise<void>> {
  await ending.get(manager)
  const wanted = JSON.stringify([network.allowedDomains.toSorted(), network.deniedDomains.toSorted()])
  const shared = inUse.get(manager) ?? startShared(manager, { network, ripgrep }, wanted)
  if (shared.network !== wanted)
    throw new SandboxError(
      'sandbox-taken',
      'another engine in this process has a sandbox with another network (allowedDomains, deniedDomains), and a process has one for all; give both the same, close the other one first, or use a process of its own',
    )
  shared.users += 1
  let isIn = true
  const leave = async (): Promise<void> => {
    if (!isIn) return
    isIn = false
    shared.users -= 1
    if (shared.users === 0) await endShared(manager, shared)
  }
  try {
    await shared.started
  } catch (error) {
    await leave()
    throw error
  }
  return leave
}

function startShared(manager: SandboxManager, what: SharedConfig, key: string): Shared {
  if (manager.getProxyPort() !== undefined)
    throw new SandboxError(
      'sandbox-taken',
      'this process already uses @anthropic-ai/sandbox-runtime for something else, and there is one sandbox in a process; reset it first, or use a process of its own',
    )
  const ignoreSignals = listenForSignals(manager)
  const socat = writeSocatScript()
  const started = start(manager, what, socat)
  const shared: Shared = { ...what, network: key, users: 0, ignoreSignals, socat, started }
  inUse.set(manager, shared)
  return shared
}

async function start(manager: SandboxManager, what: SharedConfig, socat: SocatScript): Promise<void> {
  try {
    await manager.initialize({
      ...configOf(what),
      ...(socat.path !== undefined && { socatPath: socat.path }),
    })
  } catch (cause) {
    throw new SandboxError('sandbox-unsupported', `it could not be started: ${messageOf(cause)}`, cause)
  } finally {
    takeItsListenersAway()
  }
}

interface SharedConfig {
  readonly network: SandboxNetwork
  /** The program's path. */
  readonly ripgrep: string
}

const configOf = ({ network, ripgrep }: SharedConfig) => ({
  network: { allowedDomains: [...network.allowedDomains], deniedDomains: [...network.deniedDomains] },
  // For commands that say nothing themselves, of which there are none.
  filesystem: { allowWrite: [], denyWrite: [], denyRead: [] },
  ripgrep: { command: ripgrep },
})

function endShared(manager: SandboxManager, { ignoreSignals, socat, ripgrep }: Shared): Promise<void> {
  inUse.delete(manager)
  ignoreSignals()
  // A proxy that does not end is not worth failing for: nothing connects through it any more.
  const ended = manager
    .reset()
    .catch(() => {})
    .then(() => {
      // It would look for our script for ever.
      manager.updateConfig(configOf({ network: { allowedDomains: [], deniedDomains: [] }, ripgrep }))
      socat.remove()
    })
  ending.set(manager, ended)
  return ended
}

/** A program that stands for `socat`. */
interface SocatScript {
  /** Undefined where temporary files cannot be run. */
  readonly path: string | undefined
  readonly remove: () => void
}

/** The bridge to the proxy would outlive a process that is killed, and nothing about it says whose it was (M4). */
function writeSocatScript(): SocatScript {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-socat-'))
  const path = join(folder, 'socat')
  writeFileSync(
    path,
    '#!/bin/sh\nif setpriv --pdeathsig KILL true 2>/dev/null; then exec setpriv --pdeathsig KILL socat "$@"; fi\nexec socat "$@"\n',
    { mode: 0o755 },
  )
  const canRun = attempt(() => accessSync(path, constants.X_OK) ?? true) === true
  return { path: canRun ? path : undefined, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** Takes the package's own listeners away, which it adds once in a process (M3). They are known by what they say. */
function takeItsListenersAway(): void {
  for (const signal of SIGNALS)
    for (const listener of process.listeners(signal))
      if (String(listener).includes('failed in registerCleanup')) process.removeListener(signal, listener)
}

function listenForSignals(manager: SandboxManager): () => void {
  const onSignal = (signal: NodeJS.Signals): void => {
    if (process.listenerCount(signal) > 1) return
    const end = (): void => {
      process.removeListener(signal, onSignal)
      process.kill(process.pid, signal)
    }
    manager.reset().then(end, end)
  }
  for (const signal of SIGNALS) process.on(signal, onSignal)
  return () => {
    for (const signal of SIGNALS) process.removeListener(signal, onSignal)
  }
}
