import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/effects/clock.ts'
import { createLocalProcessRunner } from '../../../src/effects/process/local-process-runner.ts'
import type {
  ProcessOutcome,
  ProcessRequest,
  ProcessRunner,
} from '../../../src/effects/process/process-runner.ts'
import {
  createShellTable,
  describeShell,
  type ShellState,
  type ShellTable,
  type ShellTableOptions,
} from '../../../src/effects/process/shell-table.ts'
import { createVirtualClock } from '../../../src/effects/virtual-clock.ts'

/** A runner whose processes do what the test says. */
function byHand() {
  const running: {
    readonly request: ProcessRequest
    readonly end: (outcome?: Partial<ProcessOutcome>) => void
  }[] = []
  const processes: ProcessRunner = {
    run: (request) =>
      new Promise((resolve) => {
        const end = (outcome: Partial<ProcessOutcome> = {}): void =>
          resolve({ output: '', exitCode: 0, signal: null, ended: 'exit', omittedBytes: 0, ...outcome })
        running.push({ request, end })
        request.signal.addEventListener('abort', () => end({ ended: 'aborted', exitCode: null }))
        request.onStarted?.({ pid: 1, startTime: undefined })
      }),
    endSurvivors: async () => 0,
  }
  return { running, processes }
}

const request = (id: string, processes: ProcessRunner) => ({
  ...{ id, command: `run ${id}`, cwd: '/', mark: `agent/${id}`, processes },
})

function table(options: Partial<ShellTableOptions> = {}) {
  const ended: ShellState[] = []
  const notices: string[] = []
  const clock = createVirtualClock()
  const shells = createShellTable({
    ...{ clock, onEnded: (shell) => ended.push(shell), notify: (text) => notices.push(text) },
    ...options,
  })
  return { shells, ended, notices, clock }
}

describe('a background shell', () => {
  it('runs on, hands out its output once, and is told when it ends by itself', async () => {
    const { shells, ended } = table()
    const { running, processes } = byHand()
    await shells.start(request('a', processes))
    running[0]?.request.onOutput?.(Buffer.from('one\n'))
    expect(shells.read('a')).toMatchObject({ end: undefined, output: 'one\n', command: 'run a' })
    expect(shells.read('a')).toMatchObject({ output: '' })
    running[0]?.request.onOutput?.(Buffer.from('two\n'))
    running[0]?.end({ exitCode: 3 })
    await expect.poll(() => ended).toHaveLength(1)
    expect(ended[0]).toEqual({
      id: 'a',
      command: 'run a',
      end: { status: 'exited', exitCode: 3, signal: null },
    })
    expect(shells.read('a')).toMatchObject({ output: 'two\n', end: { status: 'exited', exitCode: 3 } })
  })

  it('is not told of when it was killed', async () => {
    const { shells, ended } = table()
    const { processes } = byHand()
    await shells.start(request('a', processes))
    expect(await shells.kill('a')).toMatchObject({ end: { status: 'killed' } })
    expect(ended).toEqual([])
    expect(await shells.kill('a')).toMatchObject({ end: { status: 'killed' } })
    expect(await shells.kill('b')).toBeUndefined()
    expect(shells.read('b')).toBeUndefined()
  })

  it('has no time limit unless it is given one', async () => {
    const { shells } = table()
    const { running, processes } = byHand()
    await shells.start(request('a', processes))
    await shells.start({ ...request('b', processes), timeoutMs: 5 })
    expect(running.map(({ request: { timeoutMs } }) => timeoutMs)).toEqual([2 ** 31 - 1, 5])
    running[1]?.end({ ended: 'timeout' })
    await expect.poll(() => shells.list().map(describeShell)).toEqual(['running', 'ended at its time limit'])
    await shells.endAll()
  })

  it('that waits for an answer is told, and leaves no timer when it ends', async () => {
    const { shells, notices, clock } = table()
    const { running, processes } = byHand()
    await shells.start(request('a', processes))
    running[0]?.request.onOutput?.(Buffer.from('Proceed? '))
    clock.advance(60_000)
    expect(notices).toEqual([expect.stringMatching(/`run a` seems to wait .* "Proceed\?"/)])
    await shells.endAll()
    expect(clock.pending).toBe(0)
  })

  it('that cannot be started is refused with the reason, and is not there', async () => {
    const { shells, ended } = table()
    const processes = { run: async () => Promise.reject(new Error('no bash')), endSurvivors: async () => 0 }
    await expect(shells.start(request('a', processes))).rejects.toThrow('no bash')
    expect(shells.list()).toEqual([])
    expect(ended).toEqual([])
  })
})

