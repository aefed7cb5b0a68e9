/** Snapshots in the engine: nothing that an engine does shows whether a log was opened with one. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import { call, callMany, say } from '../../src/effects/model/scripted-reply.ts'
import type { ResumeRule, Tool } from '../../src/effects/tools/tool.ts'
import type { MemoryStorage } from '../../src/journal/memory-storage.ts'
import { createMemoryStorage } from '../../src/journal/memory-storage.ts'
import type { CrashPoint } from '../helpers/crashing-storage.ts'
import { createCrashingStorage } from '../helpers/crashing-storage.ts'
import type { Fact, TestEngine } from '../helpers/engine.ts'
import { settle, testEngine } from '../helpers/engine.ts'
import { turnOf } from '../helpers/scripts.ts'

const SESSION = '11111111-1111-4111-8111-111111111111'

const tool = (name: string, resume: ResumeRule): Tool<{ id: string }> => ({
  name,
  description: name,
  inputSchema: z.strictObject({ id: z.string() }),
  resume,
  isReadOnly: () => resume === 'repeat',
  isConcurrencySafe: () => resume === 'repeat',
  run: async ({ id }) => ({
    content: `${name} ${id} done`,
    files: [{ path: `/${id}`, hash: name }],
  }),
})

const tools = [tool('Look', 'repeat'), tool('Put', 'keyed'), tool('Act', 'interrupt')]

const use = (name: string, id: string) => ({ name, input: { id } })
const child = (prompt: string) => ({
  name: 'Agent',
  input: { description: 'child', prompt, subagent_type: 'general-purpose' },
})

/**
 * The root looks around, has two children work, acts, and reports; each child uses all tools. One child after the
 * other: which of two is done first depends on how long their logs take to read, and may.
 */
function script(request: ModelRequest) {
  const turn = turnOf(request)
  if (request.source === 'main') {
    if (turn === 0) return callMany([use('Look', 'one'), use('Look', 'two')])
    if (turn === 1) return callMany([child('alpha')])
    if (turn === 2) return callMany([child('beta')])
    if (turn === 3) return callMany([use('Act', 'parent'), use('Forbidden', 'x')])
    return say('the end')
  }
  const me = String(request.messages[0]?.content)
  if (turn === 0) return callMany([use('Look', me), use('Put', me)])
  if (turn === 1) return callMany([use('Act', me)])
  return say(`report of ${me}`)
}

const isSnapshot = (path: string): boolean => path.includes('/snapshots/')
const rootLog = (disk: MemoryStorage): string =>
  [...disk.files.keys()].find((path) => path.endsWith(`${SESSION}.jsonl`)) ?? ''

/** The same disk, with other content in some of its files, or without them. */
function changed(
  disk: MemoryStorage,
  change: (path: string, bytes: Uint8Array) => Uint8Array | undefined,
): MemoryStorage {
  const files = new Map<string, Uint8Array>()
  for (const path of disk.files.keys()) {
    const bytes = change(path, disk.bytes(path))
    if (bytes !== undefined) files.set(path, bytes)
  }
  return createMemoryStorage({ files })
}

const withoutSnapshots = (disk: MemoryStorage): MemoryStorage =>
  changed(disk, (path, bytes) => (isSnapshot(path) ? undefined : bytes))

/** Notes from where logs are read. */
function watched(disk: MemoryStorage, log = '.jsonl') {
  const offsets: number[] = []
  const read: MemoryStorage['read'] = (path, offset) => {
    if (path.endsWith(log)) offsets.push(offset ?? 0)
    return disk.read(path, offset)
  }
  // A copy would lose the getters of the disk, which only the tests use.
  return { storage: { ...disk, read } as MemoryStorage, offsets }
}

const diagnosticsOf = ({ events }: TestEngine): string[] =>
  events.flatMap((event) => (event.kind === 'diagnostic' ? [event.code] : []))

