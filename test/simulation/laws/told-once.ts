import { hasChoice } from '../../../src/machines/agent/context.ts'
import type { RunKey, ToldEnd } from '../../../src/machines/agent/events.ts'
import type { AgentId } from '../../../src/machines/ids.ts'
import type { ShadowLog } from '../shadow-logs.ts'
import { eventsOf } from '../shadow-logs.ts'
import type { Law } from './law.ts'
import { callIn, isOutOfReach, owedIn } from './lookups.ts'

/** Law 7. */
export const TOLD_ONCE: Law = {
  number: 7,
  name: 'told once',
  text: 'Each finished child reaches its parent exactly once, whatever the parent is doing at that moment, also across a restart.',
  watch: ({ disk, plan }, broken) => {
    const couldNotBeWritten = (agentId: AgentId): boolean =>
      disk.failuresOf(disk.logs.of(agentId)?.path ?? '').length > 0
    return {
      onDurable: (log, { event }) => {
        const keys: readonly ToldEnd[] =
          event.type === 'call.ended' && event.delivered !== undefined
            ? [event.delivered]
            : event.type === 'message.added' || event.type === 'run.started'
              ? (event.tells ?? [])
              : []
        for (const { agentId, run, isLost } of keys) {
          const end = eventsOf(disk.logs.of(agentId), 'agent.ended').find((each) => each.run === run)
          if (isLost === true && (end !== undefined || !couldNotBeWritten(agentId)))
            broken(`${log.agentId} is told that ${agentId} run ${run} is lost`)
          if (end === undefined && isLost !== true)
            broken(`${log.agentId} is told the end of ${agentId} run ${run}, which has none`)
          if (
            end !== undefined &&
            event.type === 'call.ended' &&
            // Whoever asks for an end, or for a stop, is told that in a result that is no error.
            callIn(log, event.callId).tool === 'Agent' &&
            (end.status === 'completed') !== (event.outcome === 'ok')
          )
            broken(`${log.agentId} is told ${event.outcome} of ${agentId}, which is ${end.status}`)
          const times = disk.logs.all
            .flatMap(toldIn)
            .filter((key) => key.agentId === agentId && key.run === run).length
          if (times > 1) broken(`${agentId} run ${run} is told ${times} times, last to ${log.agentId}`)
        }
        if (keys.length === 0) return
        const verdicts = keys.map((key) => verdictOn(disk.logs.of(key.agentId), key.run))
        const meant = verdicts.filter((verdict) => verdict === 'flag' || verdict === 'block').length
        const text = event.type === 'call.ended' ? event.result : 'content' in event ? event.content : ''
        const warnings = [...JSON.stringify(text).matchAll(/SECURITY WARNING/g)].length
        if (warnings !== meant)
          broken(
            `${keys.map(({ agentId }) => agentId).join(', ')}: told with ${warnings} warnings, and the reviews came to ${verdicts.join(', ')}`,
          )
        if (verdicts.includes('owed')) broken(`${log.agentId} is told an end in front of its review`)
      },
      onEnd: () => {
        for (const child of disk.logs.all) {
          const { birth } = child.state
          const parent = birth?.parent
          if (
            birth === undefined ||
            parent === undefined ||
            (plan.diskFaults.length > 0 && isOutOfReach(disk.logs, child))
          )
            continue
          const calls = eventsOf(disk.logs.of(parent.agentId), 'call.ended').filter(
            ({ callId }) => callId === parent.callId,
          )
          if (calls.length !== 1)
            broken(`the call of child ${child.agentId} was answered ${calls.length} times`)
          const runs = eventsOf(child, 'agent.ended').map(({ run }) => run)
          const told = disk.logs.all
            .flatMap(toldIn)
            .flatMap(({ agentId, run }) => (agentId === child.agentId ? [run] : []))
          // What could not be written has no end, and is told as lost: once, too.
          const lost = couldNotBeWritten(birth.agentId) ? told.filter((run) => !runs.includes(run)) : []
          if (new Set(lost).size < lost.length)
            broken(`child ${child.agentId} is told as lost [${lost.join()}]`)
          // Whoever has spoken to it may be told the later run before the other is told the earlier one.
          const keys = told.filter((run) => !lost.includes(run)).toSorted((a, b) => a - b)
          // A log that could not be written leaves a child that its parent has given up: it is told as interrupted.
          const gaveUp = plan.diskFaults.length > 0 && calls.every(({ outcome }) => outcome === 'interrupted')
          // Whoever was stopped is told when it goes on, which nobody wants here.
          const owed = disk.logs.all
            .filter(wasStopped)
            .flatMap((each) => owedIn(each))
            .flatMap(({ agentId, run }) => (agentId === child.agentId && !keys.includes(run) ? [run] : []))
          if (!gaveUp && keys.join() !== runs.filter((run) => !owed.includes(run)).join())
            broken(`child ${child.agentId} ended ${runs.length} times and was told [${keys.join()}]`)
        }
      },
    }
  },
}

/** Ends that a log tells. */
const toldIn = (log: ShadowLog): readonly RunKey[] => [
  ...eventsOf(log, 'call.ended').flatMap(({ delivered }) => delivered ?? []),
  ...[...eventsOf(log, 'message.added'), ...eventsOf(log, 'run.started')].flatMap(({ tells }) => tells ?? []),
  // In a killed tree the record stands for the telling.
  ...eventsOf(log, 'child.released').flatMap(({ child, isUndeliverable }) =>
    isUndeliverable ? [child] : [],
  ),
]

/** What the review of a run came to, as its log has it by now; `owed`: it is to come. */
function verdictOn(log: ShadowLog | undefined, run: number): string | undefined {
  let current = 0
  let found: string | undefined
  for (const { event } of log?.events ?? []) {
    if (event.type === 'run.started') current = event.run
    else if (current !== run) continue
    else if (event.type === 'review.ended') found = event.verdict.kind
    else if (event.type === 'agent.ended') found ??= event.review
  }
  return found
}

/** Its last run did not end by its own choice. */
function wasStopped(log: ShadowLog): boolean {
  const outcome = eventsOf(log, 'agent.ended').at(-1)?.outcome
  return outcome !== undefined && !hasChoice(outcome)
}
