/**
 * A log as the steps of its story: what two logs are compared by.
 *
 * Steps stand in the order of the story, not of the file: the results of a reply in the order of its calls, whichever
 * came first, then what else happened in the turn. That a process stopped and another went on is no part of it.
 */
import type { AgentEventOf, CallRequest, Recorded, SpawnPlan } from '../../machines/agent/events.ts'
import { isText, isToolUse } from '../../machines/agent/messages.ts'
import type { AgentId, CallId } from '../../machines/ids.ts'
import { meaningOfContent, sorted } from './meaning.ts'

export type StepKind = 'agent' | 'prompt' | 'reply' | 'child' | 'result' | 'fault' | 'kill' | 'moved' | 'end'

/** One step. */
export interface StoryStep {
  readonly kind: StepKind
  /** Position of its (first) line in the log. */
  readonly seq: number
  /** For people: one line, however long. */
  readonly text: string
  /** Equal for two steps that mean the same. */
  readonly meaning: string
  /** Of a `child` step: who it is. */
  readonly child?: AgentId
}

type TurnEvent = AgentEventOf<
  'request.failed' | 'agent.faulted' | 'kill.requested' | 'agent.backgrounded' | 'agent.ended'
>

/** The steps of one agent's events. */
export function stepsOf(events: readonly Recorded[]): readonly StoryStep[] {
  const steps: StoryStep[] = []
  let calls: readonly CallRequest[] = []
  const children = new Map<CallId, StoryStep>()
  const results = new Map<CallId, StoryStep>()
  const others: StoryStep[] = []

  const closeTurn = (): void => {
    for (const { callId } of calls) {
      for (const step of [children.get(callId), results.get(callId)]) if (step !== undefined) steps.push(step)
    }
    steps.push(...others)
    calls = []
    others.length = 0
    children.clear()
    results.clear()
  }

  for (const { seq, event } of events) {
    switch (event.type) {
      case 'agent.spawned':
        steps.push(step('agent', seq, describePlan(event.plan), planMeaning(event.plan)))
        break
      case 'run.started':
        closeTurn()
        steps.push(promptStep(seq, event))
        break
      case 'reply.received':
        closeTurn()
        calls = event.calls
        steps.push(replyStep(seq, event))
        break
      case 'call.started':
        if (event.child !== undefined) {
          const { agentId, plan } = event.child
          const child = step('child', seq, describePlan(plan), planMeaning(plan))
          children.set(event.callId, { ...child, child: agentId })
        }
        break
      case 'call.ended':
        results.set(event.callId, resultStep(seq, event, calls))
        break
      case 'request.failed':
      case 'agent.faulted':
      case 'kill.requested':
      case 'agent.backgrounded':
      case 'agent.ended':
        others.push(turnStep(seq, event))
        break
      default:
    }
  }
  closeTurn()
  return steps
}

const step = (kind: StepKind, seq: number, text: string, meaning: unknown): StoryStep => ({
  kind,
  seq,
  text,
  meaning: `${kind} ${JSON.stringify(sorted(meaning))}`,
})

/** The model and the rule that chose it may differ where the story does not; a branch says so with a step of its own. */
const planMeaning = ({ agentType, description, model }: SpawnPlan): unknown => ({
  agentType,
  description,
  model: model.value,
})

const describePlan = ({ agentType, description, model }: SpawnPlan): string =>
  `${agentType}: ${description} (${model.value})`

const promptStep = (seq: number, { content, origin }: AgentEventOf<'run.started'>): StoryStep =>
  step('prompt', seq, textIn(content), { content: meaningOfContent(content), from: origin.from })

function replyStep(seq: number, { reply }: AgentEventOf<'reply.received'>): StoryStep {
  const parts = reply.content.map((block) => {
    if (isToolUse(block)) return `→ ${block.name} ${JSON.stringify(block.input)}`
    return isText(block) ? block.text : `(${block.type})`
  })
  const text = parts.filter((part) => part.trim() !== '').join(' ')
  const meaning = { content: meaningOfContent(reply.content), stop: reply.stop_reason }
  return step('reply', seq, text === '' ? '(nothing)' : text, meaning)
}

function resultStep(
  seq: number,
  { callId, outcome, result }: AgentEventOf<'call.ended'>,
  calls: readonly CallRequest[],
): StoryStep {
  const name = calls.find((call) => call.callId === callId)?.name ?? callId
  const said = outcome === 'ok' ? '' : `${outcome}: `
  return step('result', seq, `${name} ← ${said}${textIn(result.content ?? '')}`, {
    outcome,
    content: meaningOfContent(result.content),
    isError: result.is_error === true,
  })
}

function turnStep(seq: number, event: TurnEvent): StoryStep {
  switch (event.type) {
    case 'request.failed':
    case 'agent.faulted':
      return step('fault', seq, `${event.type}: ${event.fault.message}`, {
        type: event.type,
        code: event.fault.code,
        message: event.fault.message,
      })
    case 'kill.requested':
      return step('kill', seq, `killed by ${event.by}`, { by: event.by, reason: event.reason })
    case 'agent.backgrounded':
      return step('moved', seq, `moved to the background by ${event.by}`, { by: event.by })
    case 'agent.ended': {
      const { run, status, outcome, turns, toolUses, denials } = event
      const text = `${outcome.kind} after ${turns} turn${turns === 1 ? '' : 's'}`
      return step('end', seq, text, { run, status, outcome, turns, toolUses, denials })
    }
  }
}

function textIn(content: AgentEventOf<'run.started'>['content']): string {
  if (typeof content === 'string') return content
  return content.map((block) => (isText(block) ? block.text : `(${block.type})`)).join(' ')
}
