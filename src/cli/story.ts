/** What happened in a session, told to a person: one event, a few lines at most. Pure but for what it remembers. */
import type { AgentEvent, AgentEventOf } from '../machines/agent/events.ts'
import { isText, isToolUse, type ResultContent } from '../machines/agent/messages.ts'
import type { Colours } from './colours.ts'
import { describeBudget } from './describe-budget.ts'
import { describeCall } from './describe-call.ts'
import { counted, firstLine, formatCount, formatDuration, oneLine, timeOfDay, tokensOf } from './format.ts'
import type { StoryEntry } from './merge-logs.ts'

export interface StoryOptions {
  readonly colours: Colours
  /** Columns of a line. */
  readonly width: number
  readonly cwd: string
}

/** Columns of an agent's name. */
const MAX_LABEL = 40

interface Agent {
  label: string
  /** Name and time of the calls without a result, by call id. */
  readonly calls: Map<string, { readonly name: string; at: number }>
}

/** Tells one entry after the other; each call returns whole lines without their line feeds. */
export function createStory({ colours, width, cwd }: StoryOptions): (entry: StoryEntry) => string[] {
  const agents = new Map<string, Agent>()

  return ({ path, depth, entry }) => {
    const agent = agents.get(path) ?? { label: depth === 0 ? 'main' : '?', calls: new Map() }
    agents.set(path, agent)
    if (entry.kind !== 'event') {
      // Another program's lines are part of neither the story nor the order.
      if (entry.kind === 'foreign') return []
      return [
        colours.yellow(oneLine(`! ${entry.kind} at byte ${entry.offset} of ${path}: ${entry.detail}`, width)),
      ]
    }
    const { event, at } = entry.recorded
    const told = tell(event, at, agent, cwd)
    const lead = `${timeOfDay(at)}  ${'  '.repeat(depth)}${agent.label}  `
    return told.map(({ text, tone }) => {
      const line = oneLine(text, Math.max(20, width - lead.length))
      return `${colours.dim(timeOfDay(at))}  ${'  '.repeat(depth)}${colours.bold(agent.label)}  ${paint(line, tone, colours)}`
    })
  }
}

type Tone = 'plain' | 'quiet' | 'good' | 'bad' | 'call'
interface Told {
  readonly text: string
  readonly tone: Tone
}

const line = (text: string, tone: Tone = 'plain'): Told[] => [{ text, tone }]

