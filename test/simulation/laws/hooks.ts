import { eventsOf, type ShadowLog } from '../shadow-logs.ts'
import type { Law } from './law.ts'
import { isOutOfReach } from './lookups.ts'

/** Law 7, of hooks; and law 3, as far as it speaks of them. */
export const HOOKS: Law = {
  number: 7,
  name: 'hooks pair',
  text: 'Start and stop hooks pair one to one, on every way out. A hook runs at most once, and only what the log knows of runs.',
  watch: ({ disk, hooks, plan }, broken) => {
    const isStarted = (log: ShadowLog, hook: string): number =>
      eventsOf(log, 'hook.started').filter((event) => event.hook === hook).length
    return {
      onDurable: (log, { event }) => {
        if (event.type === 'hook.started' && isStarted(log, event.hook) > 1)
          broken(`the hook ${event.hook} of ${log.agentId} is started again`)
        if (event.type !== 'hook.ended') return
        const ends = eventsOf(log, 'hook.ended').filter(({ hook }) => hook === event.hook).length
        if (ends !== 1 || isStarted(log, event.hook) !== 1)
          broken(`the hook ${event.hook} of ${log.agentId} has ${ends} ends`)
      },
      onEnd: () => {
        const times = new Map<string, number>()
        for (const { event, agentId, about } of hooks.calls) {
          // It is sent back more than once as `true`.
          if (event === 'Stop' || about.endsWith('true')) continue
          const name = `${event} ${agentId} ${about}`
          times.set(name, (times.get(name) ?? 0) + 1)
          const most = event.startsWith('Subagent')
            ? eventsOf(disk.logs.of(agentId), 'run.started').length
            : 1
          if ((times.get(name) ?? 0) > most) broken(`the hook ${name} ran twice`)
        }
        for (const log of disk.logs.all) {
          if (plan.diskFaults.length > 0 && isOutOfReach(disk.logs, log)) continue
          for (const { hook, moment } of eventsOf(log, 'hook.started'))
            if (!eventsOf(log, 'hook.ended').some((end) => end.hook === hook))
              broken(`the hook of ${moment} of ${log.agentId} has no end`)
          if (log.state.birth?.parent !== undefined && hooks.isThere) checkPairs(log, broken)
        }
      },
    }
  },
}

function checkPairs(log: ShadowLog, broken: (what: string) => void): void {
  let [starts, stops, blocks] = [0, 0, 0]
  for (const { event } of log.events) {
    if (event.type === 'run.started') [starts, stops, blocks] = [0, 0, 0]
    if (event.type === 'hook.started' && event.event === 'SubagentStart') starts += 1
    if (event.type === 'hook.started' && event.event === 'SubagentStop') stops += 1
    if (event.type === 'stop.blocked') blocks += 1
    if (event.type !== 'agent.ended') continue
    // What ends before anybody was told that it starts has nothing to stop.
    if (starts > 1 || stops !== (starts === 0 ? 0 : blocks + 1))
      broken(
        `run ${event.run} of ${log.agentId} has ${starts} starts, and ${stops} stops for ${blocks} blocks`,
      )
  }
}
