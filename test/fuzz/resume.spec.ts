/** Resuming a session of which any file was changed behind the engine's back. */
import { basename } from 'node:path'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import { callMany, say } from '../../src/effects/model/scripted-reply.ts'
import type { ResumeRule, Tool } from '../../src/effects/tools/tool.ts'
import type { RunResult } from '../../src/engine/api.ts'
import { EngineError } from '../../src/engine/errors.ts'
import { createMemoryStorage } from '../../src/journal/memory-storage.ts'
import { requestViolations } from '../../src/journal/projections/validate-request.ts'
import { createCrashingStorage } from '../helpers/crashing-storage.ts'
import { settle, testEngine } from '../helpers/engine.ts'
import { turnOf } from '../helpers/scripts.ts'
import { fuzz } from './support/fuzz.ts'
import { mutated } from './support/mutations.ts'

const SESSION = '11111111-1111-4111-8111-111111111111'

const tool = (name: string, resume: ResumeRule): Tool<{ id: string }> => ({
  name,
  description: name,
  inputSchema: z.strictObject({ id: z.string() }),
  resume,
  isReadOnly: () => resume === 'repeat',
  isConcurrencySafe: () => resume === 'repeat',
  run: async ({ id }) => ({ content: `${name} ${id} done` }),
})
const tools = [tool('Look', 'repeat'), tool('Put', 'keyed'), tool('Act', 'interrupt')]

/** Two children in parallel that use every rule, then an act of the parent. Says something to any conversation. */
function play(request: ModelRequest) {
  const turn = turnOf(request)
  const use = (name: string, id: string) => ({ name, input: { id } })
  if (request.source === 'main') {
    const child = (prompt: string) => ({
      name: 'Agent',
      input: { description: 'child', prompt, subagent_type: 'general-purpose' },
    })
    if (turn === 0) return callMany([child('alpha'), child('beta')])
    if (turn === 1) return callMany([use('Act', 'parent'), use('Look', 'parent')])
    return say('the end')
  }
  if (turn === 0) return callMany([use('Look', 'me'), use('Put', 'me')])
  if (turn === 1) return callMany([use('Act', 'me')])
  return say('a report')
}

/** The files of a session at every moment at which its process can have died. */
const sessions: ReadonlyMap<string, string>[] = []

beforeAll(async () => {
  for (let at = 1; at <= 40; at++) {
    const disk = createCrashingStorage({ at, when: 'after' })
    const { engine } = testEngine(play, { storage: { ...disk.storage } as never, tools })
    engine.run('go', { sessionId: SESSION }).result.catch(() => {})
    for (let i = 0; i < 60 && !disk.hasCrashed(); i++) await settle(1)
    if (!disk.hasCrashed()) break
    sessions.push(new Map(disk.survivor().files))
  }
  expect(sessions.length).toBeGreaterThan(15)
})

interface Tampering {
  readonly moment: number
  /** Which files, by number, and what is done to them. */
  readonly changes: readonly { readonly file: number; readonly change: (content: Buffer) => Buffer }[]
  readonly acceptDamage: boolean
}

/** Mutations come as values of `mutated`; here they are wanted for a content that is known only later. */
const anyChange: fc.Arbitrary<(content: Buffer) => Buffer> = fc
  .tuple(fc.integer(), fc.constantFrom('mutate', 'mutate', 'mutate', 'other', 'empty', 'double'))
  .map(([seed, how]) => (content) => {
    if (how === 'empty') return Buffer.alloc(0)
    if (how === 'double') return Buffer.concat([content, content])
    const [changed] = fc.sample(mutated(fc.constant(content)), { numRuns: 1, seed })
    return changed ?? content
  })

const tampering: fc.Arbitrary<Tampering> = fc.record({
  moment: fc.nat(1_000),
  changes: fc.array(fc.record({ file: fc.nat(1_000), change: anyChange }), { minLength: 1, maxLength: 2 }),
  acceptDamage: fc.boolean(),
})

function tampered({ moment, changes }: Tampering): Map<string, string | Uint8Array> {
  const files = new Map<string, string | Uint8Array>(sessions[moment % sessions.length])
  const names = [...files.keys()].filter((name) => basename(name) !== 'lock')
  for (const { file, change } of changes) {
    const name = names[file % names.length] ?? ''
    files.set(name, change(Buffer.from(files.get(name) ?? '')))
  }
  return files
}

/** How a promise ended, given that it does while everything that is ready runs and all timers fire. */
async function outcomeOf<T>(
  promise: Promise<T>,
  clock: { advance(ms: number): void },
): Promise<{ readonly value: T } | { readonly error: unknown }> {
  let outcome: { readonly value: T } | { readonly error: unknown } | undefined
  promise.then(
    (value) => {
      outcome = { value }
    },
    (error: unknown) => {
      outcome = { error }
    },
  )
  for (let turn = 0; turn < 600; turn++) {
    await settle(1)
    if (outcome !== undefined) return outcome
    if (turn % 10 === 9) clock.advance(60_000)
  }
  throw new Error('it hangs: nothing is left to run, and it has not ended')
}

