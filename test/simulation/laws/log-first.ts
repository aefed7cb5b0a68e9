import { isDeepStrictEqual } from 'node:util'
import { phaseOf } from '../../../src/machines/agent/accepts.ts'
import type { AgentEvent } from '../../../src/machines/agent/events.ts'
import type { RunSnapshot } from '../../../src/machines/agent/fold.ts'
import { eventsOf, type ShadowLog } from '../shadow-logs.ts'
import type { Fact, Law } from './law.ts'
import { nameOf } from './law.ts'
import { logsOfRequest } from './lookups.ts'

/** Law 1. */
export const LOG_FIRST: Law = {
  number: 1,
  name: 'log first',
  text: 'An event is durable before the machine sees it; an effect starts only after the event that asks for it is durable. A spawn is durable before the first model request.',
  watch: ({ disk }, broken) => {
    const told = new Map<string, { readonly seq: number; readonly event: AgentEvent }[]>()
    const isSpawned = (log: ShadowLog | undefined): boolean => {
      const parent = log?.state.birth?.parent
      if (log === undefined || log.state.birth === undefined) return false
      if (parent === undefined) return true
      return eventsOf(disk.logs.of(parent.agentId), 'call.started').some(
        ({ child }) => child?.agentId === log.agentId,
      )
    }
    /** Is what the effect needs true of the log behind the last event that was seen, or behind one that follows it? */
    const wants = (log: ShadowLog | undefined, is: (run: RunSnapshot) => boolean): boolean => {
      const seen = told.get(log?.agentId ?? '')?.at(-1)?.seq ?? -1
      return (log?.events ?? []).some(({ seq }, i, all) => {
        const run = log?.stateAt(seq)?.run
        return (seq >= seen || i === all.length - 1) && run !== undefined && is(run)
      })
    }
    const onFact = (fact: Fact): void => {
      const log = disk.logs.of(fact.agentId)
      const last = fact.seq + Math.max(1, fact.lines.length) - 1
      if (log === undefined || log.lastSeq < last)
        broken(`${nameOf(fact.event)} of ${fact.agentId} was seen, and its line ${last} is not durable`)
      const known = told.get(fact.agentId) ?? []
      known.push({ seq: fact.seq, event: fact.event })
      told.set(fact.agentId, known)
    }
    return {
      onFact,
      onDurable: (log, { event }) => {
        if (event.type === 'agent.spawned' && event.parent !== undefined && !isSpawned(log))
          broken(`the file of agent ${event.agentId} is there before its parent's log names it`)
      },
      onRequest: (seen) => {
        const phase = seen.isSummary ? 'compacting' : 'requesting'
        const isWanted = logsOfRequest(disk.logs, seen).some(
          (log) => isSpawned(log) && wants(log, (run) => phaseOf(run) === phase),
        )
        if (!isWanted) broken(`${seen.agent} asks its model, and its durable log does not want that`)
      },
      onBody: ({ agentId, callId, resume, tool }) => {
        const isWanted = wants(disk.logs.of(agentId), ({ context }) => {
          const call = context.calls.find((each) => each.callId === callId)
          return resume === 'repeat'
            ? call !== undefined && call.phase !== 'waiting'
            : call?.phase === 'started'
        })
        if (!isWanted) broken(`${tool} ${callId} of ${agentId} runs, and its durable log does not want that`)
      },
      onCrash: () => {
        for (const [agentId, facts] of told) {
          const events = new Map(disk.logs.of(agentId)?.events.map(({ seq, event }) => [seq, event]))
          const lost = facts.find(({ seq, event }) => !isDeepStrictEqual(events.get(seq), jsonOf(event)))
          if (lost !== undefined)
            broken(`a crash lost ${nameOf(lost.event)} of ${agentId}, which was seen before it`)
        }
      },
    }
  },
}

/** What a log keeps of an event: fields that are undefined are not there, halves of a pair come back replaced. */
const jsonOf = (event: AgentEvent): unknown => JSON.parse(JSON.stringify(event))
