import type { AgentEvent } from '../../../src/machines/agent/events.ts'
import type { ShadowLog } from '../shadow-logs.ts'
import { eventsOf } from '../shadow-logs.ts'
import type { Law } from './law.ts'
import { callIn, runOf } from './lookups.ts'

/** Law 7, of the calls that send. */
export const RECEIPTS: Law = {
  number: 7,
  name: 'sent is sent',
  text: 'A message says what its call says, and reaches one agent, or with `*` everybody who is at work all the while; whoever has sent it is told so. What is said to a name reaches who has it.',
  watch: ({ disk, plan }, broken) => {
    /** Who was at work when a message to all was begun: agent and run. */
    const atWork = new Map<string, ReadonlyMap<string, number>>()
    /** Who had a name when a message to it was begun. */
    const holders = new Map<string, string | undefined>()
    const holderOf = (name: string): string | undefined =>
      eventsOf(disk.logs.root, 'name.registered').findLast((event) => event.name === name)?.agentId
    const callOf = (
      messageId: string,
    ): ReturnType<typeof callIn> & { readonly sender: ShadowLog | undefined } => {
      const [agentId = '', callId = ''] = messageId.split(':')
      const sender = disk.logs.of(agentId)
      return { sender, ...(sender === undefined ? { tool: undefined, input: {} } : callIn(sender, callId)) }
    }
    const reached = (messageId: string): readonly ShadowLog[] =>
      disk.logs.all.filter((log) => log.events.some(({ event }) => takenWith(event).includes(messageId)))

    const onTaken = (log: ShadowLog, event: AgentEvent, messageId: string): void => {
      const { sender, tool, input } = callOf(messageId)
      const [, callId] = messageId.split(':')
      if (sender === undefined) {
        broken(`${log.agentId} takes ${messageId}, and there is no such sender`)
        return
      }
      const isUp = tool === 'AskParent' || tool === 'ExitPlanMode'
      const said = String(input['question'] ?? input['plan'] ?? input['message'])
      const content = 'content' in event ? JSON.stringify(event.content) : ''
      if (typeof input['message'] !== 'object' && !content.includes(JSON.stringify(said).slice(1, -1)))
        broken(`${log.agentId} takes ${messageId}, which does not say what its call says`)
      const to = isUp ? 'parent' : String(input['to'])
      const others = reached(messageId).filter((each) => each !== log)
      if (to !== '*' && others.length > 0)
        broken(
          `${messageId} to ${to} reaches ${log.agentId}, and ${others.map(({ agentId }) => agentId).join()} before`,
        )
      const isRight =
        to === '*' ||
        to === log.agentId ||
        (to === 'parent' && sender.state.birth?.parent?.agentId === log.agentId) ||
        (to === 'main' && log === disk.logs.root) ||
        holderOf(to) === log.agentId ||
        holders.get(messageId) === log.agentId
      if (!isRight) broken(`the message ${callId} of ${sender.agentId} to ${to} reaches ${log.agentId}`)
      if (event.type === 'run.started' && log.state.birth?.parent !== undefined && event.background !== true)
        broken(`run ${event.run} of ${log.agentId} begins with a message, and not in the background`)
    }

    return {
      onDurable: (log, { event }) => {
        for (const id of takenWith(event)) onTaken(log, event, id)
        if (event.type === 'call.started') {
          const { input } = callIn(log, event.callId)
          const key = `${log.agentId}:${event.callId}`
          if (typeof input['to'] === 'string') holders.set(key, holderOf(input['to']))
          if (input['to'] === '*')
            atWork.set(
              key,
              new Map(
                disk.logs.all.flatMap((each) =>
                  each !== log && isWellUnderWay(each) && each.agentId !== undefined
                    ? [[each.agentId, each.state.run?.context.run ?? 0] as const]
                    : [],
                ),
              ),
            )
        }
        if (event.type !== 'call.ended' || event.outcome === 'interrupted') return
        const key = `${log.agentId}:${event.callId}`
        for (const [agentId, run] of atWork.get(key) ?? []) {
          const { state } = disk.logs.of(agentId) ?? {}
          if (state?.run?.status !== 'active' || state.run.context.run !== run) continue
          if (!reached(key).some((each) => each.agentId === agentId))
            broken(`${key} is for all, and ${agentId}, who is at work, is not told`)
        }
      },
      onEnd: () => {
        if (plan.diskFaults.length > 0) return
        for (const log of disk.logs.all)
          for (const event of eventsOf(log, 'call.ended')) {
            const key = `${log.agentId}:${event.callId}`
            if (callIn(log, event.callId).tool !== 'SendMessage' || event.outcome === 'ok') continue
            const who = reached(key)
            if (who.length > 0 && event.outcome !== 'interrupted')
              broken(
                `${key} is told as ${event.outcome}, and ${who.map(({ agentId }) => agentId).join()} has it`,
              )
          }
      },
    }
  },
}

/** Messages that reach their agent with this event: into its mailbox, or as the beginning of a run. */
function takenWith(event: AgentEvent): readonly string[] {
  if (event.type === 'message.accepted') return [event.messageId]
  // What had come before is read with it.
  return event.type === 'run.started' && event.origin.from === 'agent' ? (event.injects ?? []) : []
}

/** It works, and whatever has begun it is over. */
const isWellUnderWay = (log: ShadowLog): boolean =>
  log.state.run?.status === 'active' && runOf(log).some(({ type }) => type === 'agent.prepared')
