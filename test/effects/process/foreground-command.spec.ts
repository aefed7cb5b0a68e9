import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { startInForeground } from '../../../src/effects/process/foreground-command.ts'
import type {
  ProcessOutcome,
  ProcessRequest,
  ProcessRunner,
} from '../../../src/effects/process/process-runner.ts'
import { createShellTable } from '../../../src/effects/process/shell-table.ts'
import { createVirtualClock } from '../../../src/effects/virtual-clock.ts'

/** A process that does what the test says. */
function byHand(maxOutputBytes = 1_000) {
  let seen: ProcessRequest | undefined
  let end: (outcome?: Partial<ProcessOutcome>) => void = () => {}
  const processes: Pick<ProcessRunner, 'run'> = {
    run: (request) =>
      new Promise((resolve) => {
        seen = request
        end = (outcome = {}) =>
          resolve({ output: '', exitCode: 0, signal: null, ended: 'exit', omittedBytes: 0, ...outcome })
        request.signal.addEventListener('abort', () => end({ ended: 'aborted', exitCode: null }))
      }),
  }
  const call = new AbortController()
  const command = startInForeground(processes, {
    ...{ command: 'x', cwd: '/', mark: 'a/1', timeoutMs: 5, maxOutputBytes, signal: call.signal },
  })
  return {
    call,
    command,
    began: () => seen?.onStarted?.({ pid: 1, startTime: undefined }),
    wrote: (chunk: string | Buffer) => seen?.onOutput?.(Buffer.from(chunk)),
    end: (outcome?: Partial<ProcessOutcome>) => end(outcome),
    isReleased: () => seen?.released?.aborted === true,
  }
}

const tableOf = (maxRunning = 16) => createShellTable({ clock: createVirtualClock(), maxRunning })

describe('a command that is let go', () => {
  it('goes on as a shell: what it wrote before is handed over once, the rest and its exit code are read later', async () => {
    const shells = tableOf()
    const { command, began, wrote, end, isReleased, call } = byHand()
    began()
    wrote('before\n')
    expect(isReleased()).toBe(false)
    expect(shells.adopt('s', 'x', command)).toEqual({ output: 'before\n' })
    expect(isReleased()).toBe(true)
    wrote('after\n')
    // Its call is over, and what becomes of that is nothing to it.
    call.abort()
    expect(shells.read('s')).toEqual({
      ...{ id: 's', command: 'x', end: undefined, output: 'after\n', omittedBytes: 0 },
    })
    wrote('last\n')
    end({ exitCode: 7 })
    await command.outcome
    await Promise.resolve()
    expect(shells.read('s')).toMatchObject({ output: 'last\n', end: { status: 'exited', exitCode: 7 } })
  })

  it('loses nothing and repeats nothing, wherever it is moved and read, in the middle of a character too', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: 'grapheme', maxLength: 6 }), { maxLength: 8 }),
        fc.array(fc.nat({ max: 40 }), { maxLength: 6 }),
        fc.nat({ max: 8 }),
        async (texts, cuts, moveAt) => {
          const whole = Buffer.from(texts.join(''))
          const edges = [0, ...cuts.map((cut) => Math.min(cut, whole.length)), whole.length].toSorted(
            (a, b) => a - b,
          )
          const chunks = edges.slice(1).map((to, i) => whole.subarray(edges[i], to))
          const shells = tableOf()
          const { command, began, wrote, end } = byHand()
          began()
          let read = ''
          const at = Math.min(moveAt, chunks.length)
          for (const chunk of chunks.slice(0, at)) wrote(chunk)
          read += shells.adopt('s', 'x', command)?.output
          for (const chunk of chunks.slice(at)) {
            wrote(chunk)
            read += shells.read('s')?.output
          }
          end()
          await command.outcome
          await Promise.resolve()
          read += shells.read('s')?.output
          expect(read).toBe(whole.toString())
        },
      ),
      { numRuns: 60 },
    )
  })

  it('is ended by KillShell and with its agent', async () => {
    const shells = tableOf()
    const { command, began } = byHand()
    began()
    shells.adopt('s', 'x', command)
    await shells.endAll()
    expect(shells.list()).toMatchObject([{ end: { status: 'killed' } }])
  })

  it('that fails behind its call is told as lost', async () => {
    const processes: Pick<ProcessRunner, 'run'> = {
      run: async ({ onStarted }) => {
        onStarted?.({ pid: 1, startTime: undefined })
        await new Promise((resolve) => setImmediate(resolve))
        throw new Error('the pipe is gone')
      },
    }
    const { signal } = new AbortController()
    const command = startInForeground(processes, {
      ...{ command: 'x', cwd: '/', mark: 'a/1', timeoutMs: 5, maxOutputBytes: 9, signal },
    })
    const shells = tableOf()
    expect(shells.adopt('s', 'x', command)).toBeDefined()
    await expect.poll(() => shells.read('s')?.end).toEqual({ status: 'failed', message: 'the pipe is gone' })
  })
})

describe('is not let go', () => {
  it.each([
    ['before it has begun', () => {}],
    [
      'when its call was aborted',
      ({ began, call }: ReturnType<typeof byHand>) => {
        began()
        call.abort()
      },
    ],
    [
      'when it has ended',
      async ({ began, end, command }: ReturnType<typeof byHand>) => {
        began()
        end()
        await command.outcome
      },
    ],
    [
      'twice',
      ({ began, command }: ReturnType<typeof byHand>) => {
        began()
        command.letGo()
      },
    ],
  ])('a command %s', async (_, prepare) => {
    const process = byHand()
    await prepare(process)
    const shells = tableOf()
    expect(shells.adopt('s', 'x', process.command)).toBeUndefined()
    expect(shells.list()).toEqual([])
  })

  it('where as many shells run as an agent may have: it goes on as it was', () => {
    const shells = tableOf(1)
    const [one, other] = [byHand(), byHand()]
    one.began()
    other.began()
    expect(shells.adopt('one', 'x', one.command)).toBeDefined()
    expect(shells.adopt('other', 'x', other.command)).toBeUndefined()
    expect(other.isReleased()).toBe(false)
    expect(other.command.letGo()).toBeDefined()
  })
})
