/** Law 7: the end of a run is told once: by the call that started the child, by a notice, or to whoever asked first. */
import type { RunKey } from '../../machines/agent/events.ts'
import type { Law } from './law.ts'

/** Deliveries in the log of a parent. */
export function toldOnceLaw(): Law {
  const delivered = new Set<string>()
  const children = new Map<string, string>()
  const tell = ({ agentId, run }: RunKey): string | undefined => {
    const key = `${agentId} run ${run}`
    if (delivered.has(key)) return `the end of ${key} is told twice`
    delivered.add(key)
    return undefined
  }
  return {
    name: 'told once',
    see: ({ recorded: { event } }) => {
      if (event.type === 'message.added' || event.type === 'run.started') {
        for (const told of event.tells ?? []) {
          const twice = tell(told)
          if (twice !== undefined) return twice
        }
        return undefined
      }
      if (event.type === 'call.started' && event.child !== undefined) {
        children.set(event.callId, event.child.agentId)
      }
      if (event.type !== 'call.ended') return undefined
      const child = children.get(event.callId)
      children.delete(event.callId)
      if (event.delivered === undefined) return undefined
      const twice = tell(event.delivered)
      if (twice !== undefined) return twice
      return child === undefined || child === event.delivered.agentId
        ? undefined
        : `call ${event.callId} started ${child} and tells the end of ${event.delivered.agentId}`
    },
  }
}
