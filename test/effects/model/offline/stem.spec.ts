import { describe, expect, it } from 'vitest'
import { keyOf, sameStem } from '../../../../src/effects/model/offline/stem.ts'

const same = (one: string, other: string): boolean => sameStem(keyOf(one), keyOf(other))

describe('words with the same stem', () => {
  it.each([
    'retry retries retried retrying',
    'lock locks locked locking',
    'run running ran runs',
    'take takes taking took taken',
    'decide decides decision deciding',
    'permit permission permissions permitted',
    'resolve resolves resolution resolved',
    'cancel cancels cancelled cancelling',
    'stop stopped stopping stops',
    'pass passes passed',
    'survive surviving survivor survivors',
    'recover recovery recovered',
    'cache caches cached caching',
    'normalise normalize normaliser normalizer',
    'behaviour behavior behaviours',
    'match matches matched',
    "journal journal's journals",
  ])('%s', (family) => {
    const [first = '', ...others] = family.split(' ')
    for (const other of others) expect([other, same(first, other)]).toEqual([other, true])
  })

  it.each([
    ['log', 'logical'],
    ['lock', 'block'],
    ['end', 'send'],
    ['state', 'status'],
    ['test', 'text'],
    ['code', 'decode'],
  ])('%s is not %s', (one, other) => {
    expect(same(one, other)).toBe(false)
  })
})