function tell(event: AgentEvent, at: number, agent: Agent, cwd: string): Told[] {
  switch (event.type) {
    case 'agent.spawned':
      agent.label =
        event.parent === undefined
          ? 'main'
          : oneLine(`${event.plan.agentType} ${event.agentId.slice(0, 5)}`, MAX_LABEL)
      return line(
        `+ ${event.plan.description === '' ? event.plan.agentType : event.plan.description} (model ${event.plan.model.value}, mode ${event.plan.mode.value})`,
        'quiet',
      )
    case 'run.started': {
      const run = event.run === 1 ? '' : `run ${event.run}: `
      return line(`« ${run}${excerpt(event.content)}`)
    }
    case 'reply.received':
      for (const { callId, name } of event.calls) agent.calls.set(callId, { name, at })
      return event.reply.content.flatMap((block) => {
        if (isText(block)) return block.text.trim() === '' ? [] : line(`» ${excerpt(block.text)}`)
        return isToolUse(block) ? line(`→ ${describeCall(block.name, block.input, cwd)}`, 'call') : []
      })
    case 'call.started': {
      const call = agent.calls.get(event.callId)
      if (call !== undefined) call.at = at
      return []
    }
    case 'call.ended': {
      const call = agent.calls.get(event.callId)
      agent.calls.delete(event.callId)
      const took = call === undefined ? '' : ` ${formatDuration(at - call.at)}`
      const name = call?.name ?? event.callId
      const result = event.result.content === undefined ? '' : `: ${excerpt(event.result.content)}`
      return [
        ...line(`← ${name} ${event.outcome}${took}${result}`, event.outcome === 'ok' ? 'quiet' : 'bad'),
        ...(event.answers?.approve === true ? line('■ has agreed to stop') : []),
      ]
    }
    case 'request.failed':
      return line(`✖ no reply after ${counted(event.attempts, 'attempt')}: ${event.fault.message}`, 'bad')
    case 'budget.refused':
      return line(`✖ no request: ${describeBudget(event)}`, 'bad')
    case 'budget.warned':
      return line(`! nearly spent: ${describeBudget(event)}`, 'quiet')
    case 'progress.summarised':
      return event.text === '' ? [] : line(`· is at: ${excerpt(event.text)}`, 'quiet')
    case 'model.changed':
      return line(`! ${event.to} answers in place of ${event.from}: ${event.why.message}`, 'bad')
    case 'context.exceeded':
      return []
    case 'results.cut':
      return line(`· ${counted(event.results.length, 'old result')} cut to make room`, 'quiet')
    case 'conversation.compacted':
      return line(`· the conversation is summed up: ${excerpt(event.summary)}`, 'quiet')
    case 'compaction.failed':
      return line(`✖ the conversation could not be summed up: ${event.fault.message}`, 'bad')
    case 'time.expired':
      return line(`! its running time of ${formatDuration(event.of)} is used up`, 'quiet')
    case 'agent.faulted':
      return line(`✖ fault: ${event.fault.message}`, 'bad')
    case 'kill.requested':
      return line(
        `■ kill asked for by ${event.by}${event.reason === undefined ? '' : `: ${event.reason}`}`,
        'bad',
      )
    case 'run.suspended':
      return line(`◌ suspended (${event.reason})`, 'bad')
    case 'run.resumed':
      return [
        ...line(`● goes on${survivors(event.survivors ?? 0)}`),
        ...(event.differences ?? []).flatMap((difference) => line(`! ${difference}`, 'bad')),
      ]
    case 'agent.ended':
      return line(`■ ${ending(event)}`, event.outcome.kind === 'completed' ? 'good' : 'bad')
    case 'agent.backgrounded':
      return line(`moved to the background by ${event.by}`, 'quiet')
    case 'report.rejected':
      return line(`↺ asked for a better report: ${event.problem}`, 'quiet')
    case 'report.accepted':
      return event.problem === undefined ? [] : line(`✖ report: ${event.problem}`, 'bad')
    case 'approval.requested':
      return line(`? needs approval: ${event.reason}`, 'quiet')
    case 'approval.answered':
      return line(
        `? ${event.decision === 'allow' ? 'approved' : 'refused'} by ${event.by}`,
        event.decision === 'allow' ? 'good' : 'bad',
      )
    case 'question.asked':
      return line(event.about === 'plan' ? '? shows its plan' : '? asks the person', 'quiet')
    case 'question.answered':
      return line(`? ${answerInWords(event)} by ${event.by}`, 'good')
    case 'mode.changed':
      return line(`? mode ${event.mode} instead of ${event.from}, said by ${event.by}`, 'good')
    case 'permission.granted':
      return line(`? allowed from now on: ${event.rule}`, 'good')
    case 'agent.diagnosed':
      return line(`! ${event.message}`, 'quiet')
    case 'message.added':
      if (event.tells !== undefined || event.injects !== undefined) return line(`« ${excerpt(event.content)}`)
      return line(`· told of ${event.about}`, 'quiet')
    case 'child.launched':
      return line(
        event.takenFrom === undefined
          ? `+ ${event.child.agentId} goes on in the background`
          : `+ the end of ${event.child.agentId} is told here, as ${event.takenFrom} ends first`,
        'quiet',
      )
    case 'name.registered':
      return line(`· ${event.agentId} is called "${event.name}"`, 'quiet')
    case 'message.accepted':
      return line(`· ${messageInWords(event)}`, 'quiet')
    case 'servers.requested':
      return line(`+ MCP ${event.servers.join(', ')}`, 'quiet')
    case 'hook.started':
      return line(`+ ${event.label}`, 'quiet')
    case 'hook.ended':
      return event.outcome.kind === 'failed' ? line(`✖ ${event.outcome.fault.message}`, 'bad') : []
    case 'worktree.created':
      return line(`+ worktree ${event.path}`, 'quiet')
    case 'worktree.decided':
      return line(`· worktree ${event.fate}: ${event.reasons.join('; ')}`, 'quiet')
    case 'review.requested':
      return line('? its work is reviewed', 'quiet')
    case 'review.ended':
      return line(`? review: ${judged(event)}`, event.verdict.kind === 'allow' ? 'good' : 'bad')
    case 'call.classified':
      return line(`? judged: ${judged(event)}`, event.verdict.kind === 'allow' ? 'good' : 'bad')
    case 'stop.blocked':
      return line('↺ a stop hook sent it back to work', 'quiet')
    case 'child.released':
    case 'hook.process_started':
    case 'worktree.requested':
    case 'worktree.removed':
    case 'worktree.left':
    case 'run.drained':
    case 'agent.prepared':
    case 'process.started':
    case 'server.started':
      return []
  }
}

