/** What came of what agents say to and ask of each other, as the logs have it. */
import { callIn } from './laws/lookups.ts'
import { eventsOf, type ShadowLog } from './shadow-logs.ts'

export interface WordCounts {
  /** Messages that were read in the middle of a run, and that began one. */
  readonly read: number
  readonly began: number
  /** Names that were given to somebody, and of those the ones that somebody else had before. */
  readonly named: number
  readonly takenOver: number
  /** Calls that were refused a name, as its holder was at work. */
  readonly held: number
  /** Messages to all that reached more than one. */
  readonly toAll: number
  /** Questions to a parent that were answered, and that were not. */
  readonly answered: number
  readonly unanswered: number
  /** Ends that were read by whoever was owed them. */
  readonly asked: number
  /** Agents that another one stopped. */
  readonly stopped: number
}

export function countWords(logs: readonly ShadowLog[]): WordCounts {
  const of = <T extends Parameters<typeof eventsOf>[1]>(type: T) => logs.flatMap((log) => eventsOf(log, type))
  const results = logs.flatMap((log) =>
    eventsOf(log, 'call.ended').map((event) => ({ event, tool: callIn(log, event.callId).tool })),
  )
  const injects = (events: readonly { readonly injects?: readonly string[] | undefined }[]): number =>
    events.reduce((sum, event) => sum + (event.injects?.length ?? 0), 0)
  const names = of('name.registered').map(({ name }) => name)
  const accepted = of('message.accepted').map(({ messageId }) => messageId)
  const times = (id: string): number => accepted.filter((each) => each === id).length
  const came = (of: string, outcome: string): number =>
    results.filter(({ event, tool }) => tool === of && event.outcome === outcome).length
  return {
    read: injects([...of('message.added'), ...of('call.ended')]),
    began: injects(of('run.started')),
    named: names.length,
    takenOver: names.filter((name, i) => names.indexOf(name) !== i).length,
    held: results.filter(
      ({ event, tool }) =>
        tool === 'Agent' && /is that of agent a[0-9a-f]{16}, which/.test(JSON.stringify(event.result)),
    ).length,
    toAll: new Set(accepted.filter((id) => times(id) > 1)).size,
    answered: came('AskParent', 'ok'),
    unanswered: came('AskParent', 'error'),
    asked: results.filter(({ event, tool }) => tool === 'TaskOutput' && event.delivered !== undefined).length,
    stopped: of('agent.ended').filter(
      ({ outcome }) => outcome.kind === 'killed' && /^agent /.test(outcome.by),
    ).length,
  }
}
