/** Law 3 and 5: each call is asked for once, started at most once, and answered once, by the result that names it. */
import type { AgentEvent, CallRequest } from '../../machines/agent/events.ts'
import type { Law } from './law.ts'

/** Calls and results by its own books, so that it catches what the machine would let pass. */
export function pairingLaw(): Law {
  /** Calls without a result. Only those of one reply are ever open. */
  const open = new Map<string, CallRequest>()
  const started = new Set<string>()

  const see = (event: AgentEvent): string | undefined => {
    switch (event.type) {
      case 'reply.received': {
        const [left] = open.keys()
        if (left !== undefined) return `the model speaks again while call ${left} has no result`
        for (const call of event.calls) {
          if (open.has(call.callId)) return `call ${call.callId} is asked for twice`
          open.set(call.callId, call)
        }
        return undefined
      }
      case 'call.started':
        if (started.has(event.callId)) return `call ${event.callId} starts twice`
        started.add(event.callId)
        return undefined
      case 'call.ended': {
        const call = open.get(event.callId)
        if (call === undefined) return `call ${event.callId} has a result and was not asked for, or has two`
        if (call.toolUseId !== event.result.tool_use_id) {
          return `the result of call ${event.callId} names ${event.result.tool_use_id}, the call is ${call.toolUseId}`
        }
        open.delete(event.callId)
        started.delete(event.callId)
        return undefined
      }
      default:
        return undefined
    }
  }
  return { name: 'pairing', see: ({ recorded }) => see(recorded.event) }
}
