/** Ends at hand: a bounded number, whoever is told of them or not. */
import { expect, it } from 'vitest'
import type { EngineCore } from '../../src/engine/core.ts'
import { SessionEnds } from '../../src/engine/ends.ts'
import type { Session } from '../../src/engine/session.ts'
import { countingIds } from '../helpers/engine.ts'

it('keeps no more than 64 ends at hand, the last ones', async () => {
  // What is at hand needs neither engine nor session: hence the casts.
  const ends = new SessionEnds({} as EngineCore, {} as Session)
  const ids = countingIds()
  const keys = Array.from({ length: 200 }, () => ({ agentId: ids.agentId(), run: 1 }))
  for (const key of keys) ends.lose(key, 'gone', {})
  expect(ends.size).toBe(64)
  const last = keys.at(-1)
  expect(last && (await ends.stateOf(last))).toEqual({ kind: 'lost', why: 'gone', modelUsage: {} })
  if (last !== undefined) ends.forget(last)
  expect(ends.size).toBe(63)
})
