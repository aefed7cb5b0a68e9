/** What happens to agents that run when their parents may do less, and to their processes when they are killed. */
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { systemClock } from '../../src/effects/clock.ts'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import { callMany, say } from '../../src/effects/model/scripted-reply.ts'
import { createLocalProcessRunner } from '../../src/effects/process/local-process-runner.ts'
import { readProcessTable } from '../../src/effects/process/process-table.ts'
import type { Tool } from '../../src/effects/tools/tool.ts'
import { standardTools } from '../../src/effects/tools/tool-table.ts'
import type { EngineOptions } from '../../src/engine/api.ts'
import type { MemoryStorage } from '../../src/journal/memory-storage.ts'
import { settle, testEngine } from '../helpers/engine.ts'
import { onceWritten } from '../helpers/real-processes.ts'
import { turnOf } from '../helpers/scripts.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const SESSION = '44444444-4444-4444-8444-444444444444'

const tool = (name: string, done: string[]): Tool<Record<string, never>> => ({
  name,
  description: name,
  inputSchema: z.strictObject({}),
  resume: 'interrupt',
  isReadOnly: () => false,
  isConcurrencySafe: () => false,
  writes: () => (name === 'Edit' ? 'a-file' : undefined),
  run: async () => {
    done.push(name)
    return { content: 'done' }
  },
})

describe('a child that runs', () => {
  const script = (request: ModelRequest) => {
    if (JSON.stringify(request.messages[0]).includes('the part'))
      return (
        [callMany([{ name: 'Act', input: {} }]), callMany([{ name: 'Edit', input: {} }])][turnOf(request)] ??
        say('report')
      )
    return turnOf(request) === 0
      ? callMany([{ name: 'Agent', input: { description: 'a part', prompt: 'the part' } }])
      : say('done')
  }
  const engineOf = (
    done: string[],
    permissions: NonNullable<EngineOptions['permissions']>,
    more: { readonly storage?: MemoryStorage; readonly idsFrom?: number } = {},
  ) => testEngine(script, { tools: [tool('Act', done), tool('Edit', done)], permissions, ...more })

  it.each([
    ['acceptEdits', ['Act', 'Edit']],
    ['dontAsk', []],
    ['plan', []],
  ] as const)(
    'may do what its parent may at that moment, whatever it was started with: %s',
    async (mode, expected) => {
      const done: string[] = []
      const first = engineOf(done, { mode: 'acceptEdits', wait: true })
      first.engine.run('go', { sessionId: SESSION }).result.catch(() => {})
      await settle(60)
      expect(first.engine.approvals).toHaveLength(1)
      const storage = first.storage.crash()
      const second = engineOf(
        done,
        { mode, canUseTool: () => ({ decision: 'allow' }) },
        { storage, idsFrom: 100_000 },
      )
      const run = await second.engine.resume(SESSION)
      await run?.result
      await second.engine.close()
      await first.engine.close().catch(() => {})
      expect(done).toEqual(expected)
    },
  )
})

describe.runIf(process.platform === 'linux')('a kill', () => {
  it('is reported when every process of the agent is gone, also of a tree that ignores TERM', async () => {
    const cwd = temporaryFolder()
    const ready = path.join(cwd, 'ready')
    const deaf = `trap "" TERM; (trap "" TERM; sleep 30 & sleep 30 & echo up > ${ready}; wait) & wait`
    const { engine, facts } = testEngine(
      () => callMany([{ name: 'Bash', input: { command: deaf, description: 'be deaf' } }]),
      {
        cwd,
        tools: standardTools(),
        clock: systemClock,
        processes: createLocalProcessRunner({ graceMs: 100 }),
      },
    )
    const run = engine.run('go')
    await onceWritten(ready)
    const group = facts.flatMap(({ event }) => (event.type === 'process.started' ? [event.pid] : []))[0]
    const alive = (): number =>
      (readProcessTable() ?? []).filter((entry) => entry.group === group && !entry.isDead).length
    expect(alive()).toBeGreaterThan(2)
    let atEnd: number | undefined
    engine.events$.subscribe((event) => {
      if (event.kind === 'fact' && event.event.type === 'agent.ended') atEnd = alive()
    })
    await engine.kill(await run.started)
    expect([atEnd, alive()]).toEqual([0, 0])
    expect((await run.result).status).toBe('killed')
    await engine.close()
  })
})
