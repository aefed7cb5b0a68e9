import type { AgentEvent, RunKey } from '../../../src/machines/agent/events.ts'
import { textOf } from '../../../src/machines/agent/messages.ts'
import type { ShadowLog } from '../shadow-logs.ts'
import { eventsOf } from '../shadow-logs.ts'
import type { Law } from './law.ts'
import { callIn, descendantsOf, isSameRun, lineOf, owedIn } from './lookups.ts'

type CallEnded = Extract<AgentEvent, { type: 'call.ended' }>

/** Law 7, of what an agent is told when it asks. */
export const TASKS: Law = {
  number: 7,
  name: 'asked is told',
  text: 'What is read of a task is what its log says, and an end that was owed is told by that. What is said to be stopped has ended, and if it was killed by that, with all that it had started. A list has everybody who is at work.',
  watch: ({ disk }, broken) => {
    /** Who was at work when a call was made, and which ends were owed to its agent: by agent and call. */
    const whenMade = new Map<
      string,
      { readonly atWork: ReadonlyMap<string, number>; readonly owed: readonly RunKey[] }
    >()
    let order = 0
    /** When the last run of an agent began, and when the last one ended. */
    const began = new Map<string, number>()
    const ended = new Map<string, number>()

    const atWorkBut = (log: ShadowLog): ReadonlyMap<string, number> =>
      new Map(
        disk.logs.all.flatMap(({ agentId, state: { run } }) =>
          run?.status === 'active' && agentId !== undefined && agentId !== log.agentId
            ? [[agentId, run.context.run] as const]
            : [],
        ),
      )
    const isStillAtWork = (agentId: string, run: number | undefined): boolean => {
      const { run: now } = disk.logs.of(agentId)?.state ?? {}
      return run !== undefined && now?.status === 'active' && now.context.run === run
    }

    const onStopped = (log: ShadowLog, key: string, taskId: string): void => {
      const before = whenMade.get(key)?.atWork ?? new Map<string, number>()
      // It had ended before: nothing was stopped.
      if (!before.has(taskId)) return
      if (isStillAtWork(taskId, before.get(taskId)))
        broken(`${log.agentId} is told that ${taskId} is stopped, and it is at work`)
      // It came to its end by itself first, and has given away what it had started.
      const end = eventsOf(disk.logs.of(taskId), 'agent.ended').at(-1)
      if (end?.outcome.kind !== 'killed') return
      const stoppedAt = ended.get(taskId) ?? 0
      // Somebody may have spoken to one of them since.
      const goesOnAgain = (each: ShadowLog): boolean => {
        const line = lineOf(disk.logs, each.agentId ?? '')
        const top = line.findIndex(({ agentId }) => agentId === taskId)
        return line.slice(0, top + 1).some(({ agentId }) => (began.get(agentId ?? '') ?? 0) > stoppedAt)
      }
      const left = descendantsOf(disk.logs, taskId).filter(
        (each) => each.state.run?.status === 'active' && !goesOnAgain(each),
      )
      if (left.length > 0)
        broken(`${taskId} is said to be stopped, and ${left.map(({ agentId }) => agentId).join()} is at work`)
    }

    const onRead = (log: ShadowLog, key: string, taskId: string, event: CallEnded): void => {
      const { task } = Object(event.toolUseResult)
      const about = disk.logs.of(taskId)
      const ends = eventsOf(about, 'agent.ended')
      const end =
        event.delivered === undefined
          ? ends.find(({ status }) => status === task?.status)
          : ends.find(({ run }) => run === event.delivered?.run)
      if (end === undefined || end.status !== task?.status)
        broken(
          `${log.agentId} reads that ${taskId} is ${task?.status}, and its log says ${end?.status ?? 'nothing of that'}`,
        )
      if (event.delivered !== undefined && event.delivered.agentId !== taskId)
        broken(`${log.agentId} asks for ${taskId} and is told the end of ${event.delivered.agentId}`)
      const said = end === undefined ? '' : lastWordOf(about, end.run)
      if (
        event.delivered !== undefined &&
        end?.outcome.kind === 'completed' &&
        !JSON.stringify(event.result.content).includes(said)
      )
        broken(`${log.agentId} reads a report of ${taskId} that is not its last word`)
      const [owed] = whenMade.get(key)?.owed.filter(({ agentId }) => agentId === taskId) ?? []
      const isClaimed =
        log.state.run?.context.calls.some(
          ({ callId }) => String(callIn(log, callId).input['task_id']) === taskId,
        ) === true
      const isHeldBelow = disk.logs.all.some(
        (each) => each !== log && owedIn(each).some((key) => owed !== undefined && isSameRun(key, owed)),
      )
      if (
        event.delivered === undefined &&
        owed !== undefined &&
        owedIn(log, event).some((key) => isSameRun(key, owed)) &&
        !isClaimed &&
        !isHeldBelow
      )
        broken(
          `${log.agentId} reads the end of ${taskId} run ${owed.run}, which it is owed, and is not told it by that`,
        )
    }

    const onListed = (log: ShadowLog, key: string, event: CallEnded): void => {
      const listed: readonly { readonly taskId: string; readonly status: string }[] =
        Object(event.toolUseResult).agents ?? []
      const { atWork } = whenMade.get(key) ?? {}
      for (const [agentId, run] of atWork ?? [])
        if (isStillAtWork(agentId, run) && !listed.some(({ taskId }) => taskId === agentId))
          broken(`${log.agentId} lists who is at work, without ${agentId}`)
      for (const { taskId } of listed)
        if (disk.logs.of(taskId) === undefined) broken(`${log.agentId} lists ${taskId}, which was never born`)
    }

    return {
      onDurable: (log, { event }) => {
        order += 1
        if (event.type === 'run.started') began.set(log.agentId ?? '', order)
        if (event.type === 'agent.ended') ended.set(log.agentId ?? '', order)
        if (event.type === 'reply.received')
          for (const { callId } of event.calls)
            whenMade.set(`${log.agentId}:${callId}`, { atWork: atWorkBut(log), owed: owedIn(log) })
        if (event.type !== 'call.ended' || event.outcome !== 'ok') return
        const { tool, input } = callIn(log, event.callId)
        const key = `${log.agentId}:${event.callId}`
        const taskId = String(input['task_id'])
        const isThere = Object(event.toolUseResult).retrieval_status === 'success'
        if (tool === 'TaskStop' && isThere) onStopped(log, key, taskId)
        if ((tool === 'TaskOutput' || tool === 'TaskStop') && isThere) onRead(log, key, taskId, event)
        if (tool === 'ListAgents') onListed(log, key, event)
        if (tool === 'AskParent') {
          const [only, ...more] = event.injects ?? []
          const sender = only?.split(':')[0]
          if (sender === undefined || more.length > 0 || sender !== log.state.birth?.parent?.agentId)
            broken(`${log.agentId} asks its parent and is answered by ${sender ?? 'nobody'}`)
        }
      },
    }
  },
}

/** What an agent has said last in a run, as it stands in JSON. */
function lastWordOf(log: ShadowLog | undefined, run: number): string {
  let current = 0
  let said = ''
  for (const { event } of log?.events ?? []) {
    if (event.type === 'run.started') current = event.run
    if (event.type !== 'reply.received' || current !== run) continue
    const text = textOf(event.reply.content)
    if (text.trim() !== '') said = text
  }
  return JSON.stringify(said).slice(1, -1)
}
