/** Paths, blobs and sidecars of a session, and the list of sessions. */
import { describe, expect, it } from 'vitest'
import { agentMetaOf, writeAgentMeta } from '../../src/journal/agent-meta.ts'
import { createBlobStore } from '../../src/journal/blob-store.ts'
import type { LogIdentity } from '../../src/journal/codec.ts'
import { createMemoryStorage } from '../../src/journal/memory-storage.ts'
import { projectSlug, sessionPaths } from '../../src/journal/paths.ts'
import {
  AmbiguousSessionError,
  findSession,
  latestSession,
  listSessions,
} from '../../src/journal/sessions.ts'
import type { AgentEventOf, EventDraft } from '../../src/machines/agent/events.ts'
import { AgentId, BlobHash, callId, SessionId } from '../../src/machines/ids.ts'
import { ROOT, SESSION, writeLog } from '../helpers/logs.ts'
import { prepared, started } from '../helpers/run-events.ts'

const HOME = '/home/.troupe'
const PROJECT = '/home/me/my project.ts'
const paths = sessionPaths(HOME, PROJECT, SESSION)
const CHILD_ID = AgentId.parse('a0123456789abcdef')

describe('the slug of a project', () => {
  it('has a dash for every character that is no letter or digit', () => {
    expect(projectSlug(PROJECT)).toBe('-home-me-my-project-ts')
    expect(projectSlug('/a_b/ü/😀')).toBe('-a-b-----')
  })

  it('is the same for both ways to write an accent', () => {
    expect(projectSlug('/cafe\u0301')).toBe(projectSlug('/caf\u00e9'))
  })

  it('over 200 characters is cut there and told apart by a hash', () => {
    const long = `/${'x'.repeat(300)}`
    const slug = projectSlug(long)
    expect(slug.slice(0, 201)).toBe(`-${'x'.repeat(199)}-`)
    expect(slug.slice(201)).toMatch(/^[0-9a-z]{1,13}$/)
    expect(projectSlug(`${long}y`)).not.toBe(slug)
    expect(projectSlug(`/${'x'.repeat(199)}`)).toHaveLength(200)
  })
})

describe('the paths of a session', () => {
  it('are those that readers of transcripts look at', () => {
    const folder = `${HOME}/projects/-home-me-my-project-ts`
    expect(paths.folder).toBe(folder)
    expect(paths.rootLog).toBe(`${folder}/${SESSION}.jsonl`)
    expect(paths.agentLog(CHILD_ID)).toBe(`${folder}/${SESSION}/subagents/agent-a0123456789abcdef.jsonl`)
    expect(paths.agentMeta(CHILD_ID)).toBe(`${folder}/${SESSION}/subagents/agent-a0123456789abcdef.meta.json`)
    expect(paths.lock).toBe(`${folder}/${SESSION}/lock`)
    expect(paths.snapshots).toBe(`${folder}/${SESSION}/snapshots`)
  })
})

