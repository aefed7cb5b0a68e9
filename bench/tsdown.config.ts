/**
 * The benchmarks are built like the package, by the same bundler for the same target: a loader that compiles
 * TypeScript while it runs wraps functions, and would be measured too.
 */
import { defineConfig } from 'tsdown'

// biome-ignore lint/style/noDefaultExport: the bundler wants it.
export default defineConfig({
  entry: { main: 'main.ts', measure: 'measure.ts', 'crash-worker': 'crash/worker.ts' },
  outDir: 'dist',
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  dts: false,
  sourcemap: true,
  clean: true,
  logLevel: 'warn',
  deps: { alwaysBundle: ['rxjs', 'zod'] },
  outExtensions: () => ({ js: '.js' }),
})