/** Runs the scenario until its process dies. Undefined when it ends before. */
async function crash(point: CrashPoint, snapshotEvery: number): Promise<MemoryStorage | undefined> {
  const disk = createCrashingStorage(point)
  const { engine } = testEngine(script, {
    storage: { ...disk.storage } as MemoryStorage,
    tools,
    snapshotEvery,
  })
  const run = engine.run('go', { sessionId: SESSION })
  let isOver = false
  run.result.then(
    () => (isOver = true),
    () => {},
  )
  for (let i = 0; i < 300 && !disk.hasCrashed() && !isOver; i++) await settle(1)
  await settle(3)
  return disk.hasCrashed() ? disk.survivor() : undefined
}

/** Resumes and goes on to the end, then asks once more: everything that can be seen of it. */
async function goOn(disk: MemoryStorage) {
  const requests: ModelRequest[] = []
  const { storage, offsets } = watched(disk)
  const engine = testEngine(
    (request) => {
      requests.push(request)
      return script(request)
    },
    { storage, tools, idsFrom: 100_000, snapshotEvery: Number.POSITIVE_INFINITY },
  )
  const resumed = await engine.engine.resume(SESSION)
  const result = await resumed?.result
  const next = await engine.engine.run('and then?', { sessionId: SESSION }).result
  await engine.engine.close()
  const agents = [...new Set(engine.facts.map(({ agentId }) => agentId))].sort()
  // Agents go their own ways: only the order within each of them means something, and ids of lines are counted over all.
  const facts = agents.map((id) => engine.facts.filter(({ agentId }) => agentId === id).map(withoutLines))
  const messages = requests.map((request) => JSON.stringify(request.messages)).sort()
  return { seen: { result, next, facts, messages }, offsets, diagnostics: diagnosticsOf(engine) }
}

const withoutLines = ({ lines, ...fact }: Fact) => ({ ...fact, lines: lines.length })

