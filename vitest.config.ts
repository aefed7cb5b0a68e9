import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // By itself it leaves a core free, which on a machine with two is half of them.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: [
      {
        extends: true,
        test: { name: 'src', include: ['test/**/*.spec.ts'], exclude: ['test/e2e/**'] },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.spec.ts'],
          // Runs only when a test of this project does: it builds `dist/` when that is older than the sources.
          globalSetup: ['test/e2e/build-once.ts'],
          // They start programs, which a busy machine may keep waiting.
          testTimeout: 120_000,
        },
      },
    ],
  },
})
