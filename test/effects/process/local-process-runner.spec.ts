import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { omissionMarker } from '../../../src/effects/process/capped-output.ts'
import { createLocalProcessRunner } from '../../../src/effects/process/local-process-runner.ts'
import type { ProcessOutcome, ProcessRequest } from '../../../src/effects/process/process-runner.ts'
import { startTimeOf } from '../../../src/effects/process/process-table.ts'
import { createVirtualClock } from '../../../src/effects/virtual-clock.ts'
import { createBell } from '../../helpers/bell.ts'
import { onceWritten, runsStill } from '../../helpers/real-processes.ts'

const onLinux = process.platform === 'linux'
const runner = createLocalProcessRunner({ graceMs: 100 })
let cwd = ''
beforeAll(async () => {
  cwd = await realpath(await mkdtemp(join(tmpdir(), 'troupe-run-')))
})
afterAll(() => rm(cwd, { recursive: true, force: true }))

const request = (command: string, overrides: Partial<ProcessRequest> = {}): ProcessRequest => ({
  command,
  cwd,
  mark: 'a00000000000000e1/1.2.0',
  timeoutMs: 20_000,
  maxOutputBytes: 10_000,
  signal: new AbortController().signal,
  ...overrides,
})
const run = (command: string, overrides?: Partial<ProcessRequest>): Promise<ProcessOutcome> =>
  runner.run(request(command, overrides))

/** What this process signals to others from now on. Whoever ends a group looks whether it is there in each round. */
function watchSignals() {
  const bell = createBell()
  const signals: (string | number)[] = []
  let looks = 0
  const kill = process.kill.bind(process)
  const spy = vi.spyOn(process, 'kill').mockImplementation((pid, signal = 'SIGTERM') => {
    if (signal === 0) looks += 1
    else signals.push(signal)
    bell.ring()
    return kill(pid, signal)
  })
  onTestFinished(() => spy.mockRestore())
  return {
    signals,
    /** Resolves after so many more rounds have begun. */
    rounds: (count: number) => {
      const wanted = looks + count
      return bell.until(() => looks >= wanted)
    },
  }
}

describe('a command', () => {
  it('gives its output and its exit code', async () => {
    expect(await run('echo hello; exit 3')).toEqual({
      output: 'hello\n',
      exitCode: 3,
      signal: null,
      ended: 'exit',
      omittedBytes: 0,
    })
  })

  it('has both its streams in the order in which it wrote', async () => {
    const { output } = await run('for i in 1 2 3; do echo out$i; echo err$i >&2; done')
    expect(output).toBe('out1\nerr1\nout2\nerr2\nout3\nerr3\n')
  })

  it('hands on all its output as it comes, also what the cap leaves out', async () => {
    let heard = ''
    const onOutput = (chunk: Buffer): void => {
      heard += chunk
    }
    const { output, omittedBytes } = await run('seq 1 1000', { onOutput, maxOutputBytes: 100 })
    expect(heard).toBe(Array.from({ length: 1000 }, (_, n) => `${n + 1}\n`).join(''))
    expect(omittedBytes).toBe(heard.length - 100)
    expect(output).not.toContain('\n500\n')
  })

  it('can open its error stream by name', async () => {
    expect((await run('echo there > /dev/stderr')).output).toBe('there\n')
  })

  it('reads nothing, so that a question ends instead of hanging', async () => {
    expect((await run('read answer; echo "got $? [$answer]"')).output).toBe('got 1 []\n')
  })

  it('runs in its folder, with its mark and the given variables, without the withheld ones', async () => {
    process.env['TROUPE_TEST_SECRET'] = 'secret'
    const careful = createLocalProcessRunner({ withheldEnv: ['TROUPE_TEST_SECRET'] })
    const command = 'pwd; echo $TROUPE_CALL; echo $GIVEN; echo "[$TROUPE_TEST_SECRET]"'
    const { output } = await careful.run(request(command, { env: { GIVEN: 'given' } }))
    delete process.env['TROUPE_TEST_SECRET']
    expect(output).toBe(`${cwd}\na00000000000000e1/1.2.0\ngiven\n[]\n`)
  })

  it('keeps head and tail of long output and counts the rest', async () => {
    const { output, omittedBytes } = await run('seq 1 20000', { maxOutputBytes: 100 })
    expect(omittedBytes).toBe(108_894 - 100)
    expect(output.startsWith('1\n2\n3\n')).toBe(true)
    expect(output.endsWith('\n19999\n20000\n')).toBe(true)
    expect(output).toContain(omissionMarker(omittedBytes))
  })

  it('names the signal that ended it', async () => {
    expect(await run('kill -SEGV $$')).toMatchObject({ exitCode: null, signal: 'SIGSEGV', ended: 'exit' })
  })

  it('is reported as started once, with a pid and a start time, before its end', async () => {
    const reports: unknown[] = []
    const { output } = await run('echo $$', {
      onStarted: (started) => reports.push({ ...started, now: startTimeOf(started.pid) }),
    })
    const pid = Number(output)
    expect(reports).toEqual([{ pid, startTime: expect.any(String), now: expect.any(String) }])
    expect(reports).toMatchObject([{ startTime: Reflect.get(Object(reports[0]), 'now') }])
  })

  it('that nobody can record is ended, and the reason handed on', async () => {
    let group = 0
    const failing = run('sleep 30', {
      onStarted: ({ pid }) => {
        group = pid
        throw new Error('log is closed')
      },
    })
    await expect(failing).rejects.toThrow('log is closed')
    expect(runsStill(group)).toBe(false)
  })

  it('is refused in a folder that does not exist, naming the folder', async () => {
    const gone = join(cwd, 'gone')
    await expect(run('true', { cwd: gone })).rejects.toThrow(`the working directory ${gone} does not exist`)
  })

  it('leaves no pipe in the temporary folder', async () => {
    // A folder of its own: killed engines of other tests leave pipes in the common one.
    const folder = await mkdtemp(join(cwd, 'tmp-'))
    const before = process.env['TMPDIR']
    process.env['TMPDIR'] = folder
    try {
      await run('true')
    } finally {
      if (before === undefined) delete process.env['TMPDIR']
      else process.env['TMPDIR'] = before
    }
    expect(await readdir(folder)).toEqual([])
  })
})

