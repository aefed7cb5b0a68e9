import { defineConfig } from 'tsdown'

const entry = { index: 'src/index.ts', testing: 'src/testing.ts', cli: 'src/cli/main.ts' }

export default defineConfig([
  {
    entry,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    dts: false,
    sourcemap: true,
    clean: true,
    outExtensions: () => ({ js: '.js' }),
    // Node loads all of rxjs (14 MB of memory), of zod with its languages (15 MB) and of XState (8 MB); only what is used
    // remains. The types stay their own, and their objects understand those of another copy.
    deps: { alwaysBundle: ['rxjs', 'zod', 'xstate'] },
  },
  {
    entry: { index: entry.index, testing: entry.testing },
    format: 'esm',
    platform: 'node',
    dts: { emitDtsOnly: true, sourcemap: false },
    clean: false,
    outExtensions: () => ({ js: '.js', dts: '.d.ts' }),
  },
])
