import { expect, it } from 'vitest'
import { createSeenFiles } from '../../../src/effects/tools/seen-files.ts'

it('tells apart seen, seen to be missing, and never seen', () => {
  const seen = createSeenFiles()
  seen.note([
    { path: '/a', hash: '1' },
    { path: '/b', hash: null },
    { path: '/a', hash: '2' },
  ])
  expect(['/a', '/b', '/c'].map((path) => seen.hashOf(path))).toEqual(['2', null, undefined])
})

it('forgets what was noted longest ago, however often it was looked up', () => {
  const seen = createSeenFiles({ maxFiles: 2 })
  seen.note([{ path: '/a', hash: '1' }])
  seen.note([{ path: '/b', hash: '1' }])
  seen.note([{ path: '/a', hash: '2' }])
  seen.hashOf('/b')
  seen.note([{ path: '/c', hash: '1' }])
  expect(seen.files()).toEqual([
    { path: '/a', hash: '2' },
    { path: '/c', hash: '1' },
  ])
})

it('makes an independent copy for a fork', () => {
  const parent = createSeenFiles({ from: [{ path: '/a', hash: '1' }] })
  const fork = createSeenFiles({ from: parent.files() })
  fork.note([{ path: '/a', hash: '2' }])
  expect([parent.hashOf('/a'), fork.hashOf('/a')]).toEqual(['1', '2'])
})
