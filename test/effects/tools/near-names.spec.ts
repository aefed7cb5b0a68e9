import { expect, it } from 'vitest'
import { editDistance } from '../../../src/effects/tools/near-names.ts'

it.each([
  ['', '', 0],
  ['abc', '', 3],
  ['abc', 'abd', 1],
  ['abc', 'ab', 1],
  ['scr', 'src', 1],
  ['kitten', 'sitting', 3],
])('from %j to %j it is %i', (a, b, distance) => {
  expect([editDistance(a, b), editDistance(b, a)]).toEqual([distance, distance])
})
