import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import type { Scenario } from '../scenario.ts'
import { act, agent, look } from '../scenario.ts'

/** Only the child that is moved has this call, and the host moves whoever has made it. */
const SIGN = 'the sign'

export const scenario: Scenario = {
  name: 'moved-to-background',
  about: 'The host moves a child to the background while its parent waits for it and for another one.',
  prompts: ['the root'],
  play: {
    'the root': [callMany([agent('moved'), agent('stays')]), callMany([act('root')]), say('the end')],
    moved: [callMany([look(SIGN)]), callMany([act('moved', { ms: 200 })]), say('from behind')],
    stays: [callMany([act('stays', { ms: 20 })]), say('in front')],
  },
  ends: { 'the root': 'completed', moved: 'completed', stays: 'completed' },
  isInBackground: true,
  onFact: ({ event, agentId }, engine) => {
    if (event.type === 'call.ended' && JSON.stringify(event.result.content).includes(`Look ${SIGN}`))
      void engine.background(agentId).catch(() => {})
  },
}
