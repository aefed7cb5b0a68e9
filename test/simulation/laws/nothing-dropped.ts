import { UNKNOWN_TOOL } from '../definitions.ts'
import type { Law } from './law.ts'
import { logOfRequest } from './lookups.ts'

/** Law 11. */
export const NOTHING_DROPPED: Law = {
  number: 11,
  name: 'nothing dropped silently',
  text: 'What cannot be honoured yields a diagnostic; an event that comes too late is counted; nothing fails unseen.',
  watch: ({ disk }, broken) => {
    let late: { readonly agentId: string; readonly type: string } | undefined
    const counts = new Map<unknown, number>()
    const diagnosed = new Set<string>()
    return {
      onLate: (agent, { type }) => {
        late = { agentId: agent.id, type }
      },
      onNotice: (event) => {
        if (event.kind === 'diagnostic') diagnosed.add(event.message)
        if (event.kind !== 'late') return
        if (late?.agentId === event.agentId && late.type === event.type) late = undefined
      },
      onApplied: (agent) => void counts.set(agent, 0),
      onStep: () => {
        if (late !== undefined) broken(`${late.type} of ${late.agentId} came too late and was not counted`)
        late = undefined
      },
      onRequest: ({ agent }) => {
        const plan = logOfRequest(disk.logs, agent)?.state.birth?.plan
        if (plan?.agentType !== 'reader') return
        if (![...diagnosed].some((message) => message.includes(UNKNOWN_TOOL)))
          broken(`${agent} runs, and nobody was told that its tool ${UNKNOWN_TOOL} does not exist`)
      },
      onUnhandled: (error) =>
        broken(`something failed unseen: ${error instanceof Error ? error.stack : String(error)}`),
    }
  },
}
