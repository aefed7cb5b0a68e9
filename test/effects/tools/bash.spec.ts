import { afterEach, beforeEach, expect, it } from 'vitest'
import type {
  ProcessOutcome,
  ProcessRequest,
  ProcessRunner,
} from '../../../src/effects/process/process-runner.ts'
import { bashTool } from '../../../src/effects/tools/bash.ts'
import { AGENT, createWorkbench, type Workbench } from './workbench.ts'

let bench: Workbench
beforeEach(async () => {
  bench = await createWorkbench()
})
afterEach(() => bench.dispose())

/** A runner that answers with one outcome and keeps what it was asked. */
function answering(outcome: Partial<ProcessOutcome>) {
  const requests: ProcessRequest[] = []
  const processes: ProcessRunner = {
    async run(request) {
      requests.push(request)
      return { output: '', exitCode: 0, signal: null, ended: 'exit', omittedBytes: 0, ...outcome }
    },
    endSurvivors: async () => 0,
  }
  return { requests, processes }
}

it('runs a real command in the working directory', async () => {
  expect(await bench.call(bashTool, { command: 'pwd; echo problem >&2' })).toEqual({
    content: `${bench.cwd}\nproblem`,
    structured: { stdout: `${bench.cwd}\nproblem`, stderr: '', interrupted: false, isImage: false },
  })
})

it('asks the runner for its limits, its mark and its signal', async () => {
  const { requests, processes } = answering({})
  const signal = new AbortController().signal
  await bench.call(bashTool, { command: 'x' }, { processes, signal })
  await bench.call(bashTool, { command: 'x', timeout: 5 }, { processes })
  const expected = { command: 'x', cwd: bench.cwd, mark: `${AGENT}/1.2.0`, maxOutputBytes: 30_000 }
  expect(requests).toMatchObject([
    { ...expected, timeoutMs: 120_000, signal },
    { ...expected, timeoutMs: 5 },
  ])
})

it.each<[string, Partial<ProcessOutcome>, string, boolean]>([
  ['success without words', {}, '(The command ended without output.)', false],
  ['an exit code', { exitCode: 2, output: 'no such thing\n' }, 'Exit code 2\nno such thing', false],
  ['a silent failure', { exitCode: 1 }, 'Exit code 1', false],
  ['a signal', { exitCode: null, signal: 'SIGSEGV' }, 'Ended by signal SIGSEGV', false],
  [
    'a timeout',
    { ended: 'timeout', exitCode: null, signal: 'SIGTERM', output: 'half\n' },
    'Timed out after 120000 ms; the command and all it started were ended.\nhalf',
    true,
  ],
  [
    'an interrupt',
    { ended: 'aborted', exitCode: null, signal: 'SIGTERM' },
    'Interrupted; the command and all it started were ended.',
    true,
  ],
])('tells of %s', async (name, outcome, content, interrupted) => {
  const output = await bench.call(bashTool, { command: 'x' }, answering(outcome))
  expect(output.content).toBe(content)
  expect(output.isError ?? false).toBe(!name.startsWith('success'))
  expect(output.structured).toMatchObject({ interrupted })
})

it('tells why a command could not be started', async () => {
  const output = await bench.call(bashTool, { command: 'x' }, { cwd: `${bench.cwd}/gone` })
  expect(output.isError).toBe(true)
  expect(output.content).toMatch(/could not be started .*gone does not exist/)
})

it('is interrupted by a crash, and its rule is matched against the command', () => {
  expect(bashTool.resume).toBe('interrupt')
  expect(bashTool.ruleSubject?.({ command: 'git log' })).toBe('git log')
})