function judged({ verdict }: AgentEventOf<'review.ended' | 'call.classified'>): string {
  const why = verdict.kind === 'unavailable' ? verdict.why : verdict.reason
  return oneLine(`${verdict.kind}${why === undefined ? '' : ` (${why})`}`, 400)
}

function messageInWords({ origin, means }: AgentEventOf<'message.accepted'>): string {
  const from = origin.from === 'agent' ? origin.agentId : origin.from
  switch (means?.kind) {
    case undefined:
      return `has a message of ${from}`
    case 'shutdown_request':
      return `is asked to stop by ${from}`
    case 'shutdown_response':
      return `${from} ${means.approve ? 'agrees to stop' : 'does not agree to stop'}`
    case 'plan_approval_request':
      return `is shown a plan by ${from}`
    case 'plan_approval_response':
      return `has the word on its plan of ${from}: ${means.approve ? 'approved' : 'not approved'}`
  }
}

function answerInWords({ answer }: AgentEventOf<'question.answered'>): string {
  if (answer.kind === 'none') return 'put away'
  if (answer.kind === 'questions') return 'answered'
  return answer['approved'] === true ? 'plan approved' : 'plan not approved'
}

const survivors = (count: number): string =>
  count === 0 ? '' : `, ${count} ${count === 1 ? 'process' : 'processes'} of the dead engine ended`

function ending({ outcome, turns, toolUses, totalUsage, durationMs }: AgentEventOf<'agent.ended'>): string {
  const why =
    outcome.kind === 'failed'
      ? `failed: ${outcome.fault.message}`
      : outcome.kind === 'limit'
        ? `limit of ${outcome.limit} reached`
        : outcome.kind === 'killed'
          ? `killed by ${outcome.by}`
          : outcome.kind
  const tokens = `${formatCount(tokensOf(totalUsage))} tokens`
  return `${why} · ${counted(turns, 'turn')} · ${counted(toolUses, 'tool call')} · ${tokens} · ${formatDuration(durationMs)}`
}

/** The first line that says something, and how many more there are. */
function excerpt(content: ResultContent): string {
  const text =
    typeof content === 'string'
      ? content
      : content.map((block) => (isText(block) ? block.text : `[${block.type}]`)).join('\n')
  const more = text.trim().split('\n').length - 1
  return `${oneLine(firstLine(text), 400)}${more > 0 ? ` (+${counted(more, 'line')})` : ''}`
}

function paint(text: string, tone: Tone, colours: Colours): string {
  switch (tone) {
    case 'plain':
      return text
    case 'quiet':
      return colours.dim(text)
    case 'good':
      return colours.green(text)
    case 'bad':
      return colours.yellow(text)
    case 'call':
      return colours.cyan(text)
  }
}
