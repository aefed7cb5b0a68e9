/**
 * The worker as one plain file: a loader that compiles TypeScript while it runs would take a second at each of its
 * many starts.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { build } from 'tsdown'

const worker = path.resolve(import.meta.dirname, '../worker.ts')

export interface CompiledWorker {
  /** The file to start with node. */
  readonly path: string
  /** Removes it. */
  readonly dispose: () => void
}

/**
 * Compiles a worker with everything it imports, so that it runs from a temporary folder. `others` are files that it
 * loads while it runs: they are compiled into the folder, too, under the names that are their keys.
 */
export async function compileWorker(
  file = worker,
  others: Readonly<Record<string, string>> = {},
): Promise<CompiledWorker> {
  const outDir = mkdtempSync(path.join(tmpdir(), 'troupe-crash-worker-'))
  await build({
    cwd: path.dirname(file),
    config: false,
    entry: { worker: file, ...others },
    outDir,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    dts: false,
    clean: false,
    logLevel: 'silent',
    deps: { alwaysBundle: [/.*/] },
    outExtensions: () => ({ js: '.mjs' }),
  })
  return {
    path: path.join(outDir, 'worker.mjs'),
    dispose: () => rmSync(outDir, { recursive: true, force: true }),
  }
}
