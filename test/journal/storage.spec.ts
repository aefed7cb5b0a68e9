/** What every storage does, in memory or on files, with either durability. */
import * as nodeFs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { createFileStorage } from '../../src/journal/file-storage.ts'
import { createMemoryStorage } from '../../src/journal/memory-storage.ts'
import type { Durability, Storage } from '../../src/journal/storage.ts'
import { StorageError } from '../../src/journal/storage.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

type Make = () => {
  readonly storage: Storage
  readonly folder: string
  readonly put: (path: string, text: string) => void
}

const inMemory =
  (durability: Durability): Make =>
  () => {
    const storage = createMemoryStorage({ durability })
    const put = (file: string, text: string) => void storage.writeWhole(file, text)
    return { storage, folder: '/home', put }
  }

const onFiles =
  (durability: Durability): Make =>
  () => {
    const folder = temporaryFolder()
    const put = (file: string, text: string) => nodeFs.writeFileSync(file, text)
    return { storage: createFileStorage({ durability }), folder, put }
  }

const readText = async (storage: Storage, file: string, offset?: number): Promise<string> => {
  const parts: Uint8Array[] = []
  for await (const part of storage.read(file, offset)) parts.push(part)
  return Buffer.concat(parts).toString('utf8')
}

/** A failure, whether it is thrown or rejected. */
async function failureOf(act: () => unknown): Promise<StorageError> {
  try {
    await act()
  } catch (error) {
    if (StorageError.is(error)) return error
    throw error
  }
  throw new Error('it was expected to fail')
}

describe.each<[string, Make]>([
  ['in memory, write', inMemory('write')],
  ['in memory, fsync', inMemory('fsync')],
  ['on files, write', onFiles('write')],
  ['on files, fsync', onFiles('fsync')],
])('a storage %s', (_, make) => {
  it('appends in order, to files and folders that it makes', async () => {
    const { storage, folder } = make()
    const file = path.join(folder, 'a/b/log.jsonl')
    await storage.append([{ path: file, text: 'one\n' }])
    await storage.append([{ path: file, text: 'two ü\n' }])
    expect(await readText(storage, file)).toBe('one\ntwo ü\n')
    expect(await storage.stat(file)).toMatchObject({ bytes: 11 })
    await storage.close()
  })

  it('appends to several files at once, each in its order', async () => {
    const { storage, folder } = make()
    const [a, b] = [path.join(folder, 'a'), path.join(folder, 'b')]
    await storage.append([
      { path: a, text: '1\n' },
      { path: b, text: '2\n' },
      { path: a, text: '3\n' },
    ])
    expect(await readText(storage, a)).toBe('1\n3\n')
    expect(await readText(storage, b)).toBe('2\n')
    await storage.close()
  })

  it('puts a line feed behind a torn tail, once', async () => {
    const { storage, folder, put } = make()
    const file = path.join(folder, 'log')
    put(file, 'whole\nto')
    await storage.append([{ path: file, text: 'next\n' }])
    await storage.append([{ path: file, text: 'last\n' }])
    expect(await readText(storage, file)).toBe('whole\nto\nnext\nlast\n')
    await storage.close()
  })

  it('reads from an offset, and says not-found for what is not there', async () => {
    const { storage, folder } = make()
    const file = path.join(folder, 'log')
    await storage.append([{ path: file, text: '0123456789\n' }])
    expect(await readText(storage, file, 4)).toBe('456789\n')
    expect(await readText(storage, file, 99)).toBe('')
    const error = await failureOf(() => readText(storage, path.join(folder, 'none')))
    expect(error).toMatchObject({ code: 'not-found', path: path.join(folder, 'none') })
    expect(await storage.exists(file)).toBe(true)
    expect(await storage.exists(path.join(folder, 'none'))).toBe(false)
    expect(await storage.stat(path.join(folder, 'none'))).toBeUndefined()
    expect(await storage.stat(path.join(file, 'below a file'))).toBeUndefined()
    await storage.close()
  })

  it('writes a whole file over the one before, and leaves nothing else', async () => {
    const { storage, folder } = make()
    const file = path.join(folder, 'blobs/x')
    await storage.writeWhole(file, 'first')
    await storage.writeWhole(file, '2')
    expect(await readText(storage, file)).toBe('2')
    expect(await storage.list(path.join(folder, 'blobs'))).toEqual(['x'])
    expect(await storage.list(path.join(folder, 'none'))).toEqual([])
    await storage.close()
  })

  it('goes on with a file that it had let go of', async () => {
    const { storage, folder } = make()
    const file = path.join(folder, 'log')
    await storage.append([{ path: file, text: '1\n' }])
    storage.release(file)
    storage.release(file)
    await storage.append([{ path: file, text: '2\n' }])
    expect(await readText(storage, file)).toBe('1\n2\n')
    await storage.close()
  })

  it('refuses a folder in the place of a file', async () => {
    const { storage, folder } = make()
    await storage.append([{ path: path.join(folder, 'a/log'), text: '1\n' }])
    const error = await failureOf(() => storage.append([{ path: path.join(folder, 'a'), text: '1\n' }]))
    expect(error.code).toBe('is-a-directory')
    await storage.close()
  })

  it('takes nothing any more when it is closed', async () => {
    const { storage, folder } = make()
    await storage.close()
    const error = await failureOf(() => storage.append([{ path: path.join(folder, 'a'), text: '1\n' }]))
    expect(error.code).toBe('closed')
  })
})
