import { describe, expect, it } from 'vitest'
import { createMemoryStorage } from '../../src/journal/memory-storage.ts'

const LOG = '/home/log'
const line = (text: string) => [{ path: LOG, text: `${text}\n` }]

describe('a storage in memory', () => {
  it('fails the next append as it is told, and changes nothing', () => {
    const storage = createMemoryStorage()
    storage.append(line('1'))
    storage.failNextAppend('full')
    expect(() => storage.append(line('2'))).toThrow(expect.objectContaining({ code: 'full', path: LOG }))
    storage.append(line('3'))
    expect(storage.files.get(LOG)).toBe('1\n3\n')
  })

  it('tears an append: the process dies in it, and the next one finds the torn tail', () => {
    const storage = createMemoryStorage({ durability: 'write' })
    storage.append(line('one'))
    storage.tearNextAppend(2)
    expect(() => storage.append(line('two'))).toThrow(expect.objectContaining({ code: 'crashed' }))
    expect(() => storage.append(line('three'))).toThrow(expect.objectContaining({ code: 'crashed' }))
    const next = storage.crash()
    expect(next.files.get(LOG)).toBe('one\ntw')
    next.append(line('three'))
    expect(next.files.get(LOG)).toBe('one\ntw\nthree\n')
  })

  it('loses in a crash what was not synced, with fsync only', async () => {
    const storage = createMemoryStorage({ durability: 'fsync' })
    await storage.append(line('1'))
    storage.holdSyncs()
    let isSettled = false
    const settle = () => {
      isSettled = true
    }
    Promise.resolve(storage.append(line('2'))).then(settle, settle)
    expect(storage.files.get(LOG)).toBe('1\n2\n')
    expect(storage.crash().files.get(LOG)).toBe('1\n')
    await new Promise<void>((resolve) => setImmediate(resolve))
    expect(isSettled).toBe(false)

    const writing = createMemoryStorage({ durability: 'write' })
    writing.append(line('1'))
    expect(writing.crash().files.get(LOG)).toBe('1\n')
  })

  it('holds syncs until they are let go', async () => {
    const storage = createMemoryStorage({ durability: 'fsync' })
    const letGo = storage.holdSyncs()
    let isDurable = false
    const appended = Promise.resolve(storage.append(line('1'))).then(() => {
      isDurable = true
    })
    await new Promise<void>((resolve) => setImmediate(resolve))
    expect(isDurable).toBe(false)
    letGo()
    await appended
    expect(storage.crash().files.get(LOG)).toBe('1\n')
  })

  it('poisons the files of a failed sync', async () => {
    const storage = createMemoryStorage({ durability: 'fsync' })
    await storage.append(line('1'))
    storage.failNextSync()
    await expect(Promise.resolve(storage.append(line('2')))).rejects.toMatchObject({ code: 'io' })
    expect(storage.files.get(LOG)).toBe('1\n')
    expect(() => storage.append(line('3'))).toThrow(expect.objectContaining({ code: 'poisoned' }))
  })
})