describe('the end of a group', () => {
  it('a timeout asks first, and what the command says then is heard', async () => {
    const outcome = await run('trap "echo bye; exit 9" TERM; echo hi; sleep 30 & wait', { timeoutMs: 150 })
    expect(outcome).toMatchObject({ output: 'hi\nbye\n', exitCode: 9, ended: 'timeout' })
  })

  it.runIf(onLinux)('a tree that ignores TERM is gone when the promise resolves', async () => {
    const abort = new AbortController()
    let group = 0
    const ready = join(cwd, 'deaf-ready')
    const deaf = `trap "" TERM; (trap "" TERM; sleep 30 & sleep 30 & echo up > ${ready}; wait) & wait`
    const outcome = run(deaf, {
      signal: abort.signal,
      onStarted: ({ pid }) => {
        group = pid
      },
    })
    await onceWritten(ready)
    expect(runsStill(group)).toBe(true)
    abort.abort()
    expect(await outcome).toMatchObject({ exitCode: null, signal: 'SIGKILL', ended: 'aborted' })
    expect(runsStill(group)).toBe(false)
  })

  it('KILL waits for the grace period of the given clock', async () => {
    const clock = createVirtualClock()
    const abort = new AbortController()
    const ready = join(cwd, 'patient-ready')
    const patient = createLocalProcessRunner({ clock, graceMs: 60_000 })
    const outcome = patient.run(
      request(`trap "" TERM; echo up > ${ready}; while :; do sleep 0.02; done`, { signal: abort.signal }),
    )
    await onceWritten(ready)
    const sent = watchSignals()
    abort.abort()
    await sent.rounds(2)
    expect(sent.signals).toEqual(['SIGTERM'])
    clock.advance(59_999)
    await sent.rounds(2)
    expect(sent.signals).toEqual(['SIGTERM'])
    clock.advance(1)
    expect(await outcome).toMatchObject({ signal: 'SIGKILL', ended: 'aborted' })
    expect(sent.signals.slice(0, 2)).toEqual(['SIGTERM', 'SIGKILL'])
    expect(clock.pending).toBe(0)
  })

  it('a signal that was aborted before starts nothing', async () => {
    const marker = join(cwd, 'never')
    const outcome = await run(`touch ${marker}`, { signal: AbortSignal.abort() })
    expect(outcome).toEqual({ output: '', exitCode: null, signal: null, ended: 'aborted', omittedBytes: 0 })
    expect(existsSync(marker)).toBe(false)
  })

  it.runIf(onLinux)('a process left in the background neither hangs the call nor outlives it', async () => {
    let group = 0
    const outcome = await run('sleep 30 & echo done', {
      onStarted: ({ pid }) => {
        group = pid
      },
    })
    expect(outcome).toMatchObject({ output: 'done\n', exitCode: 0, ended: 'exit' })
    expect(runsStill(group)).toBe(false)
  })

  it('a background process that is about to finish has its moment', async () => {
    expect((await run('(sleep 0.05; echo late) & echo first')).output).toBe('first\nlate\n')
  })

  it.runIf(onLinux)(
    'one that left the group and holds the pipe hangs nothing, and is found by its mark',
    async () => {
      const pidFile = join(cwd, 'escaped')
      const agent = 'a0000000000000e5c'
      const outcome = await run(`setsid sh -c 'echo $$ > ${pidFile}; sleep 30' & echo out`, {
        mark: `${agent}/1.1.0`,
      })
      expect(outcome).toMatchObject({ output: 'out\n', ended: 'exit' })
      const escaped = Number(await onceWritten(pidFile))
      expect(runsStill(escaped)).toBe(true)
      expect(await runner.endSurvivors([], [agent])).toBe(1)
      expect(runsStill(escaped)).toBe(false)
    },
  )
})

