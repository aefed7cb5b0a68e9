/** `Notification` hooks tell that somebody is waited for, and hold nobody up. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { hostHook } from '../../src/effects/hooks/hook.ts'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import { callMany, say } from '../../src/effects/model/scripted-reply.ts'
import { askUserQuestionTool } from '../../src/effects/tools/ask-user-question.ts'
import type { Tool } from '../../src/effects/tools/tool.ts'
import { settle, testEngine } from '../helpers/engine.ts'

const act: Tool<Record<string, never>> = {
  name: 'Act',
  description: 'Acts',
  inputSchema: z.strictObject({}),
  resume: 'interrupt',
  isReadOnly: () => false,
  isConcurrencySafe: () => false,
  run: async (_, { notify }) => {
    notify?.('it seems to wait for an answer')
    return { content: 'done' }
  },
}
const option = (label: string) => ({ label, description: label })
const CALLS = [
  { name: 'Act', input: {} },
  {
    name: 'AskUserQuestion',
    input: { questions: [{ question: 'Which?', header: 'x', options: [option('A'), option('B')] }] },
  },
]

function engineWith(run: () => Promise<undefined> | undefined) {
  const told: (string | undefined)[] = []
  const tested = testEngine(
    ({ messages }: ModelRequest) => (messages.length < 3 ? callMany(CALLS) : say('done')),
    {
      tools: [act, askUserQuestionTool],
      permissions: { mode: 'default', wait: true },
      questions: { wait: true },
      hooks: [
        hostHook({
          event: 'Notification',
          run: ({ notification_type }) => {
            told.push(notification_type)
            return run()
          },
        }),
      ],
    },
  )
  return { ...tested, told }
}

describe('a notification', () => {
  it('is told for an approval, a notice of a tool, and a question', async () => {
    const { engine, told } = engineWith(() => undefined)
    const run = engine.run('go')
    await settle(60)
    engine.answer(engine.approvals[0]?.approvalId ?? '', { decision: 'allow' })
    await settle(60)
    engine.answerQuestion(engine.questions[0]?.questionId ?? '', { kind: 'none' })
    await run.result
    await engine.close()
    expect(told).toEqual(['permission_prompt', 'shell_input_wait', 'elicitation_dialog'])
  })

  it('that hangs holds up no answer, and is ended before its agent ends', async () => {
    const { engine, clock, facts } = engineWith(() => new Promise(() => {}))
    const run = engine.run('go')
    await settle(60)
    engine.answer(engine.approvals[0]?.approvalId ?? '', { decision: 'deny' })
    await settle(60)
    engine.answerQuestion(engine.questions[0]?.questionId ?? '', { kind: 'none' })
    await settle(60)
    expect(facts.filter(({ event }) => event.type === 'call.ended')).toHaveLength(2)
    await clock.advanceAsync(10_000)
    await run.result
    await engine.close()
    const types = facts.map(({ event }) => event.type)
    expect(types.filter((type) => type === 'hook.ended')).toHaveLength(2)
    expect(types.lastIndexOf('hook.ended')).toBeLessThan(types.indexOf('agent.ended'))
  })
})
