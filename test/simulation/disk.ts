/**
 * A disk with a mind of its own, behind the storage port of the engine.
 *
 * Writes take their time, fail, are cut; a crash loses what was not synced, keeps a part of it, or keeps one file's
 * and loses another's that was written before. It honours S1–S3 of the port, as the storage on a real disk does:
 * what it has acknowledged survives what the durability promises.
 *
 *   K1  `write`: what the operating system has been given survives. A write that is still waiting at the crash may be
 *       there, not there, or there in part.
 *   K2  `fsync`: what was written is seen by readers at once and survives only behind a sync that began after it.
 *   K3  A dead process neither reads nor writes, and is told nothing.
 */
import type { LockOwner } from '../../src/journal/session-lock.ts'
import { SessionLockedError } from '../../src/journal/session-lock.ts'
import type { Append, MaybePromise, Storage, StorageErrorCode } from '../../src/journal/storage.ts'
import { StorageError } from '../../src/journal/storage.ts'
import { poisonedError } from '../../src/journal/storage-errors.ts'
import type { DamagePlan, DiskFault, Plan, SnapshotRuin } from './plan.ts'
import type { OnDurable, ShadowLogs } from './shadow-logs.ts'
import { createShadowLogs } from './shadow-logs.ts'
import type { Life, World } from './world.ts'

export interface Disk {
  /** The port, as one process has it. */
  storageFor(life: Life): Storage
  /** The process has died, or the machine: what is left is what the next one finds. */
  crash(life: Life): void
  readonly logs: ShadowLogs
  /** The processes in which an append to this file has failed: there its agent has stopped, without an end. */
  failuresOf(path: string): readonly Life[]
  /** Whose lock it is; undefined when nobody alive holds it. */
  holderOf(path: string): Life | undefined
  exists(path: string): boolean
  /** Something happens to the snapshots while no process runs. */
  ruinSnapshots(how: SnapshotRuin): void
  /**
   * Spoils a line in the middle of a log while no process runs: neither one of the first two nor the last one, no
   * prompt, and none that a crash has cut off. False when the log has no other.
   */
  damageLine(path: string, plan: Pick<DamagePlan, 'line' | 'how'>): boolean
  /** How often a log was read from somewhere behind its start. */
  readonly shortcuts: number
  /** Appends and whole files written so far. */
  readonly writes: number
  /** Damages a write that has been acknowledged: for deliberate faults. */
  readonly files: ReadonlyMap<string, { readonly bytes: Buffer; readonly durable: number }>
}

export interface DiskListener {
  readonly onDurable: OnDurable
  /** A process writes a file. */
  onWrite(life: Life, path: string): void
}

interface SimFile {
  bytes: Buffer
  durable: number
}

const CODES: Readonly<Record<DiskFault['kind'], StorageErrorCode>> = {
  full: 'full',
  io: 'io',
  short: 'short-write',
  sync: 'io',
}

