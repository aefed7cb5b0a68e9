import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { createScriptedModel } from '../../src/effects/model/scripted.ts'
import { say } from '../../src/effects/model/scripted-reply.ts'
import { createEngine } from '../../src/engine/create-engine.ts'
import { rerun } from '../../src/engine/rerun/rerun.ts'
import { createFileStorage } from '../../src/journal/file-storage.ts'
import { createMemoryStorage } from '../../src/journal/memory-storage.ts'

const HISTORIES = path.resolve(import.meta.dirname, '../replay/histories')
const textOf = (name: string): string => readFileSync(path.join(HISTORIES, `${name}.jsonl`), 'utf8')
const folder = mkdtempSync(path.join(tmpdir(), 'troupe-rerun-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const rerunOf = (text: string) =>
  rerun(createMemoryStorage({ files: new Map([['/log.jsonl', text]]) }), '/log.jsonl')

describe('a rerun', () => {
  it('shows the end that a log says otherwise than the engine', async () => {
    const { diff } = await rerunOf(textOf('one-answer').replace('"kind":"completed"', '"kind":"partial"'))
    expect(diff.first).toMatchObject({ a: { step: { kind: 'end' } }, b: { step: { kind: 'end' } } })
  })

  it('goes as far as a log does that was cut off', async () => {
    const lines = textOf('two-runs').trimEnd().split('\n')
    const { diff, complaints } = await rerunOf(`${lines.slice(0, 7).join('\n')}\n`)
    expect([diff.first, complaints]).toEqual([undefined, []])
  })

  it('of a branch of a transcript asks with what the transcript says', async () => {
    const transcript = path.join(folder, 'transcript.jsonl')
    const line = (more: object) => `${JSON.stringify({ sessionId: 's', isSidechain: false, ...more })}\n`
    const text =
      line({ type: 'user', uuid: 'u1', parentUuid: null, message: { role: 'user', content: 'hello' } }) +
      line({
        type: 'assistant',
        uuid: 'u2',
        parentUuid: 'u1',
        message: { id: 'm', role: 'assistant', content: [{ type: 'text', text: 'hi' }] },
      })
    writeFileSync(transcript, text)
    const model = createScriptedModel(({ messages }) => say(`${messages.length} messages`))
    const home = path.join(folder, 'home')
    const engine = createEngine({ model, home, cwd: folder })
    const run = engine.branch(transcript, { prompt: 'and now?' })
    expect((await run.result).text).toBe('3 messages')
    await engine.close()
    expect(readFileSync(transcript, 'utf8')).toBe(text)
    const storage = createFileStorage({ durability: 'write' })
    const projects = path.join(home, 'projects')
    const [slug] = await storage.list(projects)
    const log = path.join(projects, slug ?? '', `${run.sessionId}.jsonl`)
    const { diff, complaints } = await rerun(storage, log, { cwd: folder })
    expect([diff.first, complaints]).toEqual([undefined, []])
  })
})
