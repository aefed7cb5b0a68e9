import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { makeFolder } from '../../src/journal/make-folder.ts'

const root = mkdtempSync(path.join(tmpdir(), 'troupe-folders-'))
afterAll(() => rmSync(root, { recursive: true }))

describe('making a folder', () => {
  it('makes those above it too, for their owner only, and says which is the topmost new one', () => {
    const deep = path.join(root, 'a', 'b', 'c')
    expect(makeFolder(deep)).toBe(path.join(root, 'a'))
    expect(statSync(deep).mode & 0o777).toBe(0o700)
    expect(makeFolder(deep)).toBeUndefined()
    expect(makeFolder(path.join(root, 'a', 'x'))).toBe(path.join(root, 'a', 'x'))
  })

  it('throws for a file in the way', () => {
    writeFileSync(path.join(root, 'file'), '')
    expect(() => makeFolder(path.join(root, 'file', 'below'))).toThrow(/ENOTDIR/)
  })

  it.skipIf(!existsSync('/proc/self'))('throws, and returns, where nothing can ever be made', () => {
    expect(() => makeFolder('/proc/nope/a/b')).toThrow(/ENOENT/)
  })
})
