import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import type { Scenario } from '../scenario.ts'
import { act, agent, LONG_MS, look } from '../scenario.ts'

/** Only the victim has this call, and the host kills whoever begins it. */
const DEADLY = 'the last straw'

export const scenario: Scenario = {
  name: 'killed-child',
  about: 'The host kills a child, and with it its own child, in the middle of a call; its sibling goes on.',
  prompts: ['the root'],
  play: {
    'the root': [
      callMany([agent('the victim'), agent('the other')]),
      callMany([act('root')]),
      say('the end'),
    ],
    'the victim': [
      callMany([
        agent('its child'),
        look(DEADLY, { beside: true }),
        act(DEADLY, { ms: LONG_MS, beside: true }),
      ]),
      say('I was spared'),
    ],
    'its child': [callMany([act('grandchild', { ms: 2 * LONG_MS })]), say('so was I')],
    'the other': [callMany([act('other', { ms: 10 })]), say('the report')],
  },
  // A process that dies before the kill is in the log knows nothing of it, and nobody kills again.
  ends: {
    'the root': 'completed',
    'the victim': ['killed', 'completed'],
    'its child': ['killed', 'completed'],
    'the other': 'completed',
  },
  outcomes: {
    'Agent the victim': ['interrupted', 'ok'],
    'Agent its child': ['interrupted', 'ok'],
    [`Act ${DEADLY}`]: ['interrupted', 'ok'],
    'Act grandchild': ['interrupted', 'ok'],
  },
  options: { limits: { depth: 2 } },
  onFact: ({ event, agentId }, engine) => {
    // The look is over when the long call has begun beside it.
    if (event.type === 'call.ended' && JSON.stringify(event.result.content).includes(`Look ${DEADLY}`))
      void engine.kill(agentId, 'enough').catch(() => {})
  },
  check: ({ logs }) =>
    logs.flatMap(({ recorded, runs, path }) => {
      const isKilled = recorded.some(({ event }) => event.type === 'kill.requested')
      const [end] = runs[0]?.ends ?? []
      return isKilled === (end === 'killed')
        ? []
        : [`${path}: a kill in the log means that it ends as killed`]
    }),
}
