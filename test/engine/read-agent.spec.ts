/** Snapshot plus tail equals the whole log: what is read, what goes on from it, and what a changed log comes to. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DigestValue } from '../../src/engine/digest-value.ts'
import { EngineError } from '../../src/engine/errors.ts'
import { LogDigest } from '../../src/engine/log-digest.ts'
import type { ReadAgent } from '../../src/engine/read-agent.ts'
import { readAgent, readAgentFrom, resultOf, UnusableSnapshot } from '../../src/engine/read-agent.ts'
import { createMemoryStorage } from '../../src/journal/memory-storage.ts'
import type { Snapshot } from '../../src/journal/snapshots.ts'
import { findSnapshot, writeSnapshot } from '../../src/journal/snapshots.ts'
import type { EventDraft } from '../../src/machines/agent/events.ts'
import { plausibleHistory } from '../helpers/arbitraries.ts'
import { CHILD, SESSION, writeLog } from '../helpers/logs.ts'

const LOG = '/log.jsonl'
const FILES: readonly [string, string] = ['/s.0', '/s.1']
const program = { troupe: '0.1.0', machine: { id: 'agent', version: 1 } }

const diskWith = (log: string | Uint8Array) =>
  createMemoryStorage({ files: new Map<string, string | Uint8Array>([[LOG, log]]) })

/** Everything that an agent takes over from its log. */
async function dataOf(read: ReadAgent) {
  const { cursor, offset, lastEvent, damage, state } = read
  const conversation = await read.conversation.load()
  return JSON.parse(
    JSON.stringify({
      ...resultOf(read),
      birth: state.birth,
      cursor: { ...cursor, openCalls: [...cursor.openCalls] },
      offset,
      lastEvent,
      damage,
      entries: [...conversation.entries()],
      // What effects ask for, which values only name the place of.
      open: state.run?.context.calls.map(({ callId }) => read.digest.toolUse(callId)),
      report: read.digest.reportText,
    }),
  )
}

/** The snapshot of what was read, as an agent takes it. */
function snapshotOf({ state, digest, cursor, offset, lastEvent }: ReadAgent): Snapshot {
  const { birth } = state
  if (birth === undefined || lastEvent === undefined) throw new Error('nothing has happened yet')
  const { seq, from } = lastEvent
  return {
    program,
    sessionId: SESSION,
    agentId: birth.agentId,
    offset,
    lastEvent: { seq, from },
    cursor,
    birth,
    ...resultOf({ state, digest }),
  }
}

/** Writes the history, and a snapshot of its first `cut` events; gives the disk and the snapshot as it is found. */
async function written(history: readonly EventDraft[], cut: number) {
  const { text, parts } = writeLog(history)
  const until = Buffer.byteLength(parts.slice(0, cut).join(''))
  const disk = diskWith(text)
  const head = await readAgent(disk, LOG, { until })
  // No agent takes one then: the report is content.
  fc.pre(!head.digest.keepsReport)
  await writeSnapshot(disk, { log: LOG, snapshot: FILES[0] }, snapshotOf(head))
  return { disk, snapshot: await found(disk) }
}

async function found(disk: ReturnType<typeof diskWith>): Promise<Snapshot | undefined> {
  const expected = { program, sessionId: SESSION, agentId: undefined }
  return (await findSnapshot(disk, { log: LOG, snapshots: FILES }, expected)).newest?.snapshot
}

const anyHistoryCut = fc
  .tuple(plausibleHistory, fc.nat())
  .map(([history, where]) => ({ history, cut: 1 + (where % history.length) }))

