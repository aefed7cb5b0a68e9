import type { ScriptedParts } from '../../../src/effects/model/scripted-reply.ts'
import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import type { SeenLog } from '../final.ts'
import type { Scenario } from '../scenario.ts'
import { act, agent, look, put, storyOf } from '../scenario.ts'

/** Of 100,000 tokens 10,000 are kept for the reply. A request that has this many behind it is followed by none. */
const FULL = 95_000

const after = (tokens: number, said: ScriptedParts): ScriptedParts => ({
  ...said,
  usage: { input_tokens: tokens, output_tokens: 10 },
})

const TOLD = ['context.exceeded', 'conversation.compacted', 'compaction.failed'] as const

/** What happened to the conversation of the agent with this prompt, and in which order. */
const compactionsIn = (logs: readonly SeenLog[], prompt: string): string =>
  logs
    .filter(({ runs }) => runs[0]?.prompt === prompt)
    .flatMap(({ recorded }) => recorded.map(({ event }) => TOLD.find((type) => type === event.type) ?? []))
    .flat()
    .join()

export const scenario: Scenario = {
  name: 'compaction',
  about:
    'Conversations outgrow the window of their model: behind results, and with a prompt that nobody has answered; of a child there is no summary.',
  prompts: ['the root', 'once more'],
  play: {
    'the root': [
      after(20_000, callMany([look('first')])),
      after(FULL, callMany([agent('the child'), act('second')])),
      after(10_000, callMany([put('third')])),
      after(FULL, say('the end')),
    ],
    'once more': [after(10_000, callMany([act('fourth')])), say('the second end')],
    'the child': [after(FULL, callMany([look('below')])), say('the report')],
  },
  summaries: {
    // The first attempt of each process writes nothing.
    'the root 2': { attempts: [say(''), say(storyOf('the root', 2))] },
    'the child 1': say(''),
  },
  ends: { 'the root': 'completed', 'once more': 'completed', 'the child': 'completed' },
  options: {
    modelFacts: { '': { contextWindow: 100_000 } },
    maxTokens: 5_000,
    limits: { contextMargin: 5_000 },
  },
  check: ({ logs }) => {
    const problems: string[] = []
    const whole = 'context.exceeded,conversation.compacted'
    if (compactionsIn(logs, 'the root') !== `${whole},${whole}`)
      problems.push(`the root was summed up so: ${compactionsIn(logs, 'the root')}`)
    if (compactionsIn(logs, 'the child') !== 'context.exceeded,compaction.failed')
      problems.push(`the child was summed up so: ${compactionsIn(logs, 'the child')}`)
    const [root] = logs
    // What is in front of the last summary is in no request any more; the prompt behind it is, word for word.
    const { conversation = '' } = root ?? {}
    if (
      !conversation.includes('once more') ||
      conversation.includes('Look first done') ||
      !conversation.includes('fourth')
    )
      problems.push(`the root goes on with ${conversation}`)
    return problems
  },
}
