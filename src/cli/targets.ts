/** What a word on the command line means: a log file, the start of a session id, or the latest session. */
import { access } from 'node:fs/promises'
import { resolve } from 'node:path'
import { CliError } from './errors.ts'
import type { Host } from './host.ts'
import type { SessionReader } from './session-reader.ts'

/** Paths of the logs that are meant, the root's first. Rejects with a `CliError` when there are none. */
export async function logsOfTarget(
  target: string | undefined,
  reader: SessionReader,
  { cwd }: Pick<Host, 'cwd'>,
): Promise<readonly string[]> {
  if (target === undefined) {
    const latest = await reader.latest()
    if (latest === undefined)
      throw new CliError(`there is no session of ${cwd} yet; start one with troupe -p "…"`)
    return reader.logsOf(latest)
  }
  const path = resolve(cwd, target)
  if (looksLikeFile(target) || (await exists(path))) return reader.logsAt(path)
  return reader.logsOf(await reader.find(target))
}

const looksLikeFile = (target: string): boolean => target.endsWith('.jsonl') || /[\\/]/.test(target)

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )
