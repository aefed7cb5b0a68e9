/**
 * Random trees under a random budget, with replies that come in any order: at no moment do replies and requests in
 * flight together come to more than the limit, and the sums that are shown are those of the replies.
 */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { costOf } from '../../src/definitions/prices.ts'
import { totalTokensOf } from '../../src/definitions/report.ts'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import type { ScriptedParts, ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { call, callMany, say } from '../../src/effects/model/scripted-reply.ts'
import type { Usage } from '../../src/machines/agent/messages.ts'
import { settle, testEngine } from '../helpers/engine.ts'
import { turnOf } from '../helpers/scripts.ts'
import { longLookTool } from '../helpers/tools.ts'

/** What an agent does: start these children in one turn, look so often, report. Its task says so. */
interface Work {
  readonly children: readonly Work[]
  readonly looks: number
}

const work: fc.Arbitrary<Work> = fc.letrec<{ work: Work }>((tie) => ({
  work: fc.record({
    children: fc.oneof({ maxDepth: 2 }, fc.constant([]), fc.array(tie('work'), { maxLength: 3 })),
    looks: fc.nat(3),
  }),
})).work

const PRICE = { input: 100, output: 500, cacheWrite: 125, cacheRead: 10, contextWindow: 1_000_000 }

const parse = (request: ModelRequest): Work => {
  const first = request.messages[0]?.content
  const text = typeof first === 'string' ? first : JSON.stringify(first)
  const task = /WORK(\{.*\})WORK/.exec(typeof first === 'string' ? text : text.replaceAll('\\"', '"'))?.[1]
  return JSON.parse(task ?? '{"children":[],"looks":0}')
}

const taskOf = (plan: Work): string => `WORK${JSON.stringify(plan)}WORK`

function nextOf(request: ModelRequest, chars: number): ScriptedParts {
  const { children, looks } = parse(request)
  const turn = turnOf(request)
  if (turn === 0 && children.length > 0)
    return callMany(
      children.map((child) => ({
        name: 'Agent',
        input: { description: 'part', prompt: taskOf(child), subagent_type: 'general-purpose' },
      })),
      'I delegate',
    )
  return turn <= looks ? call('Look', { chars }, 'so far') : say('the report')
}

/** As a server would count: less than the engine takes it for. */
const tokensIn = (value: unknown): number => Math.ceil(JSON.stringify(value).length / 5)

it('is never exceeded, and never counted wrong, whatever the tree and the order of replies', async () => {
  await fc.assert(
    fc.asyncProperty(
      work,
      fc.record({ tokens: fc.integer({ min: 20_000, max: 400_000 }), usd: fc.integer({ min: 2, max: 60 }) }),
      fc.infiniteStream(fc.nat(1_000)),
      async (plan, limits, numbers) => {
        const chance = (below: number): number => (numbers.next().value ?? 0) % below
        const replies: Usage[] = []
        const beyond: object[] = []
        const inFlight = new Map<object, ModelRequest>()
        const waiting: (() => void)[] = []
        const spent = (): { tokens: number; usd: number } => {
          const most = [...inFlight.values()].map(({ system, tools, messages, maxTokens }) => ({
            input_tokens: tokensIn({ system, tools, messages }),
            output_tokens: maxTokens,
          }))
          const all = [...replies, ...most]
          return {
            tokens: all.reduce((sum, usage) => sum + totalTokensOf(usage), 0),
            usd: all.reduce((sum, usage) => sum + costOf(usage, PRICE), 0),
          }
        }
        const { engine } = testEngine(
          (request: ModelRequest): Promise<ScriptedReply> => {
            const key = {}
            inFlight.set(key, request)
            const now = spent()
            // Thrown in here it would be an error of the model, which agents survive.
            if (now.tokens > limits.tokens || now.usd > limits.usd + 1e-6) beyond.push(now)
            return new Promise((resolve) => {
              waiting.push(() => {
                const parts = nextOf(request, chance(3_000))
                const least = tokensIn(parts) + 40
                const usage = {
                  input_tokens: tokensIn([request.system, request.tools, request.messages]),
                  output_tokens: Math.min(request.maxTokens, least + chance(3_000)),
                }
                inFlight.delete(key)
                replies.push(usage)
                resolve({ ...parts, usage })
              })
            })
          },
          {
            limits: { ...limits, depth: 4 },
            modelFacts: { '': PRICE },
            maxTokens: 8_000,
            tools: [longLookTool],
            features: { nesting: true },
          },
        )
        const run = engine.run(taskOf(plan))
        let isOver = false
        const result = run.result.finally(() => {
          isOver = true
        })
        while (!isOver) {
          await settle(2)
          const [answer] = waiting.splice(chance(Math.max(1, waiting.length)), 1)
          answer?.()
        }
        const { totalUsage, outcome, status } = await result
        expect(beyond).toEqual([])
        expect(status).toBe('completed')
        expect(['completed', 'limit']).toContain(outcome.kind)
        const sum = (field: 'input_tokens' | 'output_tokens') =>
          replies.reduce((total, usage) => total + usage[field], 0)
        expect(totalUsage).toEqual({ input_tokens: sum('input_tokens'), output_tokens: sum('output_tokens') })
        await engine.close()
      },
    ),
    { numRuns: 25 },
  )
}, 60_000)
