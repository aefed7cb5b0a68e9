import { eventsOf } from '../shadow-logs.ts'
import type { Law } from './law.ts'
import { isOutOfReach } from './lookups.ts'

/** Law 7. */
export const TOLD_ONCE: Law = {
  number: 7,
  name: 'told once',
  text: 'Each finished child reaches its parent exactly once, whatever the parent is doing at that moment, also across a restart.',
  watch: ({ disk, plan }, broken) => ({
    onDurable: (log, { event }) => {
      if (event.type !== 'call.ended' || event.delivered === undefined) return
      const { agentId, run } = event.delivered
      const end = eventsOf(disk.logs.of(agentId), 'agent.ended').find((each) => each.run === run)
      if (end === undefined) broken(`${log.agentId} is told the end of ${agentId} run ${run}, which has none`)
      if (end !== undefined && (end.status === 'completed') !== (event.outcome === 'ok'))
        broken(`${log.agentId} is told ${event.outcome} of ${agentId}, which is ${end.status}`)
      const told = eventsOf(log, 'call.ended').filter(
        ({ delivered }) => delivered !== undefined && delivered.agentId === agentId && delivered.run === run,
      )
      if (told.length > 1) broken(`${log.agentId} is told ${told.length} times of ${agentId} run ${run}`)
      const verdict = eventsOf(disk.logs.of(agentId), 'review.ended').at(-1)?.verdict.kind
      const meant = verdict === 'flag' || verdict === 'block' ? 1 : 0
      const warnings = [...JSON.stringify(event.result).matchAll(/SECURITY WARNING/g)].length
      if (warnings !== meant)
        broken(`the report of ${agentId} has ${warnings} warnings, and its review came to ${verdict}`)
    },
    onEnd: () => {
      for (const child of disk.logs.all) {
        const parent = child.state.birth?.parent
        if (parent === undefined || (plan.diskFaults.length > 0 && isOutOfReach(disk.logs, child))) continue
        const calls = eventsOf(disk.logs.of(parent.agentId), 'call.ended').filter(
          ({ callId }) => callId === parent.callId,
        )
        const keys = calls.flatMap(({ delivered }) =>
          delivered?.agentId === child.agentId && delivered !== undefined ? [delivered.run] : [],
        )
        if (calls.length !== 1)
          broken(`the call of child ${child.agentId} was answered ${calls.length} times`)
        // A log that could not be written leaves a child that its parent has given up: it is told as interrupted.
        const gaveUp = plan.diskFaults.length > 0 && calls.every(({ outcome }) => outcome === 'interrupted')
        if (
          !gaveUp &&
          keys.join() !==
            eventsOf(child, 'agent.ended')
              .map(({ run }) => run)
              .join()
        )
          broken(
            `child ${child.agentId} ended ${eventsOf(child, 'agent.ended').length} times and was told [${keys.join()}]`,
          )
      }
    },
  }),
}
