import { codeOf, messageOf } from '../../../src/engine/errors.ts'
import { UNKNOWN_TOOL } from '../definitions.ts'
import { eventsOf, type ShadowLog } from '../shadow-logs.ts'
import type { Law } from './law.ts'
import { isOpened, logOfRequest } from './lookups.ts'

/** Law 11. */
export const NOTHING_DROPPED: Law = {
  number: 11,
  name: 'nothing dropped silently',
  text: 'What cannot be honoured yields a diagnostic; an event that comes too late is counted; nothing fails unseen. Damage in a log is refused with its place, and who accepts it leaves that in the log.',
  holdsOverDamage: true,
  watch: (scene, broken) => {
    const { disk } = scene
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
      onResume: ({ acceptDamage, error }) => {
        const log = disk.logs.all.find(({ path }) => path === scene.damaged)
        if (log === undefined || acceptDamage || acceptancesIn(log) > 0 || !isOpened(disk.logs, log)) return
        if (codeOf(error, '') !== 'damaged-log' || !messageOf(error).includes(log.path))
          broken(
            `${log.path} has a spoiled line, and the resume says: ${error === undefined ? 'nothing' : messageOf(error)}`,
          )
      },
      onDurable: (log, { event }) => {
        if (log.path !== scene.damaged || event.type !== 'run.resumed' || acceptancesIn(log) > 0) return
        broken(
          `${log.path} goes on over a spoiled line, and its log does not say that somebody has accepted that`,
        )
      },
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

/** How often somebody has accepted damage in a log. */
const acceptancesIn = (log: ShadowLog): number =>
  eventsOf(log, 'run.resumed').filter(({ acceptedDamage = [] }) => acceptedDamage.length > 0).length
