import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { thisProcess } from '../../src/journal/process-identity.ts'
import {
  acquireSessionLock,
  SessionLockedError,
  UNREADABLE_GRACE_MS,
} from '../../src/journal/session-lock.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const ENGINE = { engine: 'engine-1', startedAt: Date.UTC(2026, 0, 1) }
const lockIn = (folder: string) => path.join(folder, 'session/lock')

/** A lock file as somebody else would have left it. */
function leaveLock(lock: string, fields: object): void {
  mkdirSync(path.dirname(lock), { recursive: true })
  const owner = {
    ...thisProcess(),
    engine: 'engine-0',
    startedAt: '2025-12-31T00:00:00.000Z',
    id: 'left',
    ...fields,
  }
  writeFileSync(lock, JSON.stringify(owner))
}

function refusalOf(act: () => unknown): SessionLockedError {
  try {
    act()
  } catch (error) {
    if (SessionLockedError.is(error)) return error
    throw error
  }
  throw new Error('the lock was expected to be refused')
}

/** Starts a process that tries for a lock when it is told to. */
async function startHolder(): Promise<{ child: ChildProcess; tryFor: (lock: string) => Promise<string> }> {
  const script = path.join(import.meta.dirname, 'lock-holder.ts')
  const child = spawn(process.execPath, ['--import', 'tsx', script], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  expect((await lines.next()).value).toBe('ready')
  const tryFor = async (lock: string) => {
    child.stdin.write(`${lock}\n`)
    return String((await lines.next()).value)
  }
  return { child, tryFor }
}

describe('a session lock', () => {
  it('is held until it is released, and leaves nothing behind', () => {
    const lock = lockIn(temporaryFolder())
    const first = acquireSessionLock(lock, ENGINE)
    expect(readdirSync(path.dirname(lock))).toEqual(['lock'])
    expect(statSync(lock).mode & 0o777).toBe(0o600)
    expect(JSON.parse(readFileSync(lock, 'utf8'))).toMatchObject({
      host: expect.any(String),
      pid: process.pid,
      engine: 'engine-1',
      startedAt: '2026-01-01T00:00:00.000Z',
    })
    first.release()
    first.release()
    expect(readdirSync(path.dirname(lock))).toEqual([])
    acquireSessionLock(lock, ENGINE).release()
  })

  it('is refused to a second engine of the same process, naming the first', () => {
    const lock = lockIn(temporaryFolder())
    const held = acquireSessionLock(lock, ENGINE)
    const refusal = refusalOf(() => acquireSessionLock(lock, { ...ENGINE, engine: 'engine-2' }))
    expect(refusal).toMatchObject({ code: 'session-locked', owner: { pid: process.pid, engine: 'engine-1' } })
    for (const part of [
      String(process.pid),
      thisProcess().host,
      '2026-01-01',
      'engine-1',
      'this very process',
    ]) {
      expect(refusal.message).toContain(part)
    }
    held.release()
  })

  it('does not remove the lock of another when it is released late', () => {
    const lock = lockIn(temporaryFolder())
    const held = acquireSessionLock(lock, ENGINE)
    leaveLock(lock, {})
    held.release()
    expect(JSON.parse(readFileSync(lock, 'utf8'))).toMatchObject({ id: 'left' })
  })

  it.skipIf(process.platform !== 'linux').each([
    ['its process started at another time: the number was used again', { startTime: '1' }],
    ['its machine was started again since', { bootId: 'another-boot' }],
    [
      'its machine was started again since, whatever container it was in',
      { bootId: 'x', pidNamespace: 'pid:[1]' },
    ],
  ])('is taken over when %s', (_, fields) => {
    const lock = lockIn(temporaryFolder())
    leaveLock(lock, fields)
    const taken = acquireSessionLock(lock, ENGINE)
    expect(readdirSync(path.dirname(lock))).toEqual(['lock'])
    taken.release()
  })

  it.each([
    ['another host', { host: 'elsewhere' }],
    ['another container of this host', { pidNamespace: 'pid:[1]' }],
  ])('of %s is taken over only when asked', (_, fields) => {
    const lock = lockIn(temporaryFolder())
    leaveLock(lock, fields)
    const refusal = refusalOf(() => acquireSessionLock(lock, ENGINE))
    expect(refusal.message).toContain('--take-over')
    acquireSessionLock(lock, ENGINE, { takeOver: true }).release()
    expect(existsSync(lock)).toBe(false)
  })

  it('of a live owner is not taken over, even when asked', () => {
    const lock = lockIn(temporaryFolder())
    const held = acquireSessionLock(lock, ENGINE)
    expect(refusalOf(() => acquireSessionLock(lock, ENGINE, { takeOver: true })).code).toBe('session-locked')
    held.release()
  })

  it.each(['', '{"host":', '{"host":"h"}', '\0\0\0'])(
    'that cannot be read (%j) counts as live for some seconds, then as dead',
    (content) => {
      const lock = lockIn(temporaryFolder())
      mkdirSync(path.dirname(lock))
      writeFileSync(lock, content)
      expect(refusalOf(() => acquireSessionLock(lock, ENGINE)).owner).toBeUndefined()
      const before = (Date.now() - UNREADABLE_GRACE_MS - 1_000) / 1_000
      utimesSync(lock, before, before)
      acquireSessionLock(lock, ENGINE).release()
    },
  )

  it('goes on where another taker died: its claim is taken over in turn', () => {
    const lock = lockIn(temporaryFolder())
    leaveLock(lock, { pid: 999_999_999 })
    leaveLock(`${lock}.left`, { pid: 999_999_999, id: 'taker' })
    acquireSessionLock(lock, ENGINE).release()
    expect(readdirSync(path.dirname(lock))).toEqual([])
  })

  it('of a dead owner is not touched while a live taker has the claim', () => {
    const lock = lockIn(temporaryFolder())
    leaveLock(lock, { pid: 999_999_999 })
    leaveLock(`${lock}.left`, { id: 'taker', engine: 'the taker' })
    expect(refusalOf(() => acquireSessionLock(lock, ENGINE)).owner).toMatchObject({ engine: 'the taker' })
    expect(JSON.parse(readFileSync(lock, 'utf8'))).toMatchObject({ id: 'left' })
  })

  it('that another taker has replaced in the meantime is not replaced again', () => {
    const lock = lockIn(temporaryFolder())
    leaveLock(lock, { pid: 999_999_999 })
    // Between the look that finds it dead and the claim on it.
    const looking = vi.spyOn(process, 'kill').mockImplementationOnce(() => {
      leaveLock(lock, { id: 'newer', engine: 'the faster taker' })
      throw Object.assign(new Error('no such process'), { code: 'ESRCH' })
    })
    onTestFinished(() => looking.mockRestore())
    const refusal = refusalOf(() => acquireSessionLock(lock, ENGINE))
    expect(refusal.owner).toMatchObject({ engine: 'the faster taker' })
    expect(JSON.parse(readFileSync(lock, 'utf8'))).toMatchObject({ id: 'newer' })
    expect(readdirSync(path.dirname(lock))).toEqual(['lock'])
  })

  it('takes away what dead takers left beside it, and nothing of the living or of others', () => {
    const lock = lockIn(temporaryFolder())
    const temporary = (n: number) => `${lock}.0000000${n}-0000-4000-8000-000000000000.tmp`
    leaveLock(temporary(1), { pid: 999_999_999 })
    // The pid is in use, by a process that was started at another time.
    leaveLock(temporary(2), { startTime: '1' })
    leaveLock(`${lock}.some-dead-owner`, { pid: 999_999_999 })
    leaveLock(temporary(3), { startTime: thisProcess().startTime })
    leaveLock(temporary(4), { host: 'elsewhere' })
    const before = (Date.now() - UNREADABLE_GRACE_MS - 1_000) / 1_000
    for (const unreadable of [temporary(5), temporary(6), `${lock}.notes`, `${lock}file`])
      writeFileSync(unreadable, '')
    for (const old of [temporary(5), `${lock}.notes`, `${lock}file`]) utimesSync(old, before, before)
    acquireSessionLock(lock, ENGINE).release()
    expect(readdirSync(path.dirname(lock)).toSorted()).toEqual(
      [temporary(3), temporary(4), temporary(6), `${lock}.notes`, `${lock}file`].map((file) =>
        path.basename(file),
      ),
    )
  })

  it('that cannot be written is a storage error', () => {
    const folder = temporaryFolder()
    writeFileSync(path.join(folder, 'session'), 'a file')
    expect(() => acquireSessionLock(lockIn(folder), ENGINE)).toThrow(
      expect.objectContaining({ name: 'StorageError' }),
    )
  })
})

describe('a session lock between processes', () => {
  it('of a killed owner has exactly one taker, in twenty races of two', async () => {
    const folder = temporaryFolder()
    const locks = Array.from({ length: 20 }, (_, i) => path.join(folder, `${i}/lock`))
    const [owner, one, other] = await Promise.all([startHolder(), startHolder(), startHolder()])
    for (const lock of locks) expect(await owner.tryFor(lock)).toBe('won')
    const refusal = refusalOf(() => acquireSessionLock(locks[0] ?? '', ENGINE))
    expect(refusal.owner?.pid).toBe(owner.child.pid)
    expect(refusal.message).toContain('Wait until it ends, or end it')

    const hasExited = once(owner.child, 'exit')
    owner.child.kill('SIGKILL')
    await hasExited
    for (const lock of locks) {
      const outcomes = await Promise.all([one.tryFor(lock), other.tryFor(lock)])
      expect(outcomes.toSorted()).toEqual(['lost', 'won'])
      const winner = outcomes[0] === 'won' ? one : other
      expect(JSON.parse(readFileSync(lock, 'utf8'))).toMatchObject({ pid: winner.child.pid })
      expect(readdirSync(path.dirname(lock))).toEqual(['lock'])
    }
  })
})
