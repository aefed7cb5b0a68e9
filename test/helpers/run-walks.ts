/**
 * Random lives of a run. A walk asks at every step what could happen now and takes one of it, so that most walks
 * get deep into the machine; a few steps on each are events that the run does not take.
 */
import fc from 'fast-check'
import { accepts } from '../../src/machines/agent/accepts.ts'
import { endOf } from '../../src/machines/agent/context.ts'
import type { RunEvent } from '../../src/machines/agent/events.ts'
import type { RunSnapshot } from '../../src/machines/agent/fold.ts'
import { beginRun, foldRun } from '../../src/machines/agent/fold.ts'
import * as make from './run-events.ts'
import { AGENT, alone, RUN, UNKNOWN_CALL } from './run-events.ts'

/** Events that end a run or say nothing about it: always possible, so a walk takes them seldom. */
const SELDOM = new Set<RunEvent['type']>([
  'kill.requested',
  'agent.faulted',
  'request.failed',
  'run.suspended',
  'run.resumed',
  'message.added',
  'message.accepted',
  'child.launched',
  'child.released',
  'agent.diagnosed',
  'permission.granted',
  'budget.refused',
  'context.exceeded',
  'budget.warned',
  'progress.summarised',
  'name.registered',
  'time.expired',
  'hook.started',
  'hook.process_started',
  'hook.ended',
  'servers.requested',
  'server.started',
  'worktree.requested',
  'worktree.created',
  'worktree.decided',
  'worktree.removed',
  'worktree.left',
])

/** One event of every kind that matters, about every open call and about none; `at` is the next position. */
export function everyEvent(run: RunSnapshot, at: number): RunEvent[] {
  const calls = [...run.context.calls.map((call) => call.callId), UNKNOWN_CALL]
  return [
    make.started(),
    make.started({ maxTurns: 2 }),
    make.started({ background: true }),
    make.prepared(),
    make.prepared({ hasSchema: true, corrections: 1 }),
    make.prepared(undefined, true),
    make.prepared(undefined, 'deferrable'),
    make.replied({ at, calls: ['Read'] }),
    make.replied({ at, says: 'first I look', calls: ['Read', alone('Bash'), 'Grep'] }),
    make.replied({ at, says: 'half an ans', stop: 'max_tokens' }),
    make.replied({ at, says: 'wait', stop: 'pause_turn' }),
    make.replied({ at, says: 'no', stop: 'refusal' }),
    make.replied({ at, says: ' \n' }),
    make.replied({ at, says: 'here you are' }),
    make.requestFailed(),
    make.requestFailed('context-exceeded'),
    make.reportRejected(),
    make.reportAccepted(),
    make.reportAccepted('it is no JSON'),
    make.messageAdded(),
    make.messageAccepted(),
    make.childLaunched(),
    make.childReleased(),
    make.newsTold('end'),
    make.newsTold('message'),
    make.newsTold('both'),
    make.diagnosed(),
    ...make.worktreeEvents(),
    make.permissionGranted(),
    make.modeChanged(),
    make.budgetRefused(),
    make.budgetWarned(),
    make.progressSummarised(),
    make.nameRegistered(),
    make.timeExpired(),
    make.modelChanged(),
    make.contextExceeded(),
    make.resultsCut(),
    make.compacted(),
    make.compactionFailed(),
    make.drained(),
    make.stopBlocked(),
    make.reviewRequested(),
    make.reviewEnded(),
    make.reviewEnded({ kind: 'block', reason: 'it deleted the tests' }),
    make.hookStarted(),
    make.hookProcessStarted(),
    make.hookEnded(),
    make.serversRequested(),
    make.serverStarted(),
    ...calls.flatMap((id) => [
      make.callStarted(id),
      make.processStarted(id),
      make.callClassified(id),
      make.approvalRequested(id),
      make.approvalAnswered(id),
      make.questionAsked(id),
      make.questionAnswered(id),
      make.callEnded(id, 'ok'),
      make.callEnded(id, 'denied'),
      make.stopAgreed(id),
      make.stopAgreed(id, 'all is done'),
    ]),
    make.killed(),
    make.faulted(),
    make.backgrounded(),
    endOf(run.context, 1),
    make.suspended(),
    make.resumed(),
  ]
}

/** More calls in one reply than may run at once. Apart, because it makes graphs large. */
const manyCalls = (at: number): RunEvent =>
  make.replied({ at, calls: [...Array.from({ length: 12 }, (_, i) => `Read${i % 3}`), alone('Bash')] })

type Mood = 'steady' | 'any' | 'wild'

interface Step {
  readonly pick: number
  readonly mood: Mood
}

function candidates(run: RunSnapshot, at: number, mood: Mood): RunEvent[] {
  const all = [...everyEvent(run, at), manyCalls(at)]
  if (mood === 'wild') return all
  const taken = all.filter((event) => accepts(run, event))
  if (mood === 'any') return taken
  return taken.filter((event) => !SELDOM.has(event.type) && !isLastWord(event))
}

/** A reply after which a run settles. */
const isLastWord = (event: RunEvent): boolean =>
  event.type === 'reply.received' && event.calls.length === 0 && event.reply.stop_reason !== 'pause_turn'

function walk(steps: readonly Step[]): RunEvent[] {
  let run = beginRun(AGENT, RUN)
  return steps.flatMap(({ pick, mood }, i) => {
    // Room for the lines of the longest reply, so that no two calls share an id.
    const at = i * 20
    const choice = candidates(run, at, mood)
    const event = choice[pick % Math.max(choice.length, 1)]
    if (event === undefined) return []
    run = foldRun(run, event)
    return [event]
  })
}

const step: fc.Arbitrary<Step> = fc.record({
  pick: fc.nat(),
  mood: fc.oneof(
    { weight: 8, arbitrary: fc.constant<Mood>('steady') },
    { weight: 1, arbitrary: fc.constant<Mood>('any') },
    { weight: 1, arbitrary: fc.constant<Mood>('wild') },
  ),
})

/** Event sequences of at most `maxLength` steps. */
export const walks = (maxLength = 60): fc.Arbitrary<RunEvent[]> =>
  fc.array(step, { maxLength, size: 'max' }).map(walk)