describe('all shells of an agent', () => {
  it('are bounded while they run', async () => {
    const { shells } = table({ maxRunning: 2 })
    const { running, processes } = byHand()
    await shells.start(request('a', processes))
    await shells.start(request('b', processes))
    await expect(shells.start(request('c', processes))).rejects.toThrow(/2 background shells are running/)
    running[0]?.end()
    await expect.poll(() => shells.list().filter(({ end }) => end === undefined)).toHaveLength(1)
    await shells.start(request('c', processes))
    await expect(shells.start(request('c', processes))).rejects.toThrow(/a background shell c already/)
    await shells.endAll()
  })

  it('are forgotten, the oldest first, when many have ended', async () => {
    const { shells } = table()
    const { running, processes } = byHand()
    for (let n = 0; n < 40; n++) {
      await shells.start(request(`s${n}`, processes))
      running[n]?.end()
      await expect.poll(() => shells.list().every(({ end }) => end !== undefined)).toBe(true)
    }
    expect(shells.list().map(({ id }) => id)).toEqual(Array.from({ length: 32 }, (_, n) => `s${n + 8}`))
  })

  it('are gone when endAll resolves, and others can be started afterwards', async () => {
    const { shells } = table()
    const { processes } = byHand()
    await Promise.all(['a', 'b', 'c'].map((id) => shells.start(request(id, processes))))
    await shells.endAll()
    expect(shells.list().map(describeShell)).toEqual(['killed', 'killed', 'killed'])
    await shells.start(request('d', processes))
    await shells.endAll()
  })
})

describe('real processes', () => {
  let folder: string
  let shells: ShellTable
  const processes = createLocalProcessRunner({ graceMs: 200 })
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'troupe-shells-'))
    shells = createShellTable({ clock: systemClock })
  })
  afterEach(async () => {
    await shells.endAll()
    await rm(folder, { recursive: true, force: true })
  })

  const alive = (mark: string): number =>
    readdirSync('/proc').filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`TROUPE_CALL=${mark}\0`)
      } catch {
        return false
      }
    }).length

  it.runIf(process.platform === 'linux')(
    'are gone with all they started, also those that ignore TERM',
    async () => {
      const mark = `a${process.pid}/7.7.7`
      const command =
        'trap "" TERM; sleep 60 & (trap "" TERM; while :; do sleep 0.05; done) & echo up; wait; wait; wait'
      await shells.start({ id: 'a', command, cwd: folder, mark, processes })
      let output = ''
      await expect.poll(() => (output += shells.read('a')?.output)).toBe('up\n')
      expect(alive(mark)).toBeGreaterThan(1)
      await shells.endAll()
      expect(alive(mark)).toBe(0)
    },
  )

  it('are read while they run and after they have ended', async () => {
    const command = 'echo one; read -t 0.05 < /dev/zero; printf "\\303"; sleep 0.05; printf "\\244"; exit 4'
    await shells.start({ id: 'a', command, cwd: folder, mark: 'a/1.1.1', processes })
    let output = ''
    await expect
      .poll(() => {
        output += shells.read('a')?.output
        return shells.list()[0]?.end
      })
      .toMatchObject({ status: 'exited', exitCode: 4 })
    output += shells.read('a')?.output
    expect(output).toBe('one\nä')
  })
})