describe('a session with snapshots', () => {
  it('goes on after a crash at any append exactly as without them', async () => {
    let points = 0
    let shortcuts = 0
    for (const [when, every] of [
      ['before', 1],
      ['after', 2],
    ] as const) {
      for (let at = 2; ; at += 3) {
        const disk = await crash({ at, when }, every)
        if (disk === undefined) break
        points += 1
        const bare = withoutSnapshots(disk)
        const withThem = await goOn(disk)
        const without = await goOn(bare)
        expect(withThem.seen, `${when} append ${at}`).toEqual(without.seen)
        expect(withThem.diagnostics).toEqual(without.diagnostics)
        if (withThem.offsets[0] !== 0) shortcuts += 1
      }
    }
    expect(points).toBeGreaterThan(15)
    expect(shortcuts).toBeGreaterThan(points / 2)
  })

  it('goes on as well when the crash, or anything else, has ruined the snapshots, and says so', async () => {
    const ruins: Readonly<Record<string, (bytes: Uint8Array) => Uint8Array>> = {
      torn: (bytes) => bytes.subarray(0, bytes.length / 2),
      garbage: (bytes) => bytes.map((byte, i) => (i % 3 === 0 ? byte ^ 0x55 : byte)),
      'of another log': () => Buffer.from('{"format":1}'),
    }
    for (const [how, ruin] of Object.entries(ruins)) {
      const disk = await crash({ at: 14, when: 'after' }, 1)
      if (disk === undefined) throw new Error('the crash must be reached')
      const ruined = changed(disk, (path, bytes) => (isSnapshot(path) ? ruin(bytes) : bytes))
      const { seen, diagnostics, offsets } = await goOn(ruined)
      expect(seen, how).toEqual((await goOn(withoutSnapshots(disk))).seen)
      expect(diagnostics, how).toContain('snapshot-rejected')
      expect(offsets[0]).toBe(0)
    }
  })

  it('opens with the older snapshot when the newer is torn', async () => {
    const disk = await crash({ at: 14, when: 'after' }, 1)
    if (disk === undefined) throw new Error('the crash must be reached')
    const roots = [...disk.files].filter(([path]) => path.includes('/snapshots/root.'))
    const offsetIn = (text: string): number => JSON.parse(text.split('\n')[1] ?? '').offset
    const [older, newer] = roots.toSorted((a, b) => offsetIn(a[1]) - offsetIn(b[1]))
    if (older === undefined || newer === undefined) throw new Error('there must be two snapshots')
    const torn = changed(disk, (path, bytes) => (path === newer[0] ? bytes.subarray(0, 99) : bytes))
    const { seen, offsets, diagnostics } = await goOn(torn)
    expect(offsets).toContain(offsetIn(older[1]))
    expect(diagnostics.filter((code) => code === 'snapshot-rejected')).toHaveLength(1)
    expect(seen).toEqual((await goOn(withoutSnapshots(disk))).seen)
  })

  it('opens without its conversation, and reads that with the first request', async () => {
    const first = testEngine(script, { tools, snapshotEvery: 1 })
    await first.engine.run('go', { sessionId: SESSION }).result
    await first.engine.close()
    const { storage, offsets } = watched(first.storage.crash())
    const requests: ModelRequest[] = []
    const answer = (request: ModelRequest) => {
      requests.push(request)
      return say('fine')
    }
    const second = testEngine(answer, { storage, tools, idsFrom: 100_000 })
    expect(await second.engine.resume(SESSION)).toBeUndefined()
    expect(offsets.length).toBeGreaterThan(0)
    expect(offsets).not.toContain(0)
    await second.engine.run('and then?', { sessionId: SESSION }).result
    expect(offsets.filter((offset) => offset === 0)).toEqual([0])
    const texts = JSON.stringify(requests[0]?.messages)
    for (const said of ['go', 'Look one done', 'report of alpha', 'the end', 'and then?']) {
      expect(texts).toContain(said)
    }
    await second.engine.run('and now?', { sessionId: SESSION }).result
    expect(offsets.filter((offset) => offset === 0)).toEqual([0])
    await second.engine.close()
  })

  it('delivers the report of a child that had ended, without reading its conversation', async () => {
    const disk = await crashBeforeDelivery()
    const [childLog = ''] = [...disk.files.keys()].filter((path) => /agent-[^/]*\.jsonl$/.test(path))
    const { storage, offsets } = watched(disk, childLog)
    const engine = testEngine(script, { storage, tools, idsFrom: 100_000 })
    const resumed = await engine.engine.resume(SESSION)
    expect(await resumed?.result).toMatchObject({ status: 'completed', text: 'the end' })
    const delivered = engine.facts.find(({ event }) => event.type === 'call.ended')
    expect(JSON.stringify(delivered?.event)).toContain('report of alpha')
    expect(offsets.length).toBeGreaterThan(0)
    expect(offsets).not.toContain(0)
    await engine.engine.close()
  })
})

/** Dies with the end of the first child in its log, and not yet in its parent's. */
async function crashBeforeDelivery(): Promise<MemoryStorage> {
  for (let at = 10; ; at += 1) {
    const disk = await crash({ at, when: 'after' }, 1)
    if (disk === undefined) throw new Error('the crash must be reached')
    const logs = [...disk.files].filter(([path]) => path.endsWith('.jsonl'))
    if (logs.some(([path, text]) => path.includes('agent-') && text.includes('"agent.ended"'))) return disk
  }
}

describe('when snapshots are written', () => {
  const snapshotsOn = (disk: MemoryStorage): string[] =>
    [...disk.files.keys()].filter(isSnapshot).map((path) => path.slice(path.lastIndexOf('/') + 1))

  it('a short session has none: opening it costs less than they would', async () => {
    const { engine, storage } = testEngine(script, { tools })
    await engine.run('go', { sessionId: SESSION }).result
    await engine.close()
    expect(snapshotsOn(storage)).toEqual([])
  })

  it('a child that ends within the first stretch leaves none behind', async () => {
    const { engine, storage } = testEngine(script, { tools, snapshotEvery: 14 })
    await engine.run('go', { sessionId: SESSION }).result
    await engine.close()
    expect(snapshotsOn(storage)).toEqual(['root.0', 'root.1'])
  })

  it('the close leaves one of the very end, so that the next opening reads nothing but it', async () => {
    const { engine, storage } = testEngine(script, { tools, snapshotEvery: 40 })
    await engine.run('go', { sessionId: SESSION }).result
    await engine.close()
    expect(snapshotsOn(storage)).toEqual(['root.0'])
    const [, text = ''] = [...storage.files].find(([path]) => isSnapshot(path)) ?? []
    expect(JSON.parse(text.split('\n')[1] ?? '')).toMatchObject({
      offset: storage.bytes(rootLog(storage)).length,
      digest: { isSuspended: false, ended: { status: 'completed' } },
    })
  })

  it('one that cannot be written costs nothing but a word', async () => {
    const storage = createMemoryStorage()
    const broken = {
      ...storage,
      writeDerived: (path: string, text: string) => {
        if (isSnapshot(path)) throw new Error('no room')
        storage.writeDerived(path, text)
      },
    } as MemoryStorage
    const engine = testEngine(script, { storage: broken, tools, snapshotEvery: 5 })
    expect(await engine.engine.run('go').result).toMatchObject({ text: 'the end' })
    await engine.engine.close()
    expect(diagnosticsOf(engine)).toContain('snapshot-not-written')
  })
})