describe('a blob', () => {
  it('is named by the hash of its bytes, and comes back as it was', async () => {
    const storage = createMemoryStorage()
    const blobs = createBlobStore(storage, paths)
    const hash = await blobs.put('prompt ü')
    // The beginning of the SHA-256 of those nine bytes, from outside this program.
    expect(hash).toBe('7f13ea45564ef6cff7713fe6e356de81c5b9ec2b')
    expect(await blobs.get(hash)).toBe('prompt ü')
  })

  it('is found by its whole hash, as older logs have it', async () => {
    const storage = createMemoryStorage()
    const whole = BlobHash.parse('7f13ea45564ef6cff7713fe6e356de81c5b9ec2b3f583b7a39ef05acf7d345fc')
    await storage.writeWhole(paths.blob(whole), 'prompt ü')
    expect(await createBlobStore(storage, paths).get(whole)).toBe('prompt ü')
  })

  it('is written once, also by a second process', async () => {
    const storage = createMemoryStorage()
    let writes = 0
    const counting = {
      ...storage,
      writeWhole: (path: string, text: string) => {
        writes += 1
        return storage.writeWhole(path, text)
      },
    }
    const first = createBlobStore(counting, paths)
    await first.put('x')
    await first.put('x')
    await createBlobStore(counting, paths).put('x')
    expect(writes).toBe(1)
  })

  it('that a crash has left empty is written again', async () => {
    const storage = createMemoryStorage()
    const hash = await createBlobStore(storage, paths).put('x')
    await storage.writeWhole(paths.blob(hash), '')
    await createBlobStore(storage, paths).put('x')
    expect(storage.files.get(paths.blob(hash))).toBe('x')
  })

  it('that could not be written is tried again by the next one', async () => {
    const storage = createMemoryStorage()
    let isFailing = true
    const failing = {
      ...storage,
      writeWhole: async (path: string, text: string) => {
        if (isFailing) throw new Error('full')
        await storage.writeWhole(path, text)
      },
    }
    const blobs = createBlobStore(failing, paths)
    const both = await Promise.allSettled([blobs.put('x'), blobs.put('x')])
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    isFailing = false
    expect(await blobs.get(await blobs.put('x'))).toBe('x')
  })

  it('that is damaged or missing is an error, never another text', async () => {
    const storage = createMemoryStorage()
    const blobs = createBlobStore(storage, paths)
    const hash = await blobs.put('right')
    await storage.writeWhole(paths.blob(hash), 'wrong')
    await expect(blobs.get(hash)).rejects.toMatchObject({ code: 'damaged', path: paths.blob(hash) })
    const none = BlobHash.parse('0'.repeat(64))
    await expect(blobs.get(none)).rejects.toMatchObject({ code: 'not-found' })
  })
})

const spawned = (depth: number): AgentEventOf<'agent.spawned'> => ({
  type: 'agent.spawned',
  agentId: CHILD_ID,
  depth,
  ...(depth > 0 && { parent: { agentId: ROOT.agentId, callId: callId(1, 2, 0), toolUseId: 'toolu_1' } }),
  plan: {
    agentType: 'general-purpose',
    description: 'list files',
    model: { value: 'claude-sonnet-4-6', rule: 'default' },
    mode: { value: 'default', rule: 'default' },
  },
})

describe('the sidecar of a child', () => {
  it('names its kind and the call that started it; its parent only if that has a log of its own beside it', async () => {
    const storage = createMemoryStorage()
    await writeAgentMeta(storage, paths, spawned(1))
    expect(JSON.parse(storage.files.get(paths.agentMeta(CHILD_ID)) ?? '')).toEqual({
      agentType: 'general-purpose',
      description: 'list files',
      toolUseId: 'toolu_1',
      spawnDepth: 1,
      model: 'claude-sonnet-4-6',
    })
    expect(agentMetaOf(spawned(2))).toMatchObject({ parentAgentId: ROOT.agentId, spawnDepth: 2 })
  })
})

