import { describe, expect, it } from 'vitest'
import {
  commentText,
  declaredIn,
  isComment,
  isFunction,
  isImport,
} from '../../../../src/effects/model/offline/lines.ts'
import { pathKind } from '../../../../src/effects/model/offline/path-kind.ts'

const declares = (text: string, prose = false): string | undefined => {
  const declared = declaredIn(text, prose)
  return declared && `${declared.kind} ${declared.name}`
}

describe('what a line declares', () => {
  it.each([
    ['export async function takeOver(path: string): Promise<Lock> {', 'top takeOver'],
    ['export const sleep = (ms: number) => {', 'top sleep'],
    ['export abstract class Store<T> {', 'top Store'],
    ['  const lock = await acquire()', 'local lock'],
    ['  isSafe(input: I): boolean', 'method isSafe'],
    ['  async run(input) {', 'method run'],
    ['  #settle(ended: Ended): void {', 'method #settle'],
    ['  readonly takeOver?: boolean', 'member takeOver'],
    ["  'run.started': z.object({", 'member run.started'],
    ['def parse_date(text):', 'top parse_date'],
    ['    def close(self):', 'top close'],
    ['pub(crate) async fn open(path: &Path) -> Result<()> {', 'top open'],
    ['func (s *Server) Close() error {', 'top Close'],
    ['impl Drop for Lock {', 'top Drop'],
    ['MAX_WAIT = 30', 'top MAX_WAIT'],
    ["it('refuses a second lock', () => {", 'test refuses a second lock'],
    ['  return takeOver(path)', undefined],
    ['  await takeOver(path)', undefined],
    ['  if (held(path)) {', undefined],
    ['  takeOver(path)', undefined],
    [' * function in a comment', undefined],
    ['// const old = 1', undefined],
    ['# Heading', undefined],
  ])('%s → %s', (text, expected) => {
    expect(declares(text)).toBe(expected)
  })

  it('in a document only headings do', () => {
    expect(declares('## The lock', true)).toBe('heading The lock')
    expect(declares('const lock = 1', true)).toBeUndefined()
  })
})

describe('a line', () => {
  it.each(['// a', '  /** a', '   * a', '# a', '-- a', '<!-- a -->'])('%s is a comment', (text) => {
    expect(isComment(text)).toBe(true)
  })

  it.each(['#include <a>', '#[derive(Debug)]', 'a // b', 'const a = 1', '#field = 1'])(
    '%s is no comment',
    (text) => {
      expect(isComment(text)).toBe(false)
    },
  )

  it('of a comment is read without its marks', () => {
    expect(['/** Takes it. */', ' * Takes it.', '// Takes it.', '# Takes it.'].map(commentText)).toEqual(
      Array.from({ length: 4 }, () => 'Takes it.'),
    )
  })

  it.each([
    "import { a } from 'b'",
    "export * from './a'",
    "} from './a'",
    'from a import b',
    'use std::fs;',
  ])('%s brings names in', (text) => {
    expect(isImport(text)).toBe(true)
  })

  it.each(['const important = 1', 'export function importAll() {', 'export const a = 1'])(
    '%s does not bring names in',
    (text) => {
      expect(isImport(text)).toBe(false)
    },
  )

  it('declares a function or it does not', () => {
    const ofLine = (text: string): boolean | undefined => {
      const declared = declaredIn(text)
      return declared && isFunction(text, declared)
    }
    expect(ofLine('export function a() {')).toBe(true)
    expect(ofLine('const a = () => 1')).toBe(true)
    expect(ofLine('export interface A {')).toBe(false)
    expect(ofLine('const a = 1')).toBe(false)
  })
})

describe('a path', () => {
  it.each([
    ['src/journal/lock.ts', 'source'],
    ['test/journal/lock.spec.ts', 'test'],
    ['src/lock.test.ts', 'test'],
    ['pkg/lock_test.go', 'test'],
    ['tests/test_lock.py', 'test'],
    ['src/testing.ts', 'source'],
    ['docs/locks.md', 'docs'],
    ['test/README.md', 'docs'],
    ['package.json', 'data'],
    ['package-lock.json', 'generated'],
    ['node_modules/a/b.js', 'generated'],
    ['dist/cli.js', 'generated'],
    ['.claude/tasks/a1.output', 'generated'],
  ])('%s is %s', (path, kind) => {
    expect(pathKind(path)).toBe(kind)
  })
})
