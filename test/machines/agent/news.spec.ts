/** What a run is owed and has to read: ends of its agents in the background, and messages. */
import { describe, expect, it } from 'vitest'
import type { Scenario } from '../../helpers/given.ts'
import { given } from '../../helpers/given.ts'
import {
  AGENT,
  CHILD,
  CHILD_RUN,
  call,
  callEnded,
  childLaunched,
  childReleased,
  MESSAGE,
  messageAccepted,
  messageAdded,
  newsTold,
  prepared,
  replied,
  started,
} from '../../helpers/run-events.ts'

const asked = [started(), prepared()]
const OTHER_RUN = { agentId: CHILD, run: 2 }
const OTHER_MESSAGE = `${CHILD}:1.9.0`
const launchedAgain = { ...childLaunched(), child: OTHER_RUN }
const acceptedAgain = { ...messageAccepted(), messageId: OTHER_MESSAGE }
/** Two ends are owed, and two messages wait. */
const much = [...asked, childLaunched(), launchedAgain, messageAccepted(), acceptedAgain]

const waitsFor = ({ run }: Scenario) => ({ owed: run.context.owed, mail: run.context.mail })

describe('what a run has to be told', () => {
  it('is what its beginning says, and what is launched or sent since, in that order', () => {
    const begun = given(started({ owed: [{ agentId: AGENT, run: 3 }] }), prepared())
    expect(begun.run.context.owed).toEqual([{ agentId: AGENT, run: 3 }])
    expect(given(...asked).run.context.owed).toEqual([])
    expect(waitsFor(given(...much))).toEqual({ owed: [CHILD_RUN, OTHER_RUN], mail: [MESSAGE, OTHER_MESSAGE] })
  })

  it('is told by the line that brings it, and nothing else by that', () => {
    expect(waitsFor(given(...much, newsTold('both')))).toEqual({ owed: [OTHER_RUN], mail: [OTHER_MESSAGE] })
    expect(waitsFor(given(...much, newsTold('end')))).toEqual({
      owed: [OTHER_RUN],
      mail: [MESSAGE, OTHER_MESSAGE],
    })
    expect(waitsFor(given(...much, newsTold('message')))).toEqual({
      owed: [CHILD_RUN, OTHER_RUN],
      mail: [OTHER_MESSAGE],
    })
    expect(waitsFor(given(...much, messageAdded()))).toEqual(waitsFor(given(...much)))
  })

  it('is told by the result of a call that has asked for it', () => {
    const acting = [...much, replied({ at: 3, calls: ['TaskOutput', 'AskParent'] })]
    const result = callEnded(call(3))
    expect(waitsFor(given(...acting, result))).toEqual(waitsFor(given(...much)))
    expect(waitsFor(given(...acting, { ...result, delivered: CHILD_RUN }))).toEqual({
      owed: [OTHER_RUN],
      mail: [MESSAGE, OTHER_MESSAGE],
    })
    expect(waitsFor(given(...acting, { ...result, injects: [OTHER_MESSAGE] }))).toEqual({
      owed: [CHILD_RUN, OTHER_RUN],
      mail: [MESSAGE],
    })
  })

  it('is nobody’s of it any more when it is given to somebody else', () => {
    expect(waitsFor(given(...much, childReleased()))).toEqual({
      owed: [OTHER_RUN],
      mail: [MESSAGE, OTHER_MESSAGE],
    })
  })
})

describe('a last word', () => {
  const lastWord = replied({ at: 3, says: 'that is all' })

  it('is none while a message waits: it is read first', () => {
    expect(given(...asked, messageAccepted(), lastWord)).toMatchObject({ phase: 'requesting' })
    expect(given(...asked, messageAccepted(), newsTold('message'), lastWord)).toMatchObject({
      phase: 'draining',
      outcome: { kind: 'completed' },
    })
  })

  it('is none while an end is owed: the run waits for it, unless it leaves its agents behind', () => {
    expect(given(...asked, childLaunched(), lastWord)).toMatchObject({
      phase: 'waiting',
      effects: ['awaitNews'],
      outcome: undefined,
    })
    const leaving = [started({ leavesChildren: true }), prepared(), childLaunched()]
    expect(given(...leaving, lastWord)).toMatchObject({
      phase: 'draining',
      outcome: { kind: 'completed' },
    })
    // A message is read all the same.
    expect(given(...leaving, messageAccepted(), lastWord).phase).toBe('requesting')
  })

  it('is looked at again behind its check: somebody may have spoken meanwhile', () => {
    const checking = [started(), prepared({ hasSchema: true, corrections: 0 }), lastWord]
    const accepted = { type: 'report.accepted' as const }
    expect(given(...checking, messageAccepted(), accepted).phase).toBe('requesting')
    expect(given(...checking, childLaunched(), accepted).phase).toBe('waiting')
    expect(given(...checking, accepted).outcome).toEqual({ kind: 'completed' })
  })
})

describe('a run that waits', () => {
  const waiting = given(...asked, childLaunched(), replied({ at: 3, says: 'I wait' }))

  it.each(['end', 'message', 'both'] as const)('goes on with the line that tells it of %s', (news) => {
    expect(waiting.when(messageAccepted(), newsTold(news))).toMatchObject({
      phase: 'requesting',
      effects: ['requestModel'],
    })
  })

  it('waits on when it is told of something else, when a message comes, and when it is owed less', () => {
    for (const event of [messageAdded(), messageAccepted(), childReleased(), launchedAgain])
      expect(waiting.when(event)).toMatchObject({ phase: 'waiting', effects: ['awaitNews'] })
  })
})
