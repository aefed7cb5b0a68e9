/** The permission mode of a session is what the host says at the moment of each decision. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { PermissionMode } from '../../src/definitions/permission-mode.ts'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import type { ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { call, say } from '../../src/effects/model/scripted-reply.ts'
import type { Tool } from '../../src/effects/tools/tool.ts'
import { settle, testEngine } from '../helpers/engine.ts'
import { turnOf } from '../helpers/scripts.ts'

const SESSION = '77777777-7777-4777-8777-777777777777'

/** A tool that changes the world; its first call waits until the test lets it go. */
function world() {
  const done: string[] = []
  let letGo = () => {}
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const tool: Tool<{ id: string }> = {
    name: 'Act',
    description: 'Acts',
    inputSchema: z.strictObject({ id: z.string() }),
    resume: 'interrupt',
    isReadOnly: () => false,
    isConcurrencySafe: () => false,
    run: async ({ id }) => {
      if (id === 'first') await held
      done.push(id)
      return { content: `did ${id}` }
    },
  }
  return { done, tool, letGo }
}

/** A child that acts twice. */
const acting = (request: ModelRequest): ScriptedReply => {
  const turn = turnOf(request)
  if (request.source === 'main')
    return turn === 0 ? call('Agent', { description: 'act', prompt: 'act twice' }) : say('the end')
  return turn < 2 ? call('Act', { id: turn === 0 ? 'first' : 'second' }) : say('done')
}

describe('the mode of a session', () => {
  it.each<[PermissionMode, string[]]>([
    ['plan', ['first']],
    ['dontAsk', ['first']],
    ['bypassPermissions', ['first', 'second']],
  ])('narrowed to %s while a child runs holds for its next call at once', async (mode, done) => {
    const { tool, letGo, done: acted } = world()
    const test = testEngine(acting, { tools: [tool] })
    const run = test.engine.run('go', { sessionId: SESSION })
    await settle(30)
    await test.engine.setMode(SESSION, mode, 'ann')
    letGo()
    await run.result
    expect(acted).toEqual(done)
    expect(test.facts.map(({ event }) => event)).toContainEqual(
      expect.objectContaining({ type: 'mode.changed', from: 'bypassPermissions', mode, by: 'ann' }),
    )
    await test.engine.close()
  })

  it('changed between two runs holds for the next one', async () => {
    const { tool, letGo, done } = world()
    letGo()
    const test = testEngine(
      (request) => (turnOf(request) % 2 === 0 ? call('Act', { id: `${turnOf(request)}` }) : say('done')),
      { tools: [tool] },
    )
    await test.engine.run('go', { sessionId: SESSION }).result
    await test.engine.setMode(SESSION, 'dontAsk')
    await test.engine.run('again', { sessionId: SESSION }).result
    expect(done).toEqual(['0'])
    await test.engine.close()
  })

  it('is refused of a session that is not open', async () => {
    const test = testEngine(acting, {})
    await expect(test.engine.setMode(SESSION, 'plan')).rejects.toMatchObject({ code: 'no-such-session' })
    await test.engine.close()
  })
})
