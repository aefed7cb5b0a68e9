/**
 * Before the tests of the built program: builds `dist/` when it is missing or older than what it is made from.
 * On a fresh clone `npm ci` has just built it, and nothing is built again.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'

const REPO = path.resolve(import.meta.dirname, '../..')
/** What the tests start or import; the build writes them last. */
const BUILT = ['cli.js', 'index.js', 'index.d.ts', 'testing.js'].map((name) => path.join(REPO, 'dist', name))
const SOURCES = ['src', 'tsdown.config.ts'].map((name) => path.join(REPO, name))

/** Vitest calls it once per run of the e2e project. */
export function setup(): void {
  const builtAt = Math.min(...BUILT.map(changedAt))
  if (builtAt >= Math.max(...SOURCES.map(newestBelow))) return
  execFileSync(process.execPath, [path.join(REPO, 'node_modules/tsdown/dist/run.mjs')], {
    cwd: REPO,
    // What it says is part of the error when it fails.
    stdio: ['ignore', 'ignore', 'pipe'],
  })
}

/** Milliseconds since the epoch; 0 for what is not there. */
const changedAt = (file: string): number => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0

function newestBelow(source: string): number {
  if (!statSync(source).isDirectory()) return changedAt(source)
  const entries = readdirSync(source, { recursive: true, withFileTypes: true })
  return Math.max(...entries.map((entry) => changedAt(path.join(entry.parentPath, entry.name))))
}
