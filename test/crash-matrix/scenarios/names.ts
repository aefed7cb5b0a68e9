import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import type { Final } from '../final.ts'
import type { Scenario } from '../scenario.ts'
import { act, agent, inBackground } from '../scenario.ts'

const named = (prompt: string, name: string, start = inBackground) => {
  const call = start(prompt)
  return { ...call, input: { ...call.input, name } }
}
const send = (to: string, message: string) => ({ name: 'SendMessage', input: { to, message } })

export const scenario: Scenario = {
  name: 'names',
  about: 'Children with names: spoken to by name and all at once; a name that is free again is taken over.',
  prompts: ['the root'],
  play: {
    'the root': [
      callMany([named('first', 'ada', agent)]),
      // It has ended: its name is given to the next.
      callMany([named('second', 'ada'), named('other', 'bob')]),
      callMany([send('ada', 'go on'), send('*', 'to all'), act('root', { ms: 5_000 })]),
      say('the end'),
    ],
    first: [callMany([act('first', { ms: 20 })]), say('report of the first')],
    other: [callMany([act('other', { ms: 2_000 })]), say('report of the other')],
    second: [callMany([act('second', { ms: 2_000 })]), say('report of the second')],
    // When it comes too late to be read in between.
    'to all': [say('heard')],
    'go on': [say('gone on')],
  },
  ends: {
    'the root': 'completed',
    first: 'completed',
    other: 'completed',
    second: 'completed',
    'to all': 'completed',
    'go on': 'completed',
  },
  // A crash between the call and its message may find everybody at their end.
  outcomes: { 'SendMessage to all': ['ok', 'error'] },
  mayBeAsked: ['to all', 'go on'],
  sentToSeveral: ['to all'],
  isInBackground: true,
  options: { features: { names: true } },
  check: (final) => [...holders(final), ...toTheSecond(final), ...toldTwice(final)],
}

const idOfPrompt = ({ logs }: Final, prompt: string): string | undefined =>
  logs.find(({ runs }) => runs[0]?.prompt === prompt)?.agentId

/** The last to whom the name was given has it, and nobody got it who was never born before somebody who was. */
const holders = (final: Final): readonly string[] => {
  const given = final.logs.flatMap(({ recorded }) =>
    recorded.flatMap(({ event }) => (event.type === 'name.registered' ? [event] : [])),
  )
  const last = (name: string) => given.findLast((event) => event.name === name)?.agentId
  return [
    ...(last('ada') === idOfPrompt(final, 'second') ? [] : ['"ada" is not the name of the second']),
    ...(last('bob') === idOfPrompt(final, 'other') ? [] : ['"bob" is not the name of the other']),
  ]
}

/** Nobody is told twice what was said to all. */
const toldTwice = ({ logs }: Final): readonly string[] =>
  logs.flatMap(({ agentId, recorded }) =>
    recorded.filter(
      ({ event }) =>
        (event.type === 'message.added' || event.type === 'run.started') &&
        (event.injects?.length ?? 0) > 0 &&
        JSON.stringify(event.content).includes('>\\nto all\\n<'),
    ).length > 1
      ? [`agent ${agentId} is told twice what was said to all`]
      : [],
  )

/** What is sent to the name reaches who has it then. */
const toTheSecond = (final: Final): readonly string[] =>
  final.logs.flatMap(({ agentId, recorded }) =>
    agentId !== idOfPrompt(final, 'second') &&
    recorded.some(
      ({ event }) =>
        (event.type === 'message.added' || event.type === 'run.started') &&
        (event.injects?.length ?? 0) > 0 &&
        JSON.stringify(event.content).includes('>\\ngo on\\n<'),
    )
      ? [`agent ${agentId} is told what was said to "ada"`]
      : [],
  )
