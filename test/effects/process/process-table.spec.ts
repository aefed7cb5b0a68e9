import { expect, it } from 'vitest'
import {
  parseStat,
  readProcess,
  startTimeFromPs,
  startTimeOf,
} from '../../../src/effects/process/process-table.ts'

const stat = (pid: number, name: string, state: string): string =>
  `${pid} (${name}) ${state} 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1000 2000`

it('reads a process whose name holds blanks and brackets', () => {
  expect(parseStat(stat(7, 'a) S 9 (b c', 'S'))).toEqual({
    pid: 7,
    parent: 1,
    group: 42,
    startTime: '987654',
    isDead: false,
  })
})

it('takes one that only waits to be reaped for dead', () => {
  expect(parseStat(stat(7, 'gone', 'Z'))?.isDead).toBe(true)
})

it.each(['', '12', '12 (cut'])('makes nothing of %j', (text) => {
  expect(parseStat(text)).toBeUndefined()
})

it('knows this process, and knows of none that does not exist', () => {
  expect(startTimeOf(process.pid)).toMatch(/./)
  expect(startTimeOf(2 ** 22 + 1)).toBeUndefined()
})

it.runIf(process.platform === 'linux')('finds the parent of this process', () => {
  expect(readProcess(process.pid)?.parent).toBe(process.ppid)
})

it('gets the same start time from ps twice', () => {
  const first = startTimeFromPs(process.pid)
  expect(first).toMatch(/\d\d:\d\d:\d\d/)
  expect(startTimeFromPs(process.pid)).toBe(first)
})