describe('the sessions of a project', () => {
  const id = (n: number) => SessionId.parse(`${n}aaaaaaa-0000-4000-8000-000000000000`)
  const identity = (n: number): LogIdentity => ({ ...ROOT, sessionId: id(n) })

  function home(sessions: Readonly<Record<number, readonly EventDraft[]>>) {
    const storage = createMemoryStorage()
    for (const [n, drafts] of Object.entries(sessions)) {
      const { rootLog } = sessionPaths(HOME, PROJECT, id(Number(n)))
      storage.append([{ path: rootLog, text: writeLog(drafts, { identity: identity(Number(n)) }).text }])
    }
    return storage
  }

  it('are listed newest first, with what they began with', async () => {
    const storage = home({
      1: [spawned(0), started({ content: 'first task' })],
      2: [spawned(0), started({ content: 'second task' }), prepared()],
    })
    const second = sessionPaths(HOME, PROJECT, id(2))
    await storage.append([{ path: second.agentLog(CHILD_ID), text: '{}\n' }])
    await storage.writeWhole(second.agentMeta(CHILD_ID), '{}')
    await storage.writeWhole(`${second.folder}/notes.jsonl`, 'no session')
    const list = await listSessions(storage, HOME, PROJECT)
    expect(list).toEqual([
      {
        sessionId: id(2),
        path: second.rootLog,
        firstPrompt: 'second task',
        startedAt: Date.UTC(2026, 0, 1),
        lastAt: Date.UTC(2026, 0, 1) + 2_000,
        agents: 2,
        bytes: storage.bytes(second.rootLog).length,
      },
      expect.objectContaining({ sessionId: id(1), firstPrompt: 'first task', agents: 1 }),
    ])
    expect(await listSessions(storage, HOME, '/another')).toEqual([])
  })

  it('show a prompt of blocks, and the beginning of one that is longer than what is read', async () => {
    const blocks: EventDraft = {
      ...started(),
      content: [
        { type: 'image', source: {} },
        { type: 'text', text: 'look' },
      ],
    }
    const long = started({ content: `"quoted" ü ${'x'.repeat(100_000)}` })
    const [two, one] = await listSessions(home({ 1: [long], 2: [blocks, prepared()] }), HOME, PROJECT)
    expect(two?.firstPrompt).toBe('look')
    expect(one?.firstPrompt).toMatch(/^"quoted" ü x{900,}$/)
    expect(one?.firstPrompt?.length).toBeLessThanOrEqual(1_000)
  })

  it('are read at both ends only, however long they are', async () => {
    const middle = Array.from({ length: 300 }, () => started({ content: 'y'.repeat(1_000) }))
    const storage = home({ 1: [spawned(0), started({ content: 'task' }), ...middle] })
    let bytes = 0
    const counting = {
      ...storage,
      read: async function* (path: string, offset?: number) {
        for await (const whole of storage.read(path, offset)) {
          for (let at = 0; at < whole.length; at += 4_096) {
            const part = whole.subarray(at, at + 4_096)
            bytes += part.length
            yield part
          }
        }
      },
    }
    const [session] = await listSessions(counting, HOME, PROJECT)
    expect(session).toMatchObject({ firstPrompt: 'task', lastAt: Date.UTC(2026, 0, 1) + 301_000 })
    expect(session?.bytes).toBeGreaterThan(300_000)
    expect(bytes).toBeLessThanOrEqual(2 * 64 * 1024)
  })

  it('are found by id or by its beginning, if that is enough', async () => {
    const storage = home({ 1: [started()], 2: [started()] })
    const other = SessionId.parse('1abbbbbb-0000-4000-8000-000000000000')
    await storage.writeWhole(sessionPaths(HOME, PROJECT, other).rootLog, writeLog([started()]).text)
    expect(await findSession(storage, HOME, PROJECT, id(2))).toMatchObject({ sessionId: id(2) })
    expect(await findSession(storage, HOME, PROJECT, '1AB')).toMatchObject({ sessionId: other })
    expect(await findSession(storage, HOME, PROJECT, '9')).toBeUndefined()
    expect(await findSession(storage, HOME, PROJECT, '')).toBeUndefined()
    await expect(findSession(storage, HOME, PROJECT, '1a')).rejects.toThrow(AmbiguousSessionError)
  })

  it('have a latest one: the one that was written to last', async () => {
    const storage = home({ 1: [started()], 2: [started()] })
    await storage.append([
      { path: sessionPaths(HOME, PROJECT, id(1)).rootLog, text: writeLog([prepared()]).text },
    ])
    expect(await latestSession(storage, HOME, PROJECT)).toMatchObject({ sessionId: id(1) })
    expect(await latestSession(storage, HOME, '/another')).toBeUndefined()
  })
})
