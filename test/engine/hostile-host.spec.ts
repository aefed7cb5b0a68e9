/** Models and tools are a host's code: whatever they give, a run has an end that is in its log and can be read back. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { of } from 'rxjs'
import { afterAll, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { systemClock } from '../../src/effects/clock.ts'
import type { Model } from '../../src/effects/model/model.ts'
import { call, callMany, say } from '../../src/effects/model/scripted-reply.ts'
import { createLocalProcessRunner } from '../../src/effects/process/local-process-runner.ts'
import type { Tool, ToolOutput } from '../../src/effects/tools/tool.ts'
import { standardTools } from '../../src/effects/tools/tool-table.ts'
import type { MemoryStorage } from '../../src/journal/memory-storage.ts'
import { createMemoryStorage } from '../../src/journal/memory-storage.ts'
import { loadLog } from '../../src/journal/read-log.ts'
import { settle, testEngine } from '../helpers/engine.ts'

const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'troupe-host-')))
afterAll(() => rmSync(folder, { recursive: true }))

const SESSION = '22222222-2222-4222-8222-222222222222'

/** Every log of the disk reads back whole. */
async function readsBack(storage: MemoryStorage): Promise<void> {
  for (const log of storage.files.keys()) {
    if (!log.endsWith('.jsonl')) continue
    const { damage, events } = await loadLog(storage, log)
    expect(damage).toEqual([])
    expect(events.at(-1)?.event.type).toBe('agent.ended')
  }
}

const cyclic: Record<string, unknown> = {}
cyclic['self'] = cyclic

describe('what a tool returns', () => {
  const returning = (output: unknown): Tool<object> => ({
    name: 'Odd',
    description: 'returns anything',
    inputSchema: z.strictObject({}),
    resume: 'interrupt',
    isReadOnly: () => true,
    isConcurrencySafe: () => true,
    // A host without types.
    run: async () => output as ToolOutput,
  })

  it.each([
    ['nothing', undefined],
    ['a number', { content: 42 }],
    ['null', { content: null }],
    ['an object', { content: { a: 1 } }],
    ['a list with null', { content: [null] }],
    ['a block without a type', { content: [{}] }],
    ['files that are none', { content: 'x', files: [{ path: 1 }] }],
    ['a block that is no JSON', { content: [{ type: 'text', text: 'x', big: 1n }] }],
    ['50 MB of blocks', { content: [{ type: 'text', text: 'x'.repeat(50_000_000) }] }],
  ])('%s: the call is an error that says so, and the run goes on', async (_, output) => {
    let saw: unknown
    const { engine, storage } = testEngine(
      (request) => {
        if (request.messages.length === 1) return call('Odd')
        saw = request.messages.at(-1)?.content
        return say('went on')
      },
      { tools: [returning(output)] },
    )
    expect(await engine.run('go').result).toMatchObject({ status: 'completed', text: 'went on' })
    expect(saw).toMatchObject([
      { is_error: true, content: expect.stringContaining('no result that can be used') },
    ])
    await readsBack(storage)
  })

  it.each([
    ['cyclic', cyclic],
    ['with a BigInt', { n: 1n }],
    ['of 50 MB', 'x'.repeat(50_000_000)],
  ])('beside its text, %s: the text counts, the rest is left out', async (_, structured) => {
    const { engine, storage } = testEngine([call('Odd'), say('went on')], {
      tools: [returning({ content: 'fine', structured })],
    })
    expect(await engine.run('go').result).toMatchObject({ text: 'went on' })
    await readsBack(storage)
  })

  it.each(['isReadOnly', 'isConcurrencySafe', 'ruleSubject', 'writes'] as const)(
    'a %s that throws is an error of the call, not of the agent',
    async (method) => {
      const throwing = () => {
        throw new Error('a defect of the host')
      }
      const { engine, storage } = testEngine([call('Odd'), say('went on')], {
        tools: [{ ...returning({ content: 'fine' }), [method]: throwing }],
      })
      expect(await engine.run('go').result).toMatchObject({ status: 'completed', text: 'went on' })
      await readsBack(storage)
    },
  )
})

describe('what a model gives', () => {
  const good = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: 'x' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  }
  const giving = (...deltas: unknown[]): Model => ({
    provider: 'odd',
    stream: () => of(...(deltas as never[])),
  })

  it.each([
    ['null instead of a delta', [null]],
    ['a number instead of a delta', [7]],
    ['no message at all', []],
    ['a message without an id', [{ type: 'message', reply: { ...good, id: undefined } }]],
    ['no reason to stop', [{ type: 'message', reply: { ...good, stop_reason: null } }]],
    ['a block without a type', [{ type: 'message', reply: { ...good, content: [{}] } }]],
    ['content that is no list', [{ type: 'message', reply: { ...good, content: 'x' } }]],
    [
      'counts that are none',
      [{ type: 'message', reply: { ...good, usage: { input_tokens: 'a', output_tokens: Number.NaN } } }],
    ],
    ['another role', [{ type: 'message', reply: { ...good, role: 'user' } }]],
    [
      '70 MB of text',
      [{ type: 'message', reply: { ...good, content: [{ type: 'text', text: 'x'.repeat(70_000_000) }] } }],
    ],
  ])('%s: the run fails, and its log can be read', async (_, deltas) => {
    const { engine, storage } = testEngine(giving(...deltas), { retries: { maxRetries: 0 } })
    expect(await engine.run('go').result).toMatchObject({ status: 'failed' })
    await readsBack(storage)
  })
})

