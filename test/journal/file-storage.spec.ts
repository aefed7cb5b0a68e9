import * as nodeFs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import type { FileCalls } from '../../src/journal/append-files.ts'
import { createFileStorage } from '../../src/journal/file-storage.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const errno = (code: string): Error => Object.assign(new Error(`${code}: as the test asked`), { code })

/** The real calls, of which a test replaces some; and a record of syncs and of handles that are open. */
function calls(replace: (real: FileCalls) => Partial<FileCalls> = () => ({})) {
  const open = new Set<number>()
  const synced: number[] = []
  let mostOpen = 0
  const real: FileCalls = {
    ...nodeFs,
    openSync: (file, flags, mode) => {
      const fd = nodeFs.openSync(file, flags, mode)
      open.add(fd)
      mostOpen = Math.max(mostOpen, open.size)
      return fd
    },
    closeSync: (fd) => {
      open.delete(fd)
      nodeFs.closeSync(fd)
    },
    fdatasync: (fd, done) => {
      synced.push(fd)
      nodeFs.fdatasync(fd, done)
    },
  }
  const fs: FileCalls = { ...real, ...replace(real) }
  return { fs, open, synced, mostOpen: () => mostOpen }
}

/** Hand-driven syncs: each waits until the test lets it go. */
function heldSyncs() {
  const waiting: { readonly fd: number; readonly done: (error: Error | null) => void }[] = []
  return {
    waiting,
    fdatasync: (fd: number, done: (error: Error | null) => void) => void waiting.push({ fd, done }),
  }
}

const tick = () => new Promise<void>((resolve) => setImmediate(resolve))
const text = (file: string) => nodeFs.readFileSync(file, 'utf8')

describe('an append', () => {
  it('is synchronous with durability write', () => {
    const file = path.join(temporaryFolder(), 'log')
    const storage = createFileStorage({ durability: 'write' })
    expect(storage.append([{ path: file, text: '1\n' }])).toBeUndefined()
    expect(text(file)).toBe('1\n')
    storage.release(file)
  })

  it('makes files and folders that nobody else can read', () => {
    const folder = temporaryFolder()
    const file = path.join(folder, 'a/b/log')
    const storage = createFileStorage({ durability: 'write' })
    storage.append([{ path: file, text: '1\n' }])
    expect(nodeFs.statSync(file).mode & 0o777).toBe(0o600)
    expect(nodeFs.statSync(path.join(folder, 'a')).mode & 0o777).toBe(0o700)
    expect(nodeFs.statSync(path.join(folder, 'a/b')).mode & 0o777).toBe(0o700)
    storage.release(file)
  })

  it.each([
    ['ENOSPC', 'full'],
    ['EACCES', 'denied'],
    ['EIO', 'io'],
  ])('that fails with %s leaves the file as it was, and the next one works', (code, expected) => {
    const file = path.join(temporaryFolder(), 'log')
    let isFailing = false
    const { fs } = calls((real) => ({
      writeSync: (fd, whole) => {
        if (!isFailing) return real.writeSync(fd, whole)
        real.writeSync(fd, whole.slice(0, 3))
        throw errno(code)
      },
    }))
    const storage = createFileStorage({ durability: 'write', fs })
    storage.append([{ path: file, text: 'before\n' }])
    isFailing = true
    expect(() => storage.append([{ path: file, text: 'failing\n' }])).toThrow(
      expect.objectContaining({ name: 'StorageError', code: expected, path: file }),
    )
    expect(text(file)).toBe('before\n')
    isFailing = false
    storage.append([{ path: file, text: 'after\n' }])
    expect(text(file)).toBe('before\nafter\n')
    storage.release(file)
  })

  it('that is written in part is undone', () => {
    const file = path.join(temporaryFolder(), 'log')
    nodeFs.writeFileSync(file, 'torn')
    const { fs } = calls((real) => ({ writeSync: (fd, whole) => real.writeSync(fd, whole.slice(0, -2)) }))
    const storage = createFileStorage({ durability: 'write', fs })
    expect(() => storage.append([{ path: file, text: 'a line\n' }])).toThrow(
      expect.objectContaining({ code: 'short-write' }),
    )
    expect(text(file)).toBe('torn')
    storage.release(file)
  })

  it('to several files is undone in all of them when it fails in one', () => {
    const folder = temporaryFolder()
    const [a, b] = [path.join(folder, 'a'), path.join(folder, 'b')]
    nodeFs.mkdirSync(b)
    nodeFs.writeFileSync(a, 'torn')
    const storage = createFileStorage({ durability: 'write' })
    const batch = [
      { path: a, text: '1\n' },
      { path: b, text: '2\n' },
    ]
    expect(() => storage.append(batch)).toThrow(expect.objectContaining({ code: 'is-a-directory', path: b }))
    expect(text(a)).toBe('torn')
    storage.append([{ path: a, text: '3\n' }])
    expect(text(a)).toBe('torn\n3\n')
    storage.release(a)
  })

  it('that cannot be undone poisons the file, and no other', () => {
    const folder = temporaryFolder()
    const [a, b] = [path.join(folder, 'a'), path.join(folder, 'b')]
    let isFailing = true
    const { fs } = calls((real) => ({
      writeSync: (fd, whole) => {
        if (isFailing) throw errno('ENOSPC')
        return real.writeSync(fd, whole)
      },
      ftruncateSync: () => {
        throw errno('EIO')
      },
    }))
    const storage = createFileStorage({ durability: 'write', fs })
    expect(() => storage.append([{ path: a, text: '1\n' }])).toThrow(
      expect.objectContaining({ code: 'full' }),
    )
    isFailing = false
    expect(() => storage.append([{ path: a, text: '1\n' }])).toThrow(
      expect.objectContaining({ code: 'poisoned' }),
    )
    storage.release(a)
    expect(() => storage.append([{ path: a, text: '1\n' }])).toThrow(
      expect.objectContaining({ code: 'poisoned' }),
    )
    storage.append([{ path: b, text: '1\n' }])
    storage.release(b)
  })
})

