import { createHash } from 'node:crypto'
import { copyFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createFileStorage } from '../../src/journal/file-storage.ts'
import { createMemoryStorage } from '../../src/journal/memory-storage.ts'
import { createLogReader, readLog } from '../../src/journal/read-log.ts'
import type { Expected, Snapshot } from '../../src/journal/snapshots.ts'
import { discardSnapshots, findSnapshot, writeSnapshot } from '../../src/journal/snapshots.ts'
import type { Storage } from '../../src/journal/storage.ts'
import type { AgentEventOf, EventDraft } from '../../src/machines/agent/events.ts'
import { AgentId } from '../../src/machines/ids.ts'
import { plausibleHistory } from '../helpers/arbitraries.ts'
import { CHILD, eventsIn, SESSION, writeLog } from '../helpers/logs.ts'
import { alone, prepared, replied, started } from '../helpers/run-events.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const LOG = '/log.jsonl'
const FILES: readonly [string, string] = ['/snapshots/a.0', '/snapshots/a.1']
const PROGRAM = { troupe: '0.1.0', machine: { id: 'agent', version: 1 } }
const EXPECTED: Expected = { program: PROGRAM, sessionId: SESSION, agentId: CHILD.agentId }
const paths = { log: LOG, snapshots: FILES }

const birth: AgentEventOf<'agent.spawned'> = {
  type: 'agent.spawned',
  agentId: CHILD.agentId,
  depth: 1,
  plan: {
    agentType: 'x',
    description: 'y',
    model: { value: 'm', rule: 'r' },
    mode: { value: 'default', rule: 'r' },
  },
}
const { reply } = replied({ at: 3, says: 'first I look', calls: ['Read', alone('Bash')] })
const drafts: readonly EventDraft[] = [
  birth,
  started(),
  prepared(),
  { type: 'reply.received', reply, concurrencySafe: [false, true, false] },
]

/** The log after its first events, and the snapshot of it. */
function writtenUpTo(events: number) {
  const { text, parts, cursor, recorded } = writeLog(drafts.slice(0, events))
  const offset = Buffer.byteLength(text)
  const lastEvent = {
    seq: recorded.at(-1)?.seq ?? 0,
    from: offset - Buffer.byteLength(parts.at(-1) ?? ''),
  }
  const snapshot: Snapshot = {
    program: PROGRAM,
    sessionId: SESSION,
    agentId: CHILD.agentId,
    offset,
    lastEvent,
    cursor,
    birth,
    run: { status: 'active', events },
    digest: { anything: ['ä', null] },
  }
  return { text, snapshot }
}

/** A disk with the log of all events and a snapshot of it, or of its beginning. */
async function disk(events = drafts.length, slot: 0 | 1 = 0) {
  const storage = createMemoryStorage({ files: new Map([[LOG, writtenUpTo(drafts.length).text]]) })
  const { snapshot } = writtenUpTo(events)
  await writeSnapshot(storage, { log: LOG, snapshot: FILES[slot] }, snapshot)
  return { storage, snapshot }
}

/** The same disk with another file on it. */
const changed = (
  storage: ReturnType<typeof createMemoryStorage>,
  path: string,
  content: string | Uint8Array,
) => createMemoryStorage({ files: new Map<string, string | Uint8Array>([...storage.files, [path, content]]) })