describe('a session that is continued under another mode', () => {
  it('is as narrow as the mode of now, whatever its log says', async () => {
    const ran: string[] = []
    const tool: Tool<object> = {
      name: 'Act',
      description: 'acts',
      inputSchema: z.strictObject({}),
      resume: 'interrupt',
      isReadOnly: () => false,
      isConcurrencySafe: () => false,
      run: async () => {
        ran.push('act')
        return { content: 'done' }
      },
    }
    const script = () => [call('Act'), say('ok')]
    const wide = testEngine(script(), { tools: [tool] })
    await wide.engine.run('one', { sessionId: SESSION }).result
    await wide.engine.close()
    expect(ran).toEqual(['act'])
    const { files } = wide.storage
    for (const mode of ['default', 'plan', 'dontAsk'] as const) {
      const { engine } = testEngine(script(), {
        tools: [tool],
        storage: createMemoryStorage({ files }),
        permissions: { mode },
        idsFrom: 100_000,
      })
      const result = await engine.run('two', { sessionId: SESSION }).result
      expect(result.toolUses, mode).toBe(1)
      expect(ran, mode).toEqual(['act'])
      await engine.close()
    }
  })

  it('is not continued in another folder', async () => {
    const one = testEngine([say('one')], { cwd: folder })
    await one.engine.run('one', { sessionId: SESSION }).result
    await one.engine.close()
    const other = path.join(folder, 'other')
    mkdirSync(other, { recursive: true })
    const files = new Map(
      [...one.storage.files].map(([file, text]) => [file.replace(slugOf(folder), slugOf(other)), text]),
    )
    const disk = one.storage.crash()
    for (const [file, text] of files) disk.append([{ path: file, text }])
    const { engine } = testEngine([say('two')], { cwd: other, storage: disk, idsFrom: 100_000 })
    await expect(engine.run('two', { sessionId: SESSION }).result).rejects.toMatchObject({
      code: 'other-project',
    })
    await engine.close()
  })
})

const slugOf = (project: string) => project.replace(/[^A-Za-z0-9]/g, '-')

describe('a real project', () => {
  it.each(['acceptEdits', 'bypassPermissions'] as const)(
    'keeps its logs from the file tools when they lie in it (%s)',
    async (mode) => {
      const home = path.join(folder, '.logs')
      const forged = path.join(home, 'projects', 'x.jsonl')
      const { engine } = testEngine([call('Write', { file_path: forged, content: '{}' }), say('not then')], {
        cwd: folder,
        home,
        tools: standardTools(),
        permissions: { mode },
      })
      const result = await engine.run('go').result
      expect(result.denials).toMatchObject([
        { toolName: 'Write', reason: expect.stringContaining('logs of Troupe') },
      ])
      await engine.close()
    },
  )

  it.each(['.git/hooks/pre-commit', 'sub/.git/config', 'a/.claude/settings.json', '.mcp.json'])(
    'asks before %s is written, in acceptEdits too',
    async (file) => {
      const { engine } = testEngine([call('Write', { file_path: file, content: 'x' }), say('not then')], {
        cwd: folder,
        tools: standardTools(),
        permissions: { mode: 'acceptEdits' },
      })
      expect((await engine.run('go').result).denials).toHaveLength(1)
      await engine.close()
    },
  )

  it('does not hand the credentials of the model to commands', async () => {
    const before = process.env['ANTHROPIC_API_KEY']
    process.env['ANTHROPIC_API_KEY'] = 'sk-secret'
    try {
      let saw = ''
      const { engine } = testEngine(
        (request) => {
          if (request.messages.length === 1)
            return call('Bash', { command: 'echo "key=[$ANTHROPIC_API_KEY]"' })
          saw = JSON.stringify(request.messages.at(-1))
          return say('ok')
        },
        {
          cwd: folder,
          tools: standardTools(),
          processes: createLocalProcessRunner({ clock: systemClock, withheldEnv: ['ANTHROPIC_API_KEY'] }),
          clock: systemClock,
        },
      )
      await engine.run('go').result
      expect(saw).toContain('key=[]')
      await engine.close()
      await settle()
    } finally {
      if (before === undefined) delete process.env['ANTHROPIC_API_KEY']
      else process.env['ANTHROPIC_API_KEY'] = before
    }
  })
})

describe('a deny rule for reading', () => {
  it('holds for what Grep and Glob would show, too', async () => {
    const project = path.join(folder, 'secretive')
    mkdirSync(path.join(project, 'secrets'), { recursive: true })
    writeFileSync(path.join(project, 'secrets', 'key.txt'), 'TOPSECRET of the project')
    writeFileSync(path.join(project, 'open.txt'), 'nothing TOPSECRET here')
    const saw: string[] = []
    const { engine } = testEngine(
      (request) => {
        saw.push(JSON.stringify(request.messages.at(-1)))
        if (request.messages.length === 1)
          return callMany([
            { name: 'Grep', input: { pattern: 'TOPSECRET', output_mode: 'content' } },
            { name: 'Glob', input: { pattern: '**/*.txt' } },
          ])
        return say('ok')
      },
      {
        cwd: project,
        tools: standardTools(),
        permissions: { deny: ['Read(./secrets/**)'] },
        clock: systemClock,
      },
    )
    await engine.run('go').result
    expect(saw[1]).toContain('open.txt')
    expect(saw[1]).not.toContain('of the project')
    expect(saw[1]).not.toContain('key.txt')
    await engine.close()
  })
})
