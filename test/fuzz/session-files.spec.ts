/** The small files of a session: its lock, its blobs, and what lists read of its log. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { createBlobStore } from '../../src/journal/blob-store.ts'
import { createMemoryStorage } from '../../src/journal/memory-storage.ts'
import { sessionPaths } from '../../src/journal/paths.ts'
import { thisProcess } from '../../src/journal/process-identity.ts'
import { acquireSessionLock, SessionLockedError } from '../../src/journal/session-lock.ts'
import { findSession, latestSession, listSessions } from '../../src/journal/sessions.ts'
import { StorageError } from '../../src/journal/storage.ts'
import { SessionId } from '../../src/machines/ids.ts'
import { plausibleHistory } from '../helpers/arbitraries.ts'
import { ROOT, writeLog } from '../helpers/logs.ts'
import { fuzz, goodInputs } from './support/fuzz.ts'
import { hostileText, mutated } from './support/mutations.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-fuzz-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('a lock file of any content', () => {
  const owner = { ...thisProcess(), engine: 'e', startedAt: '2026-01-01T00:00:00.000Z', id: 'left' }
  const found = fc.record({
    content: fc.oneof(
      {
        weight: 3,
        arbitrary: mutated(
          fc
            .constantFrom(owner, { ...owner, startTime: '1' }, { ...owner, host: 'other' })
            .map((each) => Buffer.from(JSON.stringify(each))),
        ),
      },
      // What another program wrote for an id becomes part of a file's name.
      fc
        .oneof(hostileText, fc.constantFrom('../../x', 'a/b', '/tmp/x'))
        .map((id) => Buffer.from(JSON.stringify({ ...owner, startTime: '1', id }))),
      fc.uint8Array({ maxLength: 30 }).map(Buffer.from),
    ),
    isOld: fc.boolean(),
    takeOver: fc.boolean(),
  })
  let count = 0

  fuzz(
    'is taken over or respected; it never crashes who looks, and nothing is left beside it',
    120,
    found,
    ({ content, isOld, takeOver }) => {
      const lock = join(folder, `session-${count++}`, 'lock')
      mkdirSync(dirname(lock), { recursive: true })
      writeFileSync(lock, content)
      if (isOld) utimesSync(lock, 1, 1)
      const outside = readdirSync(folder).length
      try {
        const taken = acquireSessionLock(lock, { engine: 'f', startedAt: 0 }, { takeOver })
        expect(readdirSync(dirname(lock))).toEqual(['lock'])
        taken.release()
        expect(readdirSync(dirname(lock))).toEqual([])
      } catch (error) {
        if (!SessionLockedError.is(error)) throw error
        expect(error.message).toContain(lock)
        expect(readdirSync(dirname(lock))).toEqual(['lock'])
      }
      expect(readdirSync(folder)).toHaveLength(outside)
      rmSync(dirname(lock), { recursive: true })
    },
  )
})

describe('a blob of any content', () => {
  const paths = sessionPaths('/home', '/project', ROOT.sessionId)
  const anyText = fc.string({ unit: 'binary', maxLength: 100 })
  const changed = fc.tuple(anyText, mutated(fc.constant(Buffer.from('a prompt'))))

  fuzz('is what its name says, or damaged', 200, changed, async ([text, bytes]) => {
    const storage = createMemoryStorage()
    const hash = await createBlobStore(storage, paths).put(text)
    const files = new Map<string, Uint8Array>([[paths.blob(hash), bytes]])
    const reread = createBlobStore(createMemoryStorage({ files }), paths).get(hash)
    const outcome = await reread.catch((error: unknown) => error)
    if (typeof outcome === 'string') expect(Buffer.from(outcome)).toEqual(bytes)
    else if (!StorageError.is(outcome) || outcome.code !== 'damaged') throw outcome
  })
})

describe('a list of sessions', () => {
  const home = '/home'
  const id = SessionId.parse('5e551011-0000-4000-8000-000000000001')
  const path = sessionPaths(home, '/project', id).rootLog
  const logs = mutated(
    goodInputs(plausibleHistory).map((drafts) => Buffer.from(writeLog(drafts, { identity: ROOT }).text)),
  )

  fuzz('names every session, whatever is in its log', 80, logs, async (bytes) => {
    const files = new Map<string, Uint8Array>([[path, bytes]])
    const storage = createMemoryStorage({ files, now: () => 1 })
    const [summary, ...others] = await listSessions(storage, home, '/project')
    expect(others).toEqual([])
    expect(summary).toMatchObject({ sessionId: id, bytes: bytes.length, agents: 1 })
    expect(Number.isFinite(summary?.startedAt) && Number.isFinite(summary?.lastAt)).toBe(true)
    expect(summary?.firstPrompt?.length ?? 0).toBeLessThanOrEqual(1_000)
    expect(await latestSession(storage, home, '/project')).toEqual(summary)
    expect(await findSession(storage, home, '/project', id.slice(0, 4))).toEqual(summary)
  })

  fuzz('finds nothing under a name that is none', 100, hostileText, async (name) => {
    const storage = createMemoryStorage({ files: new Map([[path, '']]) })
    const found = await findSession(storage, home, '/project', name)
    expect(found === undefined || found.sessionId.startsWith(name.toLowerCase())).toBe(true)
  })
})
