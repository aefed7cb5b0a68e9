/** What came of what agents say to each other, as the logs have it. */
import { eventsOf, type ShadowLog } from './shadow-logs.ts'

export interface WordCounts {
  /** Messages that were read in the middle of a run, and that began one. */
  readonly read: number
  readonly began: number
  /** Names that were given to somebody, and of those the ones that somebody else had before. */
  readonly named: number
  readonly takenOver: number
  /** Agents that another one stopped. */
  readonly stopped: number
}

export function countWords(logs: readonly ShadowLog[]): WordCounts {
  const of = <T extends Parameters<typeof eventsOf>[1]>(type: T) => logs.flatMap((log) => eventsOf(log, type))
  const injects = (events: readonly { readonly injects?: readonly string[] | undefined }[]): number =>
    events.reduce((sum, event) => sum + (event.injects?.length ?? 0), 0)
  const names = of('name.registered').map(({ name }) => name)
  return {
    read: injects([...of('message.added'), ...of('call.ended')]),
    began: injects(of('run.started')),
    named: names.length,
    takenOver: names.filter((name, i) => names.indexOf(name) !== i).length,
    stopped: of('agent.ended').filter(
      ({ outcome }) => outcome.kind === 'killed' && /^agent /.test(outcome.by),
    ).length,
  }
}