function expectRefusal(error: unknown): void {
  if (!EngineError.is(error)) throw error
  expect(['damaged-log', 'impossible-log', 'newer-machine', 'no-tools-left'], error.message).toContain(
    error.code,
  )
  if (error.code === 'damaged-log') expect(error.message).toMatch(/\.jsonl is damaged at bytes \d+–\d+/)
  if (error.code === 'impossible-log' || error.code === 'newer-machine')
    expect(error.message).toMatch(/\.jsonl, line \d+: /)
}

describe('a session whose files were changed', () => {
  fuzz(
    'resumes, or is refused with the file and the place; its logs only grow',
    100,
    tampering,
    async (how) => {
      const files = tampered(how)
      const storage = createMemoryStorage({ files })
      const requests: ModelRequest[] = []
      const { engine, clock } = testEngine(
        (request) => {
          requests.push(request)
          return play(request)
        },
        { storage, tools, idsFrom: 100_000 },
      )
      const resumed = await outcomeOf(engine.resume(SESSION, { acceptDamage: how.acceptDamage }), clock)
      if ('error' in resumed) expectRefusal(resumed.error)
      else if (resumed.value !== undefined) {
        const ended = await outcomeOf<RunResult>(resumed.value.result, clock)
        if ('error' in ended) expectRefusal(ended.error)
      }
      expect(await outcomeOf(engine.close(), clock)).toEqual({ value: undefined })
      for (const { messages } of requests) {
        expect(requestViolations(messages, { paused: messages.at(-1)?.role === 'assistant' })).toEqual([])
      }
      for (const [name, content] of files) {
        if (!name.endsWith('.jsonl')) continue
        const before = Buffer.from(content)
        const after = Buffer.from(storage.bytes(name))
        expect(after.subarray(0, before.length).equals(before), `${name} was rewritten`).toBe(true)
      }
    },
  )
})

/** Whether both children have asked for calls and none has ended. */
function isAtWork(files: ReadonlyMap<string, string>): boolean {
  const logs = [...files].filter(([name]) => /agent-.*\.jsonl$/.test(name))
  const text = logs.map(([, content]) => content)
  return (
    logs.length === 2 &&
    text.every((log) => log.includes('"stop_reason":"tool_use"') && !log.includes('agent.ended'))
  )
}

describe('a tree that is none', () => {
  /** The session when its children are at work, with a replacement made in the files that match. */
  function withReplaced(of: RegExp, what: (ids: readonly string[], content: string) => string) {
    const files = new Map(sessions.find(isAtWork))
    const ids = [...files.keys()].flatMap((name) => /agent-(a[0-9a-f]{16})\.jsonl$/.exec(name)?.[1] ?? [])
    for (const [name, content] of files) if (of.test(name)) files.set(name, what(ids, content))
    return { files, ids }
  }

  async function refusalOf(files: ReadonlyMap<string, string>): Promise<unknown> {
    const { engine, clock } = testEngine(play, {
      storage: createMemoryStorage({ files }),
      tools,
      idsFrom: 100_000,
    })
    const resumed = await outcomeOf(engine.resume(SESSION), clock)
    await outcomeOf(engine.close(), clock)
    return 'error' in resumed ? resumed.error : undefined
  }

  it('is refused where two calls of it name one child', async () => {
    const { files } = withReplaced(/11\.jsonl$/, ([a = '', b = ''], text) => text.replaceAll(b, a))
    expect(await refusalOf(files)).toMatchObject({ code: 'impossible-log' })
  })

  it('is refused where a log is that of another agent than its name says', async () => {
    const { files } = withReplaced(/agent-.*\.jsonl$/, ([a = '', b = ''], text) => text.replaceAll(b, a))
    expect(await refusalOf(files)).toMatchObject({ code: 'impossible-log' })
  })

  it('is refused where an agent is its own child', async () => {
    const { files } = withReplaced(/agent-.*\.jsonl$/, ([a = ''], text) => {
      const lines = text.split('\n')
      const { agentId, event: birth } = JSON.parse(lines[0] ?? '')
      if (agentId !== a) return text
      const asked = lines.findIndex((line) => line.includes('"stop_reason":"tool_use"'))
      expect(asked, 'the child has asked for a call').toBeGreaterThan(0)
      const seq = JSON.parse(lines[asked] ?? '').seq
      const event = { type: 'call.started', callId: `1.${seq}.0`, child: { agentId: a, plan: birth.plan } }
      const line = { ...JSON.parse(lines[0] ?? ''), seq: seq + 1, event }
      return [...lines.slice(0, asked + 1), JSON.stringify(line), ''].join('\n')
    })
    expect(await refusalOf(files)).toMatchObject({ code: 'impossible-log' })
  })
})
