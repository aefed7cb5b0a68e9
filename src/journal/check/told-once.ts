/** Law 7: the end of a child is told once, by the call that started the child. */
import type { Law } from './law.ts'

/** Deliveries in the log of a parent. */
export function toldOnceLaw(): Law {
  const delivered = new Set<string>()
  const children = new Map<string, string>()
  return {
    name: 'told once',
    see: ({ recorded: { event } }) => {
      if (event.type === 'call.started' && event.child !== undefined) {
        children.set(event.callId, event.child.agentId)
      }
      if (event.type !== 'call.ended') return undefined
      const child = children.get(event.callId)
      children.delete(event.callId)
      if (event.delivered === undefined) return undefined
      const key = `${event.delivered.agentId} run ${event.delivered.run}`
      if (delivered.has(key)) return `the end of ${key} is told twice`
      delivered.add(key)
      return child === undefined || child === event.delivered.agentId
        ? undefined
        : `call ${event.callId} started ${child} and tells the end of ${event.delivered.agentId}`
    },
  }
}