describe('open files', () => {
  it.each(['write', 'fsync'] as const)(
    'stay below the limit, however many logs are written (%s)',
    async (durability) => {
      const folder = temporaryFolder()
      const { fs, open, mostOpen } = calls()
      const storage = createFileStorage({ durability, maxOpenFiles: 16, fs })
      const file = (i: number) => path.join(folder, `log-${i}`)
      for (let round = 0; round < 2; round += 1) {
        await Promise.all(
          Array.from({ length: 200 }, (_, i) => storage.append([{ path: file(i), text: `${round}\n` }])),
        )
      }
      // Those whose sync is in flight come on top, and the folder.
      expect(mostOpen()).toBeLessThanOrEqual(16 * 2 + 1)
      for (let i = 0; i < 200; i += 1) expect(text(file(i))).toBe('0\n1\n')
      await storage.close()
      expect(open.size).toBe(0)
    },
  )

  it('stay open while their sync is in flight, whatever the limit', async () => {
    const folder = temporaryFolder()
    const { waiting, fdatasync } = heldSyncs()
    const closed: number[] = []
    const { fs, open } = calls((real) => ({
      fdatasync,
      closeSync: (fd) => {
        closed.push(fd)
        real.closeSync(fd)
      },
    }))
    const storage = createFileStorage({ durability: 'fsync', maxOpenFiles: 2, fs })
    const append = (name: string) => storage.append([{ path: path.join(folder, name), text: '1\n' }])
    const first = ['a', 'b'].map(append)
    await tick()
    const inFlight = waiting.splice(0)
    expect(inFlight).toHaveLength(2)
    const rest = ['c', 'd', 'e', 'f'].map(append)
    expect(closed).not.toEqual([])
    for (const { fd } of inFlight) expect(closed).not.toContain(fd)
    for (const { done } of inFlight) done(null)
    await Promise.all(first)
    await expect.poll(() => waiting.length).toBeGreaterThan(0)
    for (const { done } of waiting.splice(0)) done(null)
    await Promise.all(rest)
    await storage.close()
    expect(open.size).toBe(0)
  })

  it('are given up when the process has none left', () => {
    const folder = temporaryFolder()
    let left = 3
    const { fs, open } = calls((real) => ({
      openSync: (file, flags, mode) => {
        if (open.size >= left) throw errno('EMFILE')
        return real.openSync(file, flags, mode)
      },
    }))
    const storage = createFileStorage({ durability: 'write', fs })
    for (let i = 0; i < 6; i += 1) storage.append([{ path: path.join(folder, `${i}`), text: '1\n' }])
    expect(nodeFs.readdirSync(folder)).toHaveLength(6)
    left = 0
    for (let i = 0; i < 6; i += 1) storage.release(path.join(folder, `${i}`))
    expect(open.size).toBe(0)
    expect(() => storage.append([{ path: path.join(folder, '7'), text: '1\n' }])).toThrow(
      expect.objectContaining({ code: 'io' }),
    )
  })
})

