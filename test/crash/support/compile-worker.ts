/**
 * The worker as one plain file: a loader that compiles TypeScript while it runs would take a second at each of its
 * many starts.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { build } from 'tsdown'

const folder = path.resolve(import.meta.dirname, '..')

export interface CompiledWorker {
  /** The file to start with node. */
  readonly path: string
  /** Removes it. */
  readonly dispose: () => void
}

/** Compiles the worker with everything it imports, so that it runs from a temporary folder. */
export async function compileWorker(): Promise<CompiledWorker> {
  const outDir = mkdtempSync(path.join(tmpdir(), 'troupe-crash-worker-'))
  await build({
    cwd: folder,
    config: false,
    entry: { worker: path.join(folder, 'worker.ts') },
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
