/** No log line and no request has the value of a secret, whatever a tool or a hook returns. */
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { hostHook } from '../../src/effects/hooks/hook.ts'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import { callMany, say } from '../../src/effects/model/scripted-reply.ts'
import type { Tool } from '../../src/effects/tools/tool.ts'
import { testEngine } from '../helpers/engine.ts'

const NAME = 'TROUPE_TEST_SECRET'

afterEach(() => {
  delete process.env[NAME]
})

function telling(value: string, way: string): Tool<Record<string, never>> {
  return {
    name: 'Tell',
    description: 'Tells',
    inputSchema: z.strictObject({}),
    resume: 'repeat',
    isReadOnly: () => true,
    isConcurrencySafe: () => true,
    run: async (_, { notify }) => {
      if (way === 'error') throw new Error(`it is ${value}`)
      if (way === 'notice') notify?.(`it is ${value}`)
      if (way === 'blocks') return { content: [{ type: 'text', text: `a ${value}` }] }
      // More than a result may have: the rest is stored elsewhere.
      return { content: `${value}\n`.repeat(way === 'long' ? 10_000 : 2), structured: { [value]: [value] } }
    },
  }
}

describe('the value of a secret', () => {
  it('is in no file of a session and in no request', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ minLength: 8, maxLength: 20, unit: 'grapheme-ascii' }).map((rest) => `zq${rest}`),
        fc.constantFrom('text', 'long', 'blocks', 'error', 'notice'),
        async (value, way) => {
          process.env[NAME] = value
          const requests: ModelRequest[] = []
          const { engine, storage, events } = testEngine(
            (request) => {
              requests.push(request)
              return request.messages.length < 3 ? callMany([{ name: 'Tell', input: {} }]) : say('done')
            },
            {
              tools: [telling(value, way)],
              withheldEnv: [NAME],
              hooks: [
                hostHook({
                  event: 'PostToolUse',
                  run: () => ({
                    hookSpecificOutput: {
                      hookEventName: 'PostToolUse',
                      additionalContext: `hook says ${value}`,
                    },
                  }),
                }),
              ],
            },
          )
          await engine.run('go').result
          await engine.close()
          const everything =
            [...storage.files.values()].map(String).join('\n') + JSON.stringify([requests, events])
          expect(everything).toContain(`[secret ${NAME}]`)
          const escaped = JSON.stringify(value).slice(1, -1)
          expect([everything.includes(value), everything.includes(escaped)]).toEqual([false, false])
        },
      ),
      { numRuns: 25 },
    )
  })

  it('that is too short is told', async () => {
    process.env[NAME] = 'short'
    const { engine, events } = testEngine(() => say('done'), { withheldEnv: [NAME] })
    await engine.run('go').result
    await engine.close()
    expect(events).toContainEqual(expect.objectContaining({ kind: 'diagnostic', code: 'secret-too-short' }))
  })
})
