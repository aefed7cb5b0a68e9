import { lastLineOf } from '../../../src/journal/log-entry.ts'
import { statusOf } from '../../../src/machines/agent/context.ts'
import type { ShadowLog } from '../shadow-logs.ts'
import type { Law } from './law.ts'
import { nameOf } from './law.ts'
import { isOutOfReach } from './lookups.ts'

/** Law 4. */
export const ENDS_ARE_FINAL: Law = {
  number: 4,
  name: 'ends are final',
  text: '`completed`, `failed` and `killed` absorb: no event leaves them. Continuing a finished agent is a new run, recorded as such.',
  watch: ({ disk, plan }, broken) => ({
    onDurable: (log, { event }, before) => {
      const run = before.run
      if (event.type === 'run.started') {
        if (run !== undefined && run.status === 'active')
          broken(`${log.agentId} starts run ${event.run} in the middle of a run`)
        const last = run?.context.run ?? before.birth?.base?.run ?? 0
        if (event.run !== last + 1) broken(`${log.agentId} starts run ${event.run} after run ${last}`)
        const { isOwed, verdicts } = behindLastEnd(log)
        if (isOwed && verdicts === 0) broken(`${log.agentId} starts run ${event.run} in front of a review`)
        return
      }
      if (event.type === 'agent.spawned') {
        const { base } = event
        const shared = disk.logs.all
          .find(({ path }) => path === base?.path)
          ?.events.findLast((recorded) => lastLineOf(recorded) <= (base?.seq ?? -1))
        const runs = disk.logs.root?.stateAt(shared?.seq ?? -1)?.run?.context.run ?? 0
        if (base !== undefined && base.run !== runs)
          broken(`${event.agentId} counts on from run ${base.run} of its base, which is in run ${runs} there`)
        return
      }
      if (run === undefined) return
      // Facts about the agent or its session, not about a run of it.
      if (['child.launched', 'child.released', 'name.registered'].includes(event.type)) return
      // The review that the end owes, once.
      if (event.type === 'review.ended' && run.status !== 'active') {
        const { isOwed, verdicts } = behindLastEnd(log)
        if (isOwed && verdicts === 1) return
      }
      if (run.status !== 'active')
        broken(`${nameOf(event)} comes after the end of run ${run.context.run} of ${log.agentId}`)
      if (event.type !== 'agent.ended') return
      if (event.status !== statusOf(event.outcome))
        broken(`${log.agentId} is ${event.status} with ${event.outcome.kind}`)
      if (run.context.calls.length > 0) broken(`run ${event.run} of ${log.agentId} ends with open calls`)
    },
    onEnd: () => {
      for (const log of disk.logs.all) {
        const { agentId, state, events } = log
        const isGivenUp = plan.diskFaults.length > 0 && isOutOfReach(disk.logs, log)
        if (state.run?.status === 'active' && !isGivenUp)
          broken(
            `run ${state.run.context.run} of ${agentId} has no end; its last event is ${events.at(-1)?.event.type}`,
          )
      }
    },
  }),
}

/** Whether the last end owes a review, and how many stand behind it. */
function behindLastEnd({ events }: ShadowLog): { readonly isOwed: boolean; readonly verdicts: number } {
  const at = events.findLastIndex(({ event }) => event.type === 'agent.ended')
  const end = events[at]?.event
  return {
    isOwed: end?.type === 'agent.ended' && end.review === 'owed',
    verdicts: events.slice(at + 1).filter(({ event }) => event.type === 'review.ended').length,
  }
}
