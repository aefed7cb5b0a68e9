import { DEFAULT_LIMITS } from '../../../src/definitions/limits.ts'
import { MAX_CONCURRENT_CALLS } from '../../../src/machines/agent/calls.ts'
import { definitionOf, RETRIES } from '../definitions.ts'
import { eventsOf, type ShadowLog } from '../shadow-logs.ts'
import type { Life } from '../world.ts'
import type { Law } from './law.ts'
import { hasAgreed, heirsOf, isOpened, logOfRequest } from './lookups.ts'

/** Law 8. */
export const BOUNDED: Law = {
  number: 8,
  name: 'bounded',
  text: 'Depth, live agents, spawns, turns, concurrency and retries each have a limit; reaching one is an event and a clear status.',
  watch: ({ disk, plan, tools, processes, lockOf }, broken) => {
    /**
     * It goes on no more and has no end, as its log could not be written: in this process, or in one before, and no resume
     * opens it. Its place is free when nothing of it works.
     */
    const hasLeft = ({ path, agentId }: ShadowLog): boolean => {
      const holder = disk.holderOf(lockOf(path))
      const failures = disk.failuresOf(path)
      const log = agentId === undefined ? undefined : disk.logs.of(agentId)
      if (log === undefined || failures.length === 0) return false
      // A crash has let through what its process had written: nothing runs.
      if (holder === undefined) return true
      if (!failures.includes(holder) && isOpened(disk.logs, log)) return false
      const works = (each: { readonly life: Life }, isAtWork: boolean): boolean =>
        each.life === holder && isAtWork
      return !(
        processes.all.some((each) => each.mark.startsWith(`${agentId}/`) && works(each, each.isRunning)) ||
        // Deaf ones are left behind after a time, and told so.
        tools.bodies.some(
          (each) =>
            each.agentId === agentId && works(each, !each.hasEnded && each.toldToStopAt === undefined),
        )
      )
    }
    const inSessionOf = ({ path }: ShadowLog): readonly ShadowLog[] =>
      disk.logs.all.filter((each) => lockOf(each.path) === lockOf(path))
    const attempts = new Map<string, number>()
    return {
      onDurable: (log, { event }, before) => {
        const { limits } = plan
        if (event.type === 'agent.spawned') {
          if (event.depth > limits.depth)
            broken(`${event.agentId} is at depth ${event.depth} of ${limits.depth}`)
          const children = inSessionOf(log).filter(({ state }) => state.birth?.parent !== undefined).length
          if (children > limits.spawns) broken(`${children} children were started, of ${limits.spawns}`)
          const alive = inSessionOf(log).filter(
            (each) => each.state.run?.status === 'active' && !hasLeft(each),
          )
          const live = alive.length + 1
          if (live > limits.liveAgents) broken(`${live} agents are alive, of ${limits.liveAgents}`)
        }
        if (event.type === 'run.started') {
          const { birth } = log.state
          const definition = definitionOf(birth?.plan.agentType)
          const prompts = eventsOf(log, 'run.started').filter(({ origin }) => origin.from === 'user').length
          const prompt = birth?.base === undefined ? plan.prompts[prompts - 1] : plan.branch?.prompt
          const isAsked = event.origin.from === 'user'
          const ofRoot = isAsked ? prompt?.maxTurns : undefined
          const wanted = birth?.parent === undefined ? ofRoot : (definition?.maxTurns ?? limits.childMaxTurns)
          if (event.maxTurns !== wanted)
            broken(`run ${event.run} of ${log.agentId} may take ${event.maxTurns} turns, not ${wanted}`)
        }
        if (event.type === 'reply.received') {
          const { context } = before.run ?? {}
          const turns = (context?.turns ?? 0) + 1
          if (context?.maxTurns !== undefined && turns > context.maxTurns)
            broken(`${log.agentId} takes turn ${turns} of ${context.maxTurns}`)
        }
        if (event.type === 'request.failed' && event.attempts > RETRIES.maxRetries + 1)
          broken(`${event.attempts} attempts were made`)
        if (event.type === 'report.rejected') {
          const since = log.events.findLastIndex((each) => each.event.type === 'run.started')
          const asked = log.events.slice(since).filter((each) => each.event.type === 'report.rejected').length
          if (asked > DEFAULT_LIMITS.reportNudges)
            broken(`${log.agentId} is asked ${asked} times for a report`)
        }
        if (event.type === 'agent.ended') {
          const last = eventsOf(log, 'reply.received').at(-1)
          const { context } = before.run ?? {}
          const isCutShort =
            event.status === 'completed' &&
            last !== undefined &&
            last.calls.length > 0 &&
            last.reply.stop_reason === 'tool_use' &&
            !hasAgreed(log)
          if (isCutShort && event.outcome.kind !== 'limit')
            broken(
              `${log.agentId} ended after turn ${context?.turns} without saying that a limit was reached`,
            )
        }
      },
      onRequest: ({ life, agent, turn, isSummary }) => {
        const log = logOfRequest(disk.logs, agent)
        // A reply that says nothing is no attempt that failed: behind it the same turn is asked for anew.
        const replies = eventsOf(log, 'reply.received').length
        const of = `${isSummary ? 'summary of ' : ''}${agent}.${turn} in run ${log?.state.run?.context.run}`
        const key = `${life.number}/${of} behind ${replies} replies`
        const made = (attempts.get(key) ?? 0) + 1
        attempts.set(key, made)
        // One that gives no summary is made once more; and who begins with this conversation asks in the same words.
        const asking = log !== undefined && isSummary ? 2 * heirsOf(disk.logs, log).length : 1
        if (made > (RETRIES.maxRetries + 1) * asking) broken(`request ${key} is tried ${made} times`)
      },
      onBody: ({ agentId, life }) => {
        const running = tools.bodies.filter(
          (body) => body.agentId === agentId && body.life === life && !body.hasEnded,
        )
        if (running.length > MAX_CONCURRENT_CALLS)
          broken(`${running.length} bodies of ${agentId} run at once`)
      },
    }
  },
}
