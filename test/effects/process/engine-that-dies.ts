/** An engine for the tests of survivors: starts a command, says what it started, and waits to be killed. */
import { createLocalProcessRunner } from '../../../src/effects/process/local-process-runner.ts'

const [mark = '', command = ''] = process.argv.slice(2)
await createLocalProcessRunner().run({
  command,
  mark,
  cwd: process.cwd(),
  timeoutMs: 60_000,
  maxOutputBytes: 1000,
  signal: new AbortController().signal,
  onStarted: (started) => process.stdout.write(`${JSON.stringify({ ...started, mark })}\n`),
})
