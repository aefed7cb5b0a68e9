import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ProcessRunner } from '../../../src/effects/process/process-runner.ts'
import { createShellTable, type ShellTable } from '../../../src/effects/process/shell-table.ts'
import { bashTool } from '../../../src/effects/tools/bash.ts'
import { bashOutputTool } from '../../../src/effects/tools/bash-output.ts'
import { killShellTool } from '../../../src/effects/tools/kill-shell.ts'
import type { Tool } from '../../../src/effects/tools/tool.ts'
import { createVirtualClock } from '../../../src/effects/virtual-clock.ts'
import { callId } from '../../../src/machines/ids.ts'
import { createWorkbench, type Workbench } from './workbench.ts'

let bench: Workbench
let shells: ShellTable
beforeEach(async () => {
  bench = await createWorkbench()
  shells = createShellTable({ clock: createVirtualClock() })
})
afterEach(async () => {
  await shells.endAll()
  await bench.dispose()
})

const call = <I>(tool: Tool<I>, input: I, more = {}) => bench.call(tool, input, { shells, ...more })
const start = (command: string, more = {}) => call(bashTool, { command, run_in_background: true, ...more })
const ID = 'bash_1.2.0'

describe('a command in the background', () => {
  it('returns its id at once, is read in parts, and is ended by its id', async () => {
    expect(await start('echo one; sleep 60')).toEqual({
      content: `Running in the background as ${ID}. Read its output with BashOutput, end it with KillShell.`,
      structured: { stdout: '', stderr: '', interrupted: false, isImage: false, backgroundTaskId: ID },
    })
    let read = ''
    await expect
      .poll(async () => {
        const { content } = await call(bashOutputTool, { bash_id: ID })
        read += content
        return read
      })
      .toContain('one')
    expect(await call(bashOutputTool, { bash_id: ID })).toEqual({
      content: `[${ID}: running]\n(no new output)`,
      structured: { shellId: ID, command: 'echo one; sleep 60', status: 'running', stdout: '', stderr: '' },
    })
    expect((await call(killShellTool, { shell_id: ID })).content).toBe(`Killed ${ID} (echo one; sleep 60).`)
    expect((await call(killShellTool, { shell_id: ID })).content).toBe(
      `${ID} was not running any more: killed.`,
    )
    expect((await call(bashOutputTool, { bash_id: ID })).content).toMatch(/: killed\]/)
  })

  it('outlives the abort of the call that started it', async () => {
    const abort = new AbortController()
    await call(bashTool, { command: 'sleep 60', run_in_background: true }, { signal: abort.signal })
    abort.abort()
    await new Promise((resolve) => setImmediate(resolve))
    expect(shells.list()).toMatchObject([{ id: ID, end: undefined }])
  })

  it('shows only the lines that match a filter, and says how many are gone', async () => {
    await start('printf "error: a\\nfine\\nerror: b\\nfine\\n"')
    await expect.poll(() => shells.list()[0]?.end).toBeDefined()
    const output = await call(bashOutputTool, { bash_id: ID, filter: '^error' })
    expect(output.content).toBe(
      `[${ID}: ended with exit code 0]\nerror: a\nerror: b\n[2 lines did not match.]`,
    )
    expect(output.structured).toMatchObject({ status: 'exited', exitCode: 0 })
  })

  it('loses nothing by a filter that cannot be used or takes too long', async () => {
    await start(`printf 'x%.0s' $(seq 5000); echo; echo last`)
    await expect.poll(() => shells.list()[0]?.end).toBeDefined()
    const refused = await call(bashOutputTool, { bash_id: ID, filter: '(a' })
    expect(refused).toMatchObject({
      isError: true,
      content: expect.stringMatching(/no regular expression\. Nothing was read/),
    })
    const costly = await call(bashOutputTool, { bash_id: ID, filter: '(x?){900}y' })
    expect(costly.content).toMatch(/takes too long[\s\S]*xxx\nlast$/)
  })

  it.each([
    ['no table of shells', undefined, /cannot have background shells/],
    ['an interrupt before it', AbortSignal.abort(), /Interrupted; the command was not started/],
  ])('is refused with %s', async (_, signal, message) => {
    const more = signal === undefined ? { shells: undefined } : { signal }
    const { shells: __, ...context } = bench.context()
    const output =
      signal === undefined
        ? await bashTool.run({ command: 'x', run_in_background: true }, context)
        : await call(bashTool, { command: 'x', run_in_background: true }, more)
    expect(output).toMatchObject({ isError: true, content: expect.stringMatching(message) })
  })

  it('is not there after a restart, which is said with what is', async () => {
    await start('sleep 60')
    for (const output of [
      await call(bashOutputTool, { bash_id: 'bash_0.1.0' }),
      await call(killShellTool, { shell_id: 'bash_0.1.0' }),
    ]) {
      expect(output.isError).toBe(true)
      expect(output.content).toMatch(
        /no background shell bash_0\.1\.0\. .* at a restart\. Running: bash_1\.2\.0\.$/,
      )
    }
  })

  it('has an id of its own in every call', async () => {
    await start('sleep 60')
    await call(bashTool, { command: 'sleep 60', run_in_background: true }, { callId: callId(3, 4, 5) })
    expect(shells.list().map(({ id }) => id)).toEqual([ID, 'bash_3.4.5'])
  })
})

describe('a command that waits for an answer', () => {
  /** A command that asks and then does nothing until it is told to end. */
  function asking() {
    let end = (_: 'exit' | 'timeout'): void => {}
    let hasStarted = (): void => {}
    const started = new Promise<void>((resolve) => (hasStarted = resolve))
    const processes: ProcessRunner = {
      run: (request) =>
        new Promise((resolve) => {
          end = (ended) =>
            resolve({
              output: 'Sure? ',
              exitCode: ended === 'exit' ? 0 : null,
              signal: null,
              ended,
              omittedBytes: 0,
            })
          request.onOutput?.(Buffer.from('Sure? '))
          hasStarted()
        }),
      endSurvivors: async () => 0,
    }
    return { processes, started, end: (ended: 'exit' | 'timeout') => end(ended) }
  }

  it.each([
    ['exit', false],
    ['timeout', true],
  ] as const)('raises one notice; at its end by %s the result says so: %s', async (ended, isTold) => {
    const clock = createVirtualClock()
    const notices: string[] = []
    const { processes, started, end } = asking()
    const context = { clock, processes, notify: (text: string) => notices.push(text) }
    const running = call(bashTool, { command: 'npm init' }, context)
    await started
    clock.advance(300_000)
    end(ended)
    const { content } = await running
    expect(notices).toEqual([expect.stringMatching(/seems to wait for an answer.*--yes/)])
    expect(String(content).includes(notices[0] ?? '-')).toBe(isTold)
    expect(clock.pending).toBe(0)
  })
})