/** Makes an empty disk. `onCrash` is called when a planned crash comes in the middle of a write. */
export function createDisk(
  world: World,
  plan: Plan,
  listener: DiskListener,
  onCrash: (life: Life) => void,
): Disk {
  const chance = world.chance('disk')
  const files = new Map<string, SimFile>()
  const locks = new Map<string, { readonly life: Life; readonly owner: LockOwner }>()
  /** Writes that a process has asked for and that have not been done. */
  const waiting = new Set<{ readonly life: Life; readonly path: string; readonly text: string }>()
  const failures = new Map<string, Life[]>()
  const logs = createShadowLogs(listener.onDurable)
  const syncs = plan.durability === 'fsync'
  let writes = 0
  let shortcuts = 0
  /** What was in the files of snapshots before they were written the last time. */
  const olderSnapshots = new Map<string, SimFile>()

  const fileAt = (path: string): SimFile => {
    const known = files.get(path)
    if (known !== undefined) return known
    const made: SimFile = { bytes: Buffer.alloc(0), durable: 0 }
    files.set(path, made)
    return made
  }

  const markDurable = (path: string, upTo: number): void => {
    const file = files.get(path)
    if (file === undefined || upTo <= file.durable) return
    const added = file.bytes.subarray(file.durable, upTo)
    file.durable = upTo
    if (path.endsWith('.jsonl')) logs.grew(path, added)
  }

  const bytesOf = (path: string, text: string): Buffer => {
    const file = files.get(path)
    const isTorn = file !== undefined && file.bytes.length > 0 && file.bytes.at(-1) !== 0x0a
    return Buffer.from(isTorn ? `\n${text}` : text)
  }

  const put = (path: string, bytes: Uint8Array): void => {
    const file = fileAt(path)
    file.bytes = Buffer.concat([file.bytes, bytes])
    if (!syncs) markDurable(path, file.bytes.length)
  }

  const never = <T>(): Promise<T> => new Promise(() => {})

  const storageFor = (life: Life): Storage => {
    const poisoned = new Set<string>()
    let isClosed = false
    let inFlight = 0
    const whenIdle: (() => void)[] = []

    /** A promise that the world settles later; the storage is not idle before. */
    const later = (label: string, act: () => MaybePromise<void>): Promise<void> => {
      inFlight += 1
      return new Promise((resolve, reject) => {
        world.later(label, life, () => {
          try {
            resolve(act())
          } catch (error) {
            reject(error)
          } finally {
            inFlight -= 1
            if (inFlight === 0) for (const wake of whenIdle.splice(0)) wake()
          }
        })
      })
    }

    const checkWritable = (path: string): void => {
      if (isClosed) throw new StorageError('closed', path, 'the storage is closed: nothing was written')
      if (poisoned.has(path)) throw poisonedError(path, undefined)
    }

    /** The next write: does the process die in it, or does it fail? */
    const fateOf = (): {
      readonly number: number
      readonly dies: string | undefined
      readonly fault: DiskFault | undefined
    } => {
      const number = ++writes
      const stop = plan.stops.find((each) => each.kind === 'crash-in-write' && each.write === number)
      return {
        number,
        dies: stop?.kind === 'crash-in-write' ? stop.when : undefined,
        fault: plan.diskFaults.find((each) => each.write === number),
      }
    }

    const fail = (path: string, { kind }: DiskFault): never => {
      failures.set(path, [...(failures.get(path) ?? []), life])
      world.note(() => `disk: ${kind} at ${nameOf(path)}`)
      throw new StorageError(CODES[kind], path, `writing ${path} failed: ${kind}`)
    }

    const appendOne = (path: string, text: string): MaybePromise<void> => {
      const { dies, fault, number } = fateOf()
      const act = (): MaybePromise<void> => {
        if (dies !== undefined) {
          const bytes = bytesOf(path, text)
          if (dies === 'after') put(path, bytes)
          if (dies === 'torn') put(path, bytes.subarray(0, chance.below(bytes.length)))
          world.note(() => `the process dies in write ${number}, ${dies}, of ${nameOf(path)}`)
          onCrash(life)
          return never()
        }
        checkWritable(path)
        if (fault !== undefined && (fault.kind !== 'sync' || !syncs)) fail(path, fault)
        put(path, bytesOf(path, text))
        if (!syncs) return
        const upTo = files.get(path)?.bytes.length ?? 0
        return later(`sync ${nameOf(path)}`, () => {
          if (poisoned.has(path)) throw poisonedError(path, undefined)
          if (fault !== undefined) {
            const file = fileAt(path)
            file.bytes = file.bytes.subarray(0, file.durable)
            poisoned.add(path)
            fail(path, fault)
          }
          markDurable(path, upTo)
        })
      }
      if (!chance.happens(plan.slowWrites)) return act()
      const write = { life, path, text }
      waiting.add(write)
      return later(`write ${number} to ${nameOf(path)}`, () => {
        waiting.delete(write)
        return act()
      })
    }

    return {
      append: (batch: readonly Append[]): MaybePromise<void> => {
        if (!life.isAlive) return never()
        const [only] = batch
        if (only === undefined) return
        if (batch.length > 1)
          throw new Error('the simulated disk does not know batches over several files yet')
        listener.onWrite(life, only.path)
        checkWritable(only.path)
        return appendOne(only.path, only.text)
      },
      writeWhole: (path, text) => {
        if (!life.isAlive) return never()
        listener.onWrite(life, path)
        const { dies, fault } = fateOf()
        const act = (): MaybePromise<void> => {
          if (dies === 'after') files.set(path, whole(text))
          if (dies !== undefined) {
            onCrash(life)
            return never()
          }
          checkWritable(path)
          if (fault !== undefined) fail(path, fault)
          files.set(path, whole(text))
        }
        return chance.happens(plan.slowWrites) || syncs ? later(`write ${nameOf(path)}`, act) : act()
      },
      writeDerived: (path, text) => {
        if (!life.isAlive) return
        const before = files.get(path)
        if (isSnapshot(path) && before !== undefined) olderSnapshots.set(path, before)
        files.set(path, whole(text))
      },
      read: async function* (path, offset = 0) {
        if (!life.isAlive) return yield await never<Uint8Array>()
        if (offset > 0 && path.endsWith('.jsonl')) shortcuts += 1
        if (chance.happens(0.5)) await later(`read ${nameOf(path)}`, () => {})
        const file = files.get(path)
        if (file === undefined) throw new StorageError('not-found', path, `there is no file ${path}`)
        const bytes = Uint8Array.from(file.bytes.subarray(offset))
        const middle = chance.below(bytes.length + 1)
        yield bytes.subarray(0, middle)
        yield bytes.subarray(middle)
      },
      exists: (path) => (life.isAlive ? exists(path) : never()),
      stat: (path) => {
        if (!life.isAlive) return never()
        const file = files.get(path)
        return file === undefined ? undefined : { bytes: file.bytes.length, modifiedAt: 0 }
      },
      list: async (folder) => {
        if (!life.isAlive) return never()
        const inside = [...files.keys()].filter((path) => path.startsWith(`${folder}/`))
        return [...new Set(inside.map((path) => path.slice(folder.length + 1).split('/')[0] ?? ''))].sort()
      },
      lock: (path, info) => {
        const held = locks.get(path)
        if (held?.life.isAlive === true)
          throw new SessionLockedError(
            path,
            held.owner,
            `the session is in use by engine ${held.owner.engine}`,
          )
        const owner: LockOwner = {
          host: 'simulation',
          pid: life.number,
          engine: info.engine,
          startedAt: new Date(info.startedAt).toISOString(),
        }
        locks.set(path, { life, owner })
        return { owner, release: () => void (locks.get(path)?.owner === owner && locks.delete(path)) }
      },
      release: () => {},
      close: async () => {
        isClosed = true
        while (inFlight > 0) await new Promise<void>((resolve) => whenIdle.push(resolve))
      },
    }
  }

  const exists = (path: string): boolean =>
    files.has(path) || [...files.keys()].some((each) => each.startsWith(`${path}/`))

  /** How much of some bytes a crash lets through. */
  const share = (length: number): number => chance.pick([0, chance.below(length + 1), length])

  const crash = (life: Life): void => {
    for (const write of waiting) {
      if (write.life !== life) continue
      const bytes = bytesOf(write.path, write.text)
      const kept = bytes.subarray(0, share(bytes.length))
      if (kept.length > 0) fileAt(write.path).bytes = Buffer.concat([fileAt(write.path).bytes, kept])
    }
    waiting.clear()
    for (const [path, file] of files) {
      if (path.endsWith('.meta.json')) {
        if (chance.happens(0.5)) files.delete(path)
        continue
      }
      const unsynced = file.bytes.length - file.durable
      // Without syncs all that was written is there: it is the process that has died, not the machine.
      const left = file.durable + (syncs ? share(unsynced) : unsynced)
      file.bytes = Buffer.from(file.bytes.subarray(0, left))
      file.durable = left
      if (left === 0) files.delete(path)
      if (path.endsWith('.jsonl')) logs.replaced(path, file.bytes)
    }
  }

  const ruinSnapshots = (how: SnapshotRuin): void => {
    const ruins = world.chance('snapshots')
    const snapshots = [...files].filter(([path]) => isSnapshot(path))
    for (const [path, { bytes }] of snapshots) {
      if (bytes.length === 0 || ruins.happens(0.3)) continue
      world.note(() => `disk: the snapshot ${nameOf(path)} is ${how}`)
      const at = ruins.below(bytes.length)
      if (how === 'torn') files.set(path, wholeOf(bytes.subarray(0, at)))
      if (how === 'flipped') files.set(path, wholeOf(bytes.with(at, (bytes[at] ?? 0) ^ 1)))
      if (how === 'gone') files.delete(path)
      const older = olderSnapshots.get(path)
      if (how === 'older' && older !== undefined) files.set(path, older)
      if (how === 'of-another') files.set(path, wholeOf(ruins.pick(snapshots)[1].bytes))
    }
  }

  const damageLine: Disk['damageLine'] = (path, { line, how }) => {
    const file = files.get(path)
    // One character per byte: what a tear has left may be no UTF-8.
    const lines = (file?.bytes.toString('latin1') ?? '').split(/(?<=\n)/)
    const events = logs.all.find((log) => log.path === path)?.events ?? []
    const counting = new Set(
      events.flatMap(({ seq, event, lines: own }) =>
        event.type === 'run.started'
          ? []
          : Array.from({ length: Math.max(1, own.length) }, (_, i) => seq + i),
      ),
    )
    // Behind the last of them there can be nothing but a tear, and it is taken for one itself.
    const candidates = lines
      .flatMap((text, i) => (i > 1 && counting.has(seqOf(text)) ? [i] : []))
      .slice(0, -1)
    const at = candidates[Math.floor(line * candidates.length)]
    if (at === undefined) return false
    const text = lines[at] ?? ''
    const spoiled = {
      garbage: `x${text}`,
      zeros: `${'\0'.repeat(text.length - 1)}\n`,
      gone: '',
      twice: text + text,
    }
    files.set(path, wholeOf(Buffer.from(lines.with(at, spoiled[how]).join(''), 'latin1')))
    world.note(() => `disk: line ${at + 1} of ${nameOf(path)} is ${how}: ${text.slice(0, 120)}`)
    logs.replaced(path, files.get(path)?.bytes ?? Buffer.alloc(0))
    return true
  }

  return {
    storageFor,
    crash,
    ruinSnapshots,
    damageLine,
    get shortcuts() {
      return shortcuts
    },
    logs,
    failuresOf: (path) => failures.get(path) ?? [],
    holderOf: (path) => {
      const held = locks.get(path)
      return held?.life.isAlive === true ? held.life : undefined
    },
    exists,
    get writes() {
      return writes
    },
    files,
  }
}

const whole = (text: string): SimFile => wholeOf(Buffer.from(text))

function wholeOf(content: Uint8Array): SimFile {
  const bytes = Buffer.from(content)
  return { bytes, durable: bytes.length }
}

const isSnapshot = (path: string): boolean => path.includes('/snapshots/')

/** The position that a line of a log names; -1 for what a tear has left of one. */
function seqOf(line: string): number {
  try {
    return Number(JSON.parse(line).seq)
  } catch {
    return -1
  }
}

/** The last part of a path, for the story. */
const nameOf = (path: string): string => path.split('/').at(-1) ?? path
