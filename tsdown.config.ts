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
    // Node takes rxjs' CommonJS build with every operator, 14 MB of memory; of this only what is used remains. The types
    // stay rxjs' own, and its observables understand each other.
    deps: { alwaysBundle: ['rxjs'] },
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