describe('a snapshot', () => {
  it('comes back as it was written, open calls included', async () => {
    const { storage, snapshot } = await disk()
    expect(snapshot.cursor.openCalls.size).toBe(2)
    expect(await findSnapshot(storage, paths, EXPECTED)).toStrictEqual({
      newest: { snapshot, slot: 0 },
      rejected: [],
    })
  })

  it('is found for a root, whose id only the log tells', async () => {
    const { storage, snapshot } = await disk()
    const { newest } = await findSnapshot(storage, paths, { ...EXPECTED, agentId: undefined })
    expect(newest?.snapshot).toStrictEqual(snapshot)
  })

  it('is the newer of two', async () => {
    const { storage } = await disk(2, 0)
    await writeSnapshot(storage, { log: LOG, snapshot: FILES[1] }, writtenUpTo(4).snapshot)
    const { newest, rejected } = await findSnapshot(storage, paths, EXPECTED)
    expect([newest?.slot, newest?.snapshot.run, rejected]).toEqual([1, { status: 'active', events: 4 }, []])
  })

  it('may be of a log that has grown meanwhile', async () => {
    const { storage, snapshot } = await disk(3)
    expect((await findSnapshot(storage, paths, EXPECTED)).newest?.snapshot).toStrictEqual(snapshot)
  })

  it('is missed by nobody where there is none, or one that was discarded', async () => {
    const { storage } = await disk()
    discardSnapshots(storage, FILES)
    expect(await findSnapshot(storage, paths, EXPECTED)).toEqual({ newest: undefined, rejected: [] })
    expect(await findSnapshot(createMemoryStorage(), paths, EXPECTED)).toEqual({
      newest: undefined,
      rejected: [],
    })
  })

  it('is not written of a log that is shorter', async () => {
    const { storage, snapshot } = await disk()
    const cut = changed(storage, LOG, storage.bytes(LOG).subarray(0, snapshot.offset - 1))
    await expect(writeSnapshot(cut, { log: LOG, snapshot: FILES[0] }, snapshot)).rejects.toThrow('shorter')
  })
})

describe('a snapshot is thrown away', () => {
  const findIn = (storage: Storage, expected = EXPECTED) => findSnapshot(storage, paths, expected)

  it('when any bit of any byte of it is another one', async () => {
    const { storage } = await disk()
    const bytes = storage.bytes(FILES[0])
    for (let at = 0; at < bytes.length; at += 1) {
      const flipped = Uint8Array.from(bytes)
      flipped[at] = (flipped[at] ?? 0) ^ (1 << (at % 8))
      const { newest, rejected } = await findIn(changed(storage, FILES[0], flipped))
      expect([newest, rejected.length], `byte ${at}`).toEqual([undefined, 1])
    }
  })

  it('when a crash has torn it, wherever', async () => {
    const { storage } = await disk()
    const bytes = storage.bytes(FILES[0])
    for (let length = 0; length < bytes.length; length += 7) {
      const { newest, rejected } = await findIn(changed(storage, FILES[0], bytes.subarray(0, length)))
      expect([newest, rejected.length], `${length} bytes`).toEqual([undefined, length === 0 ? 0 : 1])
    }
  })

  it('and the one before it is taken', async () => {
    const { storage } = await disk(2, 1)
    await writeSnapshot(storage, { log: LOG, snapshot: FILES[0] }, writtenUpTo(4).snapshot)
    const torn = changed(storage, FILES[0], storage.bytes(FILES[0]).subarray(0, 100))
    const { newest, rejected } = await findIn(torn)
    expect([newest?.slot, newest?.snapshot.run, rejected.length]).toEqual([
      1,
      { status: 'active', events: 2 },
      1,
    ])
  })

  it('when another version of the machine or of Troupe has written it, or it is of somebody else', async () => {
    const { storage } = await disk()
    const others: readonly Expected[] = [
      { ...EXPECTED, program: { ...PROGRAM, machine: { id: 'agent', version: 2 } } },
      { ...EXPECTED, program: { ...PROGRAM, machine: { id: 'agents', version: 1 } } },
      { ...EXPECTED, program: { ...PROGRAM, troupe: '0.2.0' } },
      { ...EXPECTED, agentId: AgentId.parse('a000000000000000f') },
    ]
    for (const expected of others) {
      const { newest, rejected } = await findIn(storage, expected)
      expect([newest, rejected.length]).toEqual([undefined, 1])
    }
  })

  it('when it is garbage that hashes to what it says', async () => {
    const { storage } = await disk()
    for (const body of ['', 'null', '{"format":1}', '{', '\u0000']) {
      const file = `${createHash('sha256').update(body).digest('hex')}\n${body}`
      const { newest, rejected } = await findIn(changed(storage, FILES[0], file))
      expect([newest, rejected.length], body).toEqual([undefined, 1])
    }
  })

  it('when the log ends before it, or its last event is another one', async () => {
    const { storage, snapshot } = await disk()
    const log = storage.bytes(LOG)
    for (let at = snapshot.lastEvent.from; at < snapshot.offset; at += 11) {
      const flipped = Uint8Array.from(log)
      flipped[at] = (flipped[at] ?? 0) ^ 1
      expect((await findIn(changed(storage, LOG, flipped))).newest, `byte ${at}`).toBeUndefined()
    }
    const short = await findIn(changed(storage, LOG, log.subarray(0, snapshot.offset - 1)))
    expect(short.rejected).toEqual([expect.stringContaining(`of ${snapshot.offset} bytes`)])
  })

  it('when what is in front of its last event has become longer or shorter', async () => {
    const { storage } = await disk()
    const text = storage.files.get(LOG) ?? ''
    for (const other of [
      text.replace('please do it', 'please do'),
      text.replace('please do it', 'please do it now'),
    ]) {
      expect(other).not.toBe(text)
      expect((await findIn(changed(storage, LOG, other))).newest).toBeUndefined()
    }
  })

  it('when the file of the log is another one, though it says the same', async () => {
    const folder = temporaryFolder()
    const storage = createFileStorage({ durability: 'write' })
    const log = join(folder, 'log.jsonl')
    const files: readonly [string, string] = [join(folder, 's', 'a.0'), join(folder, 's', 'a.1')]
    const { text, snapshot } = writtenUpTo(4)
    writeFileSync(log, text)
    await writeSnapshot(storage, { log, snapshot: files[0] }, snapshot)
    storage.append([{ path: log, text: 'more\n' }])
    const found = await findSnapshot(storage, { log, snapshots: files }, EXPECTED)
    expect(found.newest?.snapshot).toStrictEqual(snapshot)
    copyFileSync(log, `${log}.copy`)
    renameSync(`${log}.copy`, log)
    const { newest, rejected } = await findSnapshot(storage, { log, snapshots: files }, EXPECTED)
    expect([newest, rejected]).toEqual([undefined, [expect.stringContaining('replaced')]])
    await storage.close()
  })
})