describe('group commit', () => {
  it('syncs once per file for all appends of one tick', async () => {
    const folder = temporaryFolder()
    const { fs, synced } = calls()
    const storage = createFileStorage({ durability: 'fsync', fs })
    const [a, b] = [path.join(folder, 'a'), path.join(folder, 'b')]
    await Promise.all([a, b, a, a].map((file) => storage.append([{ path: file, text: 'x\n' }])))
    expect(synced).toHaveLength(2)
    await storage.close()
  })

  it('lets what comes during a sync wait for the next one', async () => {
    const file = path.join(temporaryFolder(), 'log')
    const { waiting, fdatasync } = heldSyncs()
    const storage = createFileStorage({ durability: 'fsync', fs: calls(() => ({ fdatasync })).fs })
    const settled: number[] = []
    const append = (n: number) =>
      Promise.resolve(storage.append([{ path: file, text: `${n}\n` }])).then(() => settled.push(n))
    const first = append(1)
    await tick()
    expect(waiting).toHaveLength(1)
    const rest = [append(2), append(3)]
    await tick()
    expect(waiting).toHaveLength(1)
    expect(text(file)).toBe('1\n2\n3\n')
    waiting.shift()?.done(null)
    await first
    expect(settled).toEqual([1])
    await expect.poll(() => waiting.length).toBe(1)
    waiting.shift()?.done(null)
    await Promise.all(rest)
    expect(settled).toEqual([1, 2, 3])
    await storage.close()
  })

  it('syncs the folders of a new file, up to the first that was there', async () => {
    const folder = temporaryFolder()
    const opened: string[] = []
    const { fs } = calls((real) => ({
      openSync: (file, flags, mode) => {
        if (flags === 'r') opened.push(file)
        return real.openSync(file, flags, mode)
      },
    }))
    const storage = createFileStorage({ durability: 'fsync', fs })
    const file = path.join(folder, 'a/b/log')
    await storage.append([{ path: file, text: '1\n' }])
    expect(opened.sort()).toEqual([folder, path.join(folder, 'a'), path.join(folder, 'a/b')])
    opened.length = 0
    await storage.append([{ path: file, text: '2\n' }])
    expect(opened).toEqual([])
    await storage.close()
  })

  it('rejects who waited for a sync that failed, cuts the file back and takes no more', async () => {
    const file = path.join(temporaryFolder(), 'log')
    const { waiting, fdatasync } = heldSyncs()
    const storage = createFileStorage({ durability: 'fsync', fs: calls(() => ({ fdatasync })).fs })
    const good = storage.append([{ path: file, text: '1\n' }])
    await tick()
    waiting.shift()?.done(null)
    await good
    const failing = Promise.resolve(storage.append([{ path: file, text: '2\n' }]))
    failing.catch(() => {})
    await tick()
    const joined = Promise.resolve(storage.append([{ path: file, text: '3\n' }]))
    joined.catch(() => {})
    waiting.shift()?.done(errno('EIO'))
    await expect(failing).rejects.toMatchObject({ name: 'StorageError', code: 'io', path: file })
    await expect(joined).rejects.toMatchObject({ code: 'poisoned', path: file })
    expect(() => storage.append([{ path: file, text: '4\n' }])).toThrow(
      expect.objectContaining({ code: 'poisoned' }),
    )
    expect(text(file)).toBe('1\n')
    await storage.close()
  })

  it('lets nothing follow in the other files of a batch whose sync failed in one', async () => {
    const folder = temporaryFolder()
    const [a, b] = [path.join(folder, 'a'), path.join(folder, 'b')]
    let syncs = 0
    const { fs } = calls((real) => ({
      fdatasync: (fd, done) => {
        syncs += 1
        if (syncs === 2) done(errno('EIO'))
        else real.fdatasync(fd, done)
      },
    }))
    const storage = createFileStorage({ durability: 'fsync', fs })
    const batch = [a, b].map((file) => ({ path: file, text: '1\n' }))
    await expect(Promise.resolve(storage.append(batch))).rejects.toMatchObject({ path: b, code: 'io' })
    for (const file of [a, b]) {
      expect(() => storage.append([{ path: file, text: '2\n' }])).toThrow(
        expect.objectContaining({ code: 'poisoned' }),
      )
    }
    await storage.close()
  })
})

describe('a whole file', () => {
  it('takes away what a dead process left half-written in its folder, and nothing that this one writes', async () => {
    const folder = temporaryFolder()
    const held = heldSyncs()
    const { fs } = calls(() => ({ fdatasync: held.fdatasync }))
    const first = createFileStorage({ durability: 'fsync', fs })
    const writing = first.writeWhole(path.join(folder, 'first'), 'whole')
    const [temporary] = nodeFs.readdirSync(folder)
    nodeFs.writeFileSync(path.join(folder, 'second.8a6e0804-2bd0-4672-b79d-d97027f9071a-1.tmp'), 'ha')
    nodeFs.writeFileSync(path.join(folder, 'notes.tmp'), 'mine')
    await createFileStorage({ durability: 'write' }).writeWhole(path.join(folder, 'third'), 'whole')
    expect(nodeFs.readdirSync(folder).toSorted()).toEqual([temporary, 'notes.tmp', 'third'])
    for (const { done } of held.waiting) done(null)
    await writing
    await first.close()
    expect(nodeFs.readdirSync(folder).toSorted()).toEqual(['first', 'notes.tmp', 'third'])
  })

  it.each(['write', 'fsync'] as const)(
    'that cannot be written leaves the old one and no other (%s)',
    async (durability) => {
      const folder = temporaryFolder()
      const file = path.join(folder, 'meta')
      nodeFs.writeFileSync(file, 'old')
      const { fs, open } = calls(() => ({
        writeSync: () => {
          throw errno('ENOSPC')
        },
      }))
      const storage = createFileStorage({ durability, fs })
      expect(() => storage.writeWhole(file, 'new')).toThrow(
        expect.objectContaining({ code: 'full', path: file }),
      )
      expect(nodeFs.readdirSync(folder)).toEqual(['meta'])
      expect(text(file)).toBe('old')
      expect(open.size).toBe(0)
      await storage.close()
    },
  )
})
