import { existsSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  createLocalHookProcesses,
  type HookProcessIdentity,
  type HookProcessRequest,
} from '../../../src/effects/hooks/hook-process.ts'
import { onceWritten, runsStill } from '../../helpers/real-processes.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'

const processes = createLocalHookProcesses({ graceMs: 100 })
const request = (command: string, more: Partial<HookProcessRequest> = {}): HookProcessRequest => ({
  command,
  cwd: tmpdir(),
  env: { PATH: process.env['PATH'] ?? '' },
  mark: 'a00000000000000e1/hook:1.0',
  input: '{}',
  timeoutMs: 20_000,
  maxOutputBytes: 1_000_000,
  signal: new AbortController().signal,
  ...more,
})
const run = (command: string, more?: Partial<HookProcessRequest>) => processes.run(request(command, more))

/** Runs a command and says which group it was. */
async function runGroup(command: string, more: Partial<HookProcessRequest> = {}) {
  const started: HookProcessIdentity[] = []
  const outcome = await run(command, { ...more, onStarted: (process) => void started.push(process) })
  expect(started).toHaveLength(1)
  return { outcome, group: started[0]?.pid ?? 0 }
}

describe('the command of a hook', () => {
  it('has its outputs apart and its exit code', async () => {
    expect(await run('echo out; echo err > /dev/stderr; exit 2')).toEqual({
      ended: 'exit',
      exitCode: 2,
      stdout: 'out\n',
      stderr: 'err\n',
      isCut: false,
    })
    expect(await run('kill -9 $$')).toMatchObject({ ended: 'exit', exitCode: null })
  })

  it('reads its input as it was written, unicode and all, from its standard input or by name', async () => {
    const input = JSON.stringify({ prompt: 'prüfe 凍結 👩‍👩‍👧 \u2028 \0 \ud800' })
    expect((await run('cat', { input })).stdout).toBe(input)
    expect((await run('cat /dev/stdin', { input })).stdout).toBe(input)
  })

  it('gets a megabyte of input as a whole', async () => {
    const input = JSON.stringify({ prompt: 'x'.repeat(1_000_000) })
    expect((await run('wc -c', { input })).stdout.trim()).toBe(String(input.length))
  })

  it('need not read its input at all', async () => {
    const input = 'x'.repeat(1_000_000)
    expect(await run('true', { input })).toMatchObject({ ended: 'exit', exitCode: 0 })
    expect(await run('exec 0<&-; echo closed', { input })).toMatchObject({ stdout: 'closed\n' })
  })

  it('has the environment that it is given, its mark, and nothing else of this process', async () => {
    process.env['TROUPE_TEST_SECRET'] = 'secret'
    try {
      const { stdout } = await run('echo "$TROUPE_CALL $GIVEN [$TROUPE_TEST_SECRET]"', {
        env: { GIVEN: 'given' },
      })
      expect(stdout).toBe('a00000000000000e1/hook:1.0 given []\n')
    } finally {
      delete process.env['TROUPE_TEST_SECRET']
    }
  })

  it('can flood both outputs and is kept in bounds', async () => {
    const flood = 'head -c 5000000 /dev/zero | tr "\\0" x'
    const { stdout, stderr, isCut, exitCode } = await run(`${flood}; (${flood}) >&2; exit 2`, {
      maxOutputBytes: 10_000,
    })
    expect({ isCut, exitCode }).toEqual({ isCut: true, exitCode: 2 })
    expect(stdout.length).toBeLessThan(11_000)
    expect(stderr.length).toBeLessThan(11_000)
  })

  it('is ended at its time limit with all that it started, though none of it heeds TERM', async () => {
    const stubborn = `trap '' TERM; (trap '' TERM; while :; do sleep 0.05; done) & while :; do sleep 0.05; done`
    const { outcome, group } = await runGroup(stubborn, { timeoutMs: 150 })
    expect(outcome).toMatchObject({ ended: 'timeout', exitCode: null })
    expect(runsStill(group)).toBe(false)
  })

  it('is ended by an abort, and not begun after one', async () => {
    const there = path.join(temporaryFolder(), 'there')
    const controller = new AbortController()
    const running = runGroup(`echo yes > '${there}'; sleep 60`, { signal: controller.signal })
    await onceWritten(there)
    controller.abort()
    const { outcome, group } = await running
    expect(outcome.ended).toBe('aborted')
    expect(runsStill(group)).toBe(false)
    const never = path.join(temporaryFolder(), 'never')
    expect((await run(`touch '${never}'`, { signal: controller.signal })).ended).toBe('aborted')
    expect(existsSync(never)).toBe(false)
  })

  it('leaves nothing behind in its background, and does not wait for what holds its outputs', async () => {
    const { outcome, group } = await runGroup('sleep 60 & echo said; exit 0')
    expect(outcome).toMatchObject({ ended: 'exit', exitCode: 0, stdout: 'said\n' })
    expect(runsStill(group)).toBe(false)
  })

  it('is ended, and the run rejected, when nobody could record it', async () => {
    let group = 0
    const refused = run('sleep 60', {
      onStarted: ({ pid }) => {
        group = pid
        throw new Error('the disk is full')
      },
    })
    await expect(refused).rejects.toThrow('the disk is full')
    expect(runsStill(group)).toBe(false)
  })

  it('cannot start in a folder that is not there, and says so', async () => {
    const refused = run('true', { cwd: '/no/such/folder' })
    await expect(refused).rejects.toThrow(
      'could not be started for a00000000000000e1/hook:1.0: the working directory /no/such/folder does not exist',
    )
  })

  it('leaves no file of its input or outputs, nor an open handle', async () => {
    const folder = temporaryFolder()
    const before = process.env['TMPDIR']
    process.env['TMPDIR'] = folder
    const handles = () => (existsSync('/proc/self/fd') ? readdirSync('/proc/self/fd').length : 0)
    try {
      await run('cat')
      const open = handles()
      await run('cat')
      await run('true', { cwd: '/no/such/folder' }).catch(() => {})
      expect(readdirSync(folder)).toEqual([])
      expect(handles()).toBeLessThanOrEqual(open)
    } finally {
      if (before === undefined) delete process.env['TMPDIR']
      else process.env['TMPDIR'] = before
    }
  })
})
