import { eventsOf } from '../shadow-logs.ts'
import type { Law } from './law.ts'
import { callIn } from './lookups.ts'

/** Law 7, of names. */
export const ONE_HOLDER: Law = {
  number: 7,
  name: 'one holder',
  text: 'A name is given to nobody while its holder is at work, or about to be: who is born with a name is who had it last.',
  watch: ({ disk }, broken) => {
    let order = 0
    /** When the last run of an agent began, and when a call was made, by agent and call. */
    const began = new Map<string, number>()
    const made = new Map<string, number>()
    /** Whether somebody has asked for a name before a moment, and has no answer. */
    const isAskedFor = (name: string, before: number): boolean =>
      disk.logs.all.some((log) =>
        log.state.run?.context.calls.some(
          ({ callId }) =>
            callIn(log, callId).input['name'] === name &&
            (made.get(`${log.agentId}:${callId}`) ?? order) < before,
        ),
      )
    return {
      onDurable: (log, { event }) => {
        order += 1
        if (event.type === 'run.started') began.set(log.agentId ?? '', order)
        if (event.type === 'reply.received')
          for (const { callId } of event.calls) made.set(`${log.agentId}:${callId}`, order)
        const named = eventsOf(disk.logs.root, 'name.registered')
        if (event.type === 'name.registered') {
          if (log !== disk.logs.root) broken(`the name ${event.name} stands in the log of ${log.agentId}`)
          const holder = named.slice(0, -1).findLast(({ name }) => name === event.name)?.agentId ?? ''
          const { run } = disk.logs.of(holder)?.state ?? {}
          // One that had ended may be spoken to by its id while its name is on the way to the next.
          const isBack = (run?.context.run ?? 0) > 1 && isAskedFor(event.name, began.get(holder) ?? 0)
          if (run?.status === 'active' && !isBack)
            broken(`the name ${event.name} of ${holder}, who is at work, is given to ${event.agentId}`)
        }
        if (event.type !== 'agent.spawned' || event.plan.name === undefined) return
        const holder = named.findLast(({ name }) => name === event.plan.name)?.agentId
        if (holder !== event.agentId)
          broken(`${event.agentId} is born as ${event.plan.name}, which is the name of ${holder}`)
      },
    }
  },
}
