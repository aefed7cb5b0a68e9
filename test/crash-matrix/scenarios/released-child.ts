import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import type { Scenario } from '../scenario.ts'
import { act, agent, inBackground } from '../scenario.ts'

export const scenario: Scenario = {
  name: 'released-child',
  about:
    'Two children reach their turn limits, one in front and one in the background, with children of their own in the background: the root is told of these.',
  prompts: ['the root'],
  play: {
    'the root': [
      callMany([inBackground('behind', 'short'), agent('in front', 'short')]),
      callMany([act('root', { ms: 5 })]),
      say('the end'),
    ],
    'in front': [callMany([inBackground('of the front')]), callMany([act('front')]), say('too late')],
    behind: [
      callMany([inBackground('of behind'), inBackground('quick')]),
      callMany([act('behind', { ms: 20 })]),
      say('too late'),
    ],
    'of the front': [callMany([act('of the front', { ms: 40 })]), say('told to the root')],
    'of behind': [callMany([act('of behind', { ms: 60 })]), say('told to the root, too')],
    // It ends about when its parent does.
    quick: [callMany([act('quick', { ms: 20 })]), say('told to somebody')],
  },
  ends: {
    'the root': 'completed',
    'in front': 'limit',
    behind: 'limit',
    'of the front': 'completed',
    'of behind': 'completed',
    quick: 'completed',
  },
  isInBackground: true,
  options: {
    features: { nesting: true },
    limits: { depth: 3 },
    definitions: ['short', 'general-purpose'].map((agentType) => ({
      agentType,
      source: 'flagSettings',
      whenToUse: 'Always.',
      getSystemPrompt: () => 'Do it.',
      ...(agentType === 'short' && { maxTurns: 2 }),
    })),
  },
}
