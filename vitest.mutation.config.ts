import { defineConfig } from 'vitest/config'

/** The fast specs of each folder that `stryker.config.json` mutates. */
const SPECS: Readonly<Record<string, readonly string[]>> = {
  machines: ['test/machines/**/!(graph|structure).spec.ts'],
  // Walks the whole graph of the chart: for what the others let live, as it takes five times as long.
  graph: ['test/machines/agent/{graph,structure}.spec.ts'],
  permissions: ['test/definitions/permissions/**/*.spec.ts'],
  journal: ['test/journal/{codec,read-log}.spec.ts'],
}

/** One folder's specs alone are much faster: `TROUPE_MUTATE=machines npm run mutate -- --mutate 'src/machines/agent/**'`. */
const folder = process.env['TROUPE_MUTATE']

/**
 * Thousands of mutants are held against these specs, so they draw the same numbers each time, and what measures time
 * is left out: code with mutants in it is slow.
 */
export default defineConfig({
  test: {
    testTimeout: 30_000,
    env: { TROUPE_MUTATION: 'on' },
    setupFiles: ['test/helpers/mutation-setup.ts'],
    include: [...(folder === undefined ? Object.values(SPECS).flat() : (SPECS[folder] ?? []))],
    // A mutant is switched on for one run, which needs no modules of its own.
    isolate: false,
  },
})