describe.runIf(onLinux)('survivors of a killed engine', () => {
  const AGENT = 'a00000000000dead1'

  /** Starts an engine in a process of its own and kills it as soon as its command is up. */
  async function killedEngine(command: string, ready: string, mark = `${AGENT}/3.4.0`) {
    const script = fileURLToPath(new URL('./engine-that-dies.ts', import.meta.url))
    const engine = spawn(process.execPath, ['--import', 'tsx', script, mark, command], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const started = new Promise<string>((resolve) =>
      engine.stdout.once('data', (data) => resolve(String(data))),
    )
    // Both: a command can be up before its engine has said so.
    const line = await started
    await onceWritten(ready)
    const exited = new Promise((resolve) => engine.once('exit', resolve))
    engine.kill('SIGKILL')
    await exited
    const recorded: { readonly pid: number; readonly startTime: string; readonly mark: string } =
      JSON.parse(line)
    return recorded
  }

  it('are ended by their record, and a reused pid is left alone', async () => {
    const ready = join(cwd, 'recorded')
    const recorded = await killedEngine(`trap "" TERM; echo up > ${ready}; sleep 30 & sleep 30`, ready)
    expect(runsStill(recorded.pid)).toBe(true)
    const another = { pid: recorded.pid, startTime: '1', mark: 'a0000000000000000/1.1.0' }
    expect(await runner.endSurvivors([another], [])).toBe(0)
    expect(await runner.endSurvivors([{ ...another, startTime: undefined }], [])).toBe(0)
    expect(runsStill(recorded.pid)).toBe(true)
    expect(await runner.endSurvivors([recorded], [])).toBe(1)
    expect(runsStill(recorded.pid)).toBe(false)
    expect(await runner.endSurvivors([recorded], [AGENT])).toBe(0)
  })

  it('are ended by their mark, wherever they went, and those of other agents stay', async () => {
    const ready = join(cwd, 'marked')
    const other = join(cwd, 'other')
    const leaves = `setsid sh -c 'echo $$ > ${ready}; sleep 30' & sleep 30`
    const [recorded, neighbour] = await Promise.all([
      killedEngine(leaves, ready),
      killedEngine(`echo up > ${other}; sleep 30`, other, 'a00000000000dead12/1.1.0'),
    ])
    const escaped = Number(await onceWritten(ready))
    expect(runsStill(escaped)).toBe(true)
    expect(await runner.endSurvivors([], [AGENT])).toBe(2)
    expect([escaped, recorded.pid, neighbour.pid].map(runsStill)).toEqual([false, false, true])
    expect(await runner.endSurvivors([neighbour], [])).toBe(1)
  })

  it('never include this process or its ancestors, even when they carry the mark', async () => {
    // A process with the mark starts a runner that is told to end that very mark: it must live to say so.
    const script = fileURLToPath(new URL('./engine-that-resumes.ts', import.meta.url))
    const command = `sleep 30 & ${process.execPath} --import tsx ${script} ${AGENT}; wait $!; echo "alive, sleep $?"`
    const { output } = await run(command, {
      cwd: join(import.meta.dirname, '../../..'),
      mark: `${AGENT}/9.9.0`,
    })
    expect(output).toMatch(/^ended \d+\nalive, sleep 143\n$/)
  })
})
