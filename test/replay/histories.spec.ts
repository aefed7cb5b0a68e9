/** Recorded histories replay for ever: each comes to what it came to on the day that it was recorded. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { HISTORY_TOOLS, record, SCENARIOS } from '../../scripts/histories/scenarios.ts'
import { summarise } from '../../scripts/histories/summary.ts'
import { rerun } from '../../src/engine/rerun/rerun.ts'
import { createFileStorage } from '../../src/journal/file-storage.ts'
import type { UpcasterTable } from '../../src/journal/upcast.ts'

const FOLDER = path.resolve(import.meta.dirname, 'histories')
const SUFFIX = '.expected.json'
const names = readdirSync(FOLDER)
  .filter((file) => file.endsWith(SUFFIX))
  .map((file) => file.slice(0, -SUFFIX.length))

const logOf = (name: string): string => path.join(FOLDER, `${name}.jsonl`)
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
const storage = createFileStorage({ durability: 'write' })

describe('the recorded histories', () => {
  it('are there: one for each scenario, and none without what it comes to', () => {
    expect(names).toEqual(expect.arrayContaining(Object.keys(SCENARIOS)))
  })

  it.each(names)('%s comes to what it came to', async (name) => {
    const expected = JSON.parse(readFileSync(path.join(FOLDER, name + SUFFIX), 'utf8'))
    const found = await summarise(logOf(name))
    expect(plain(found)).toEqual(expected)
    expect(found.violations).toEqual([])
  })

  it('can be recorded twice: nothing in a recording is left to chance', async () => {
    const scenario = SCENARIOS['parallel-children']
    if (scenario === undefined) throw new Error('there is no such scenario')
    expect([...(await record(scenario))]).toEqual([...(await record(scenario))])
  })

  // What moves a run to the background is not the model's doing, and the engine of today does not do it either.
  it.each(names.filter((name) => name !== 'a-move-to-the-background'))(
    '%s runs again through the engine without a difference',
    async (name) => {
      const { diff, complaints } = await rerun(storage, logOf(name), {
        cwd: '/',
        tools: HISTORY_TOOLS,
      })
      expect(diff.first).toBeUndefined()
      // A notice stands alone between two replies, and a request is compared without what the engine adds.
      if (name !== 'deferred-reviews') expect(complaints).toEqual([])
    },
  )
})

describe('a history of an old shape', () => {
  /** As if ends had once called their turns `replies` and said nothing of tools: an invented version 1 of the event. */
  const table: UpcasterTable = {
    'agent.ended': {
      1: ({ replies, ...event }) => ({ toolUses: 0, ...event, turns: replies }),
    },
  }
  const inOldShape = (text: string): string =>
    text.replace(/"turns":(\d+),"toolUses":\d+/, '"replies":$1').replace(/,"v":2/g, '')

  it('comes to the same as the same history in the new shape', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'troupe-history-'))
    try {
      const log = path.join(folder, 'old.jsonl')
      const text = inOldShape(readFileSync(logOf('one-answer'), 'utf8'))
      expect(text).toContain('"replies":1')
      writeFileSync(log, text)
      expect((await summarise(log)).remarks).toHaveLength(1)
      expect(await summarise(log, table)).toEqual(await summarise(logOf('one-answer')))
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
