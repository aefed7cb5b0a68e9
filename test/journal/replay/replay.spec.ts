import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { createFileStorage } from '../../../src/journal/file-storage.ts'
import { createMemoryStorage } from '../../../src/journal/memory-storage.ts'
import { diffLogs } from '../../../src/journal/replay/diff.ts'
import { replay } from '../../../src/journal/replay/replay.ts'
import { replaySession } from '../../../src/journal/replay/replay-session.ts'

const FOLDER = path.resolve(import.meta.dirname, '../../replay/histories')
const logOf = (name: string): string => path.join(FOLDER, `${name}.jsonl`)
const storage = createFileStorage({ durability: 'write' })

describe('replay', () => {
  it('gives the same at a position, whatever comes after it', async () => {
    const text = readFileSync(logOf('two-runs'), 'utf8')
    const lines = text.trimEnd().split('\n')
    for (let until = 0; until < lines.length; until++) {
      const cut = createMemoryStorage({
        files: new Map([['/x.jsonl', `${lines.slice(0, until + 1).join('\n')}\n`]]),
      })
      const [whole, part] = [
        await replay(storage, logOf('two-runs'), { until }),
        await replay(cut, '/x.jsonl'),
      ]
      // Its children have session ids of XState's own counting.
      const { birth, run } = part.state
      expect([birth, run?.value, run?.context]).toEqual([
        whole.state.birth,
        whole.state.run?.value,
        whole.state.run?.context,
      ])
      expect(part.messages).toEqual(whole.messages)
      expect(part.usage).toEqual(whole.usage)
    }
  })

  it('of a session has the children that were named by then', async () => {
    const whole = await replaySession(storage, logOf('parallel-children'))
    expect(whole.children.map(({ phase }) => phase)).toEqual(['completed', 'completed'])
    const early = await replaySession(storage, logOf('parallel-children'), { until: 2 })
    expect([early.phase, early.children]).toEqual(['requesting', []])
    const before = await replaySession(storage, logOf('parallel-children'), { at: 0 })
    expect(before.phase).toBe('unborn')
  })

  it('of a branch has the conversation from its beginning', async () => {
    const { messages, events } = await replay(storage, logOf('a-branch'))
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant', 'user'])
    expect(events).toBe(5)
  })
})

describe('diff', () => {
  const place = (name: string) => ({ storage, path: logOf(name) })

  it('of a log and itself is nothing', async () => {
    expect((await diffLogs(place('parallel-children'), place('parallel-children'))).first).toBeUndefined()
  })

  it('names the first step that means something else', async () => {
    const { first } = await diffLogs(place('one-answer'), place('two-runs'))
    expect(first).toMatchObject({ a: { step: { kind: 'prompt' } }, b: { step: { kind: 'prompt' } } })
  })

  it('of a branch and its base begins where they part', async () => {
    const base = { storage, path: path.join(FOLDER, '5e551011-0000-4000-8000-00000000abcd.jsonl') }
    const { first } = await diffLogs(base, place('a-branch'))
    expect(first).toMatchObject({
      a: { step: undefined },
      b: { step: { kind: 'prompt', text: 'otherwise?' } },
    })
  })

  it('takes no notice of ids, times and token counts', async () => {
    const text = readFileSync(logOf('one-answer'), 'utf8')
    const other = text
      .replaceAll('a0000000000000001', 'a00000000000000ff')
      .replaceAll('2026-11-30', '2027-01-01')
      .replaceAll(/"input_tokens":\d+/g, '"input_tokens":5')
    const memory = createMemoryStorage({ files: new Map([['/o.jsonl', other]]) })
    expect((await diffLogs(place('one-answer'), { storage: memory, path: '/o.jsonl' })).first).toBeUndefined()
  })
})
