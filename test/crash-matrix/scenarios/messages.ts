import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import type { Final } from '../final.ts'
import type { Scenario } from '../scenario.ts'
import { act, idOf, inBackground } from '../scenario.ts'

const toParent = { name: 'SendMessage', input: { to: 'parent', message: 'a question' } }

export const scenario: Scenario = {
  name: 'messages',
  about: 'A child at work is spoken to and asks back; one that has ended goes on, knowing everything.',
  prompts: ['the root'],
  play: {
    'the root': [
      callMany([inBackground('listener'), inBackground('asker')]),
      (request) =>
        callMany([
          { name: 'SendMessage', input: { to: idOf(request, 'listener'), message: 'by the way' } },
          act('root', { ms: 200 }),
        ]),
      // Both have ended by now.
      (request) =>
        callMany([{ name: 'SendMessage', input: { to: idOf(request, 'asker'), message: 'go on' } }]),
      say('the end'),
    ],
    listener: [callMany([act('listener', { ms: 50 })]), say('I have heard it')],
    asker: [callMany([toParent]), callMany([act('asker', { ms: 20 })]), say('first report')],
    // When it comes too late to be read in between.
    'by the way': [say('now I have heard it')],
    'go on': [callMany([act('again', { ms: 20 })]), say('second report')],
  },
  ends: {
    'the root': 'completed',
    listener: 'completed',
    asker: 'completed',
    'by the way': 'completed',
    'go on': 'completed',
  },
  mayBeAsked: ['by the way', 'go on'],
  isInBackground: true,
  check: (final) => [...timesSaid(final), ...whatItKnows(final)],
}

/** Each message stands once in the conversation of whom it was sent to. */
const timesSaid = ({ logs }: Final): readonly string[] =>
  ['by the way', 'a question', 'go on'].flatMap((message) => {
    const times = logs.flatMap(({ recorded }) =>
      recorded.filter(
        ({ event }) =>
          (event.type === 'message.added' || event.type === 'run.started') &&
          (event.injects?.length ?? 0) > 0 &&
          JSON.stringify(event.content).includes(`>\\n${message}\\n<`),
      ),
    ).length
    return times === 1 ? [] : [`"${message}" is told ${times} times`]
  })

const whatItKnows = ({ logs }: Final): readonly string[] =>
  logs.flatMap(({ runs, conversation, path }) =>
    runs[0]?.prompt !== 'asker' || runs.length < 2 || conversation.includes('first report')
      ? []
      : [`${path}: the second run does not know the first`],
  )