describe('a log that was changed in front of its snapshot', () => {
  /** A session whose root has answered once, with a snapshot at the end, and its log then changed in place. */
  async function tampered(from: RegExp, to: string): Promise<MemoryStorage> {
    const { engine, storage } = testEngine([call('Act', { id: 'one' }), say('the end')], {
      tools,
      snapshotEvery: 1,
    })
    await engine.run('go', { sessionId: SESSION }).result
    await engine.close()
    const log = rootLog(storage)
    const before = storage.files.get(log) ?? ''
    const after = before.replace(from, to)
    expect(after).not.toBe(before)
    expect(after).toHaveLength(before.length)
    return changed(storage, (path, bytes) => (path === log ? Buffer.from(after) : bytes))
  }

  /** Asks the session, once and once again in another process. */
  async function askTwice(disk: MemoryStorage) {
    let requests = 0
    const ask = async (idsFrom: number) => {
      const engine = testEngine(
        () => {
          requests += 1
          return say('fine')
        },
        { storage: disk, tools, idsFrom },
      )
      const { result } = engine.engine.run('and then?', { sessionId: SESSION })
      const code = await result.then(
        () => 'answered',
        (error: unknown) => (error as { code: string }).code,
      )
      await engine.engine.close()
      return code
    }
    const first = await ask(100_000)
    const sent = requests
    const resuming = testEngine([say('fine')], { storage: disk.crash(), tools, idsFrom: 200_000 })
    const second = await resuming.engine.resume(SESSION).then(
      async (run) => (await run?.result)?.text ?? 'nothing to do',
      (error: unknown) => (error as { code: string }).code,
    )
    await resuming.engine.close()
    return { first, sent, second }
  }

  it('is found out before anything is sent, and counts as it is from the next opening on', async () => {
    const disk = await tampered(/"input_tokens":1/, '"input_tokens":2')
    expect(await askTwice(disk)).toEqual({ first: 'snapshot-differs', sent: 0, second: 'fine' })
  })

  it('with lost lines is refused as it would be without a snapshot, with the first request at the latest', async () => {
    const disk = await tampered(/"subtype":"troupe","seq":2/, '"subtype":"troupe" "seq":2')
    expect(await askTwice(disk)).toEqual({ first: 'damaged-log', sent: 0, second: 'damaged-log' })
  })

  it('whose damage is accepted is read from its start, and gets no snapshot before that is recorded', async () => {
    const disk = await tampered(/,"event":{"type":"call.started"/, ';"event":{"type":"call.started"')
    const { storage, offsets } = watched(disk)
    const { engine } = testEngine([say('fine')], { storage, tools, idsFrom: 100_000, snapshotEvery: 1 })
    const before = [...disk.files].filter(([path]) => isSnapshot(path))
    expect(before).toHaveLength(2)
    expect(await engine.resume(SESSION, { acceptDamage: true })).toBeUndefined()
    expect(offsets).toEqual([0])
    expect(await engine.run('and then?', { sessionId: SESSION }).result).toMatchObject({ text: 'fine' })
    await engine.close()
    expect([...disk.files].filter(([path]) => isSnapshot(path))).toEqual(before)
  })
})
