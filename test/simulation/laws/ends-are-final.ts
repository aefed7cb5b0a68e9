import { statusOf } from '../../../src/machines/agent/context.ts'
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
        if (event.run !== (run?.context.run ?? 0) + 1)
          broken(`${log.agentId} starts run ${event.run} after run ${run?.context.run}`)
        return
      }
      if (event.type === 'agent.spawned' || run === undefined) return
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