describe('a log that is read in two parts', () => {
  it('says what it says as a whole, wherever it is cut', async () => {
    await fc.assert(
      fc.asyncProperty(plausibleHistory, fc.nat(), async (history, where) => {
        const { text, parts } = writeLog(history)
        const storage = createMemoryStorage({ files: new Map([[LOG, text]]) })
        const cut = Buffer.byteLength(parts.slice(0, where % (parts.length + 1)).join(''))
        const head = createLogReader(storage, LOG, { until: cut })
        const items = []
        for await (const item of head.items) items.push(item)
        expect(head.nextLineAt).toBe(cut)
        const tail = createLogReader(storage, LOG, { offset: cut, cursor: head.cursor })
        for await (const item of tail.items) items.push(item)
        const whole = []
        for await (const item of readLog(storage, LOG)) whole.push(item)
        expect(items).toStrictEqual(whole)
        expect(tail.nextLineAt).toBe(Buffer.byteLength(text))
      }),
      { numRuns: 25 },
    )
  })

  it('names a gap right behind the cut by its own bytes', async () => {
    const { text, parts } = writeLog(drafts)
    const [first = '', second = '', third = ''] = parts
    const gap = text.replace(second, '')
    const storage = createMemoryStorage({ files: new Map([[LOG, gap]]) })
    const cut = Buffer.byteLength(first)
    const head = createLogReader(storage, LOG, { until: cut })
    for await (const _ of head.items);
    const tail = createLogReader(storage, LOG, { offset: cut, cursor: head.cursor })
    const items = []
    for await (const item of tail.items) items.push(item)
    expect(items[0]).toMatchObject({ kind: 'damage', reason: 'gap', from: cut, to: cut })
    expect(eventsIn(items)).toHaveLength(2)
    expect(third).not.toBe('')
  })

  it('ends one byte later for who appends, where its last line lacks a line feed', async () => {
    const { text } = writeLog(drafts)
    for (const [end, more] of [
      [text, 0],
      [text.slice(0, -1), 1],
      [text.slice(0, -5), 1],
    ] as const) {
      const storage = createMemoryStorage({ files: new Map([[LOG, end]]) })
      const reader = createLogReader(storage, LOG)
      for await (const _ of reader.items);
      expect(reader.nextLineAt).toBe(Buffer.byteLength(end) + more)
      storage.append([{ path: LOG, text: '{"next":1}\n' }])
      expect(storage.files.get(LOG)?.slice(-11)).toBe('{"next":1}\n')
      expect(storage.bytes(LOG).length - 11).toBe(reader.nextLineAt)
    }
  })
})
