import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import { overloaded } from '../model.ts'
import type { Scenario } from '../scenario.ts'
import { act, agent, put } from '../scenario.ts'

export const scenario: Scenario = {
  name: 'cut-stream',
  about: 'Streams break off and are tried again; nothing of what was cut is ever in a log.',
  prompts: ['the root'],
  play: {
    'the root': [
      {
        attempts: [
          { cutAfter: 'I was about to' },
          overloaded(),
          callMany([agent('the child'), put('root')], 'now'),
        ],
      },
      { attempts: [{ cutAfter: 'the e' }, say('the end')] },
    ],
    'the child': [
      { attempts: [{ cutAfter: 'half' }, callMany([act('child')])] },
      { attempts: [overloaded(), { cutAfter: 'the rep' }, say('the report')] },
    ],
  },
  ends: { 'the root': 'completed', 'the child': 'completed' },
  check: ({ logs }) =>
    ['I was about to', 'half', 'the rep"', 'the e"'].flatMap((text) =>
      logs.some(({ recorded }) => JSON.stringify(recorded).includes(text)) ? [`"${text}" is in a log`] : [],
    ),
}
