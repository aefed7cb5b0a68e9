/**
 * Waiting for the kernel. Real time on purpose, not the engine's clock: how soon a dying process is gone has
 * nothing to do with the time that agents live in, and these timers must hold the event loop until it is.
 */
import { setTimeout as wait } from 'node:timers/promises'

/** Resolves after `ms` real milliseconds, or as soon as `signal` aborts. Never rejects. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await wait(ms, undefined, signal ? { signal } : {}).catch(() => {})
}
