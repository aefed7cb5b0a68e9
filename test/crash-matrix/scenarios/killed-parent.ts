import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import type { Scenario } from '../scenario.ts'
import { act, inBackground, LONG_MS, look } from '../scenario.ts'

/** Only the victim has this call, and the host kills whoever begins it. */
const DEADLY = 'the last straw'

export const scenario: Scenario = {
  name: 'killed-parent',
  about: 'The host kills a child in the background: what it has started there ends with it, and nobody else.',
  prompts: ['the root'],
  play: {
    'the root': [callMany([inBackground('the victim'), inBackground('the other')]), say('the end')],
    'the victim': [
      callMany([inBackground('left'), inBackground('right')]),
      callMany([look(DEADLY, { beside: true }), act(DEADLY, { ms: 10 * LONG_MS, beside: true })]),
      say('I was spared'),
    ],
    left: [
      callMany([inBackground('of the left')]),
      callMany([act('left', { ms: 3 * LONG_MS })]),
      say('I, too'),
    ],
    'of the left': [callMany([act('of the left', { ms: 4 * LONG_MS })]), say('and I')],
    right: [callMany([act('right', { ms: 3 * LONG_MS })]), say('and I')],
    'the other': [callMany([act('other', { ms: 10 })]), say('the report')],
  },
  // A process that dies before the kill is in the log knows nothing of it, and nobody kills again.
  ends: {
    'the root': 'completed',
    'the victim': ['killed', 'completed'],
    left: ['killed', 'completed'],
    'of the left': ['killed', 'completed'],
    right: ['killed', 'completed'],
    'the other': 'completed',
  },
  outcomes: {
    'Agent left': ['interrupted', 'ok'],
    'Agent of the left': ['interrupted', 'ok'],
    'Agent right': ['interrupted', 'ok'],
    [`Act ${DEADLY}`]: ['interrupted', 'ok'],
    'Act left': ['interrupted', 'ok'],
    'Act of the left': ['interrupted', 'ok'],
    'Act right': ['interrupted', 'ok'],
  },
  isInBackground: true,
  options: { features: { nesting: true }, limits: { depth: 3 } },
  onFact: ({ event, agentId }, engine) => {
    if (event.type === 'call.ended' && JSON.stringify(event.result.content).includes(`Look ${DEADLY}`))
      void engine.kill(agentId, 'enough').catch(() => {})
  },
}