describe('a log that is opened with a snapshot', () => {
  it('comes to the same as from its start, wherever the snapshot is', async () => {
    await fc.assert(
      fc.asyncProperty(anyHistoryCut, async ({ history, cut }) => {
        const { disk, snapshot } = await written(history, cut)
        if (snapshot === undefined) throw new Error('the snapshot must be found')
        const fromSnapshot = await readAgentFrom(disk, LOG, snapshot)
        expect(fromSnapshot.events).toBe(history.length - cut)
        expect(fromSnapshot.conversation.loaded).toBeUndefined()
        expect(await dataOf(fromSnapshot)).toEqual(await dataOf(await readAgent(disk, LOG)))
      }),
      { numRuns: 25 },
    )
  })

  it('comes to the same from a snapshot of a log that was itself opened with one', async () => {
    await fc.assert(
      fc.asyncProperty(anyHistoryCut, fc.nat(), async ({ history, cut }, where) => {
        const { disk, snapshot } = await written(history, cut)
        if (snapshot === undefined) throw new Error('the snapshot must be found')
        const later = await readAgentFrom(disk, LOG, snapshot)
        fc.pre(!later.digest.keepsReport)
        const second = snapshotOf(later)
        await writeSnapshot(disk, { log: LOG, snapshot: FILES[1] }, second)
        const { parts } = writeLog(history)
        const torn = parts[where % parts.length]?.slice(0, 9) ?? ''
        disk.append([{ path: LOG, text: `${torn}\n` }])
        const newest = await found(disk)
        expect(newest?.offset).toBe(second.offset)
        if (newest === undefined) throw new Error('the snapshot must be found')
        expect(await dataOf(await readAgentFrom(disk, LOG, newest))).toEqual(
          await dataOf(await readAgent(disk, LOG)),
        )
      }),
      { numRuns: 12 },
    )
  })

  it('never comes to anything else when any byte of it is changed: it is read from its start, or refused', async () => {
    let accepted = 0
    let refused = 0
    await fc.assert(
      fc.asyncProperty(anyHistoryCut, fc.nat(), fc.nat(7), async ({ history, cut }, where, bit) => {
        const { disk } = await written(history, cut)
        const bytes = disk.bytes(LOG)
        const at = where % bytes.length
        bytes[at] = (bytes[at] ?? 0) ^ (1 << bit)
        const changed = createMemoryStorage({
          files: new Map<string, string | Uint8Array>([...disk.files, [LOG, bytes]]),
        })
        const snapshot = await found(changed)
        if (snapshot === undefined) return
        try {
          const fromSnapshot = await dataOf(await readAgentFrom(changed, LOG, snapshot))
          const whole = await dataOf(await readAgent(changed, LOG))
          expect(fromSnapshot).toEqual(whole)
          accepted += 1
        } catch (error) {
          if (!(EngineError.is(error) || error instanceof UnusableSnapshot)) throw error
          refused += 1
        }
      }),
      { numRuns: 60 },
    )
    expect(accepted).toBeGreaterThan(0)
    expect(refused).toBeGreaterThan(0)
  })

  it('is not opened with values that are none of ours', async () => {
    const [history] = fc.sample(plausibleHistory, { numRuns: 1, seed: 7 })
    if (history === undefined) throw new Error('there must be a history')
    const { disk, snapshot } = await written(history, history.length)
    if (snapshot === undefined) throw new Error('the snapshot must be found')
    const digest = DigestValue.parse(snapshot.digest)
    const place = { from: 0, to: 20, seq: 1, run: 1 }
    const others: readonly Snapshot[] = [
      { ...snapshot, digest: {} },
      { ...snapshot, digest: { ...digest, calls: 'none' } },
      { ...snapshot, digest: { ...digest, report: place } },
      { ...snapshot, run: { status: 'active', value: 'nowhere' } },
    ]
    for (const other of others) {
      await expect(readAgentFrom(disk, LOG, other)).rejects.toBeInstanceOf(UnusableSnapshot)
    }
  })
})

describe('the digest of a log', () => {
  it('goes on from its value as if nothing had been between', () => {
    fc.assert(
      fc.property(anyHistoryCut, ({ history, cut }) => {
        const { recorded } = writeLog(history, { identity: CHILD })
        const whole = new LogDigest()
        let resumed = new LogDigest()
        for (const [i, each] of recorded.entries()) {
          const span = { from: i * 10, to: i * 10 + 10 }
          whole.push(each, span)
          resumed.push(each, span)
          if (i + 1 !== cut) continue
          const value = JSON.parse(JSON.stringify(resumed.value()))
          expect(DigestValue.safeParse(value).error).toBeUndefined()
          resumed = LogDigest.from(value, { lastReply: resumed.lastReply, report: undefined })
        }
        expect(JSON.parse(JSON.stringify(resumed.value()))).toEqual(JSON.parse(JSON.stringify(whole.value())))
      }),
      { numRuns: 25 },
    )
  })
})
