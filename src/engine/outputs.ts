/** What the output file of an agent in the background is told of its log. */

import { printable } from '../definitions/context/text.ts'
import { agentResultContent } from '../definitions/report.ts'
import type { AgentEvent, Recorded } from '../machines/agent/events.ts'
import type { Agent } from './agent.ts'
import type { EngineCore } from './core.ts'
import type { TaskEnd } from './ends.ts'

const MAX_LINE = 200

/** Writes what has happened to an agent into its file, if it is one for others to follow. */
export function writeProgress({ outputFiles }: EngineCore, agent: Agent, { at, event }: Recorded): void {
  if (outputFiles === undefined || !agent.isInBackground || agent.parent === undefined) return
  const text = progressOf(agent, event)
  if (text === undefined) return
  const line = printable(text).slice(0, MAX_LINE)
  outputFiles.progress(agent.id, `${new Date(at).toISOString()}  ${line}`)
}

function progressOf(agent: Agent, event: AgentEvent): string | undefined {
  switch (event.type) {
    case 'run.started':
    case 'agent.backgrounded': {
      const { agentType, description } = agent.birth.plan
      return `${agentType}: ${description} (run ${agent.runNumber}, in the background)`
    }
    case 'reply.received':
      return event.calls.length === 0 ? undefined : `→ ${event.calls.map(({ name }) => name).join(', ')}`
    case 'request.failed':
      return `no reply: ${event.fault.message}`
    case 'agent.ended':
      return `ended: ${event.status}`
    default:
      return undefined
  }
}

/** Writes the report of a run, once. */
export function writeReport({ outputFiles, limits }: EngineCore, { task, end }: TaskEnd): void {
  const { run, status } = end.ended
  const text = agentResultContent({ ...task, isOneShot: true }, limits.agentResultChars)
    .map((block) => block.text)
    .join('\n\n')
  outputFiles?.report(task.agentId, `──── report of run ${run} (${status}) ────`, text)
}
