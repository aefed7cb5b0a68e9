/**
 * The agents of a session as a person follows them: a view that grows with each event of the engine. It decides
 * nothing and can be thrown away; the logs are the truth.
 */
import type { EngineEvent } from '../engine/api.ts'
import type { AgentEvent, EndStatus } from '../machines/agent/events.ts'
import { isToolUse } from '../machines/agent/messages.ts'
import { describeBudget } from './describe-budget.ts'
import { describeCall } from './describe-call.ts'
import { firstLine, oneLine, tokensOf } from './format.ts'

export interface AgentNode {
  readonly agentId: string
  readonly agentType: string
  readonly description: string
  readonly parentId: string | undefined
  readonly depth: number
  readonly status: 'running' | 'suspended' | EndStatus
  /** Nobody waits for its run. */
  readonly isInBackground: boolean
  readonly turns: number
  readonly toolUses: number
  /** All tokens of its own requests. */
  readonly tokens: number
  readonly lastActivity: string
  /** When the oldest of the processes that its open calls have started began; undefined: there are none. */
  readonly commandSince: number | undefined
  /** Milliseconds since the epoch: begin and end of its last run. */
  readonly startedAt: number
  readonly endedAt: number | undefined
}

export interface AgentTree {
  /** Takes an event. Returns what it is to a reader in words, or undefined when it is not worth a line. */
  event(event: EngineEvent): AgentStep | undefined
  readonly size: number
  get(agentId: string): AgentNode | undefined
  /** Depth first, children in the order of their birth. */
  nodes(): readonly AgentNode[]
}

/** One step of an agent, in words. */
interface AgentStep {
  readonly node: AgentNode
  readonly at: number
  readonly text: string
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }
type Node = Mutable<AgentNode>

/** An empty tree. Paths below `cwd` are shown relative to it. */
export function createAgentTree(cwd: string): AgentTree {
  const nodes = new Map<string, Node>()
  const children = new Map<string, string[]>()
  /** Since when processes of open calls run, by agent and call. */
  const commands = new Map<string, Map<string, number>>()

  const noteCommand = (node: Node, callId: string | undefined, at?: number): void => {
    const own = commands.get(node.agentId) ?? new Map<string, number>()
    if (callId === undefined) own.clear()
    else if (at === undefined) own.delete(callId)
    else own.set(callId, Math.min(at, own.get(callId) ?? at))
    if (own.size === 0) commands.delete(node.agentId)
    else commands.set(node.agentId, own)
    node.commandSince = own.size === 0 ? undefined : Math.min(...own.values())
  }

  const add = (agentId: string, at: number, birth?: Extract<AgentEvent, { type: 'agent.spawned' }>): Node => {
    const node: Node = {
      agentId,
      agentType: birth?.plan.agentType ?? 'agent',
      description: birth?.plan.description ?? '',
      parentId: birth?.parent?.agentId,
      depth: birth?.depth ?? 0,
      status: 'running',
      isInBackground: false,
      turns: 0,
      toolUses: 0,
      tokens: 0,
      lastActivity: 'starting',
      commandSince: undefined,
      startedAt: at,
      endedAt: undefined,
    }
    nodes.set(agentId, node)
    const siblings = children.get(node.parentId ?? '')
    if (siblings === undefined) children.set(node.parentId ?? '', [agentId])
    else siblings.push(agentId)
    return node
  }

  const forgetDescendants = (root: Node): void => {
    nodes.clear()
    children.clear()
    nodes.set(root.agentId, root)
    children.set('', [root.agentId])
  }

  const factText = (node: Node, event: AgentEvent, at: number): string | undefined => {
    switch (event.type) {
      case 'run.started':
        noteCommand(node, undefined)
        // The view is of one run of the root: what earlier ones did is in their logs.
        if (node.parentId === undefined) forgetDescendants(node)
        Object.assign(node, {
          status: 'running',
          isInBackground: event.background === true,
          startedAt: at,
          endedAt: undefined,
          lastActivity: 'starting',
        })
        Object.assign(node, { turns: 0, toolUses: 0, tokens: 0 })
        return `starts: ${oneLine(typeof event.content === 'string' ? event.content : node.description, 80)}`
      case 'reply.received': {
        node.turns += 1
        node.toolUses += event.calls.length
        node.tokens += tokensOf(event.reply.usage)
        const calls = event.reply.content
          .filter(isToolUse)
          .map((block) => describeCall(block.name, block.input, cwd))
        node.lastActivity = calls.length === 0 ? 'answered' : someOf(calls, 1)
        return calls.length === 0 ? undefined : someOf(calls)
      }
      case 'call.ended':
        noteCommand(node, event.callId)
        return event.outcome === 'ok'
          ? undefined
          : `call ${event.outcome}: ${resultLine(event.result.content)}`
      case 'agent.backgrounded':
        node.isInBackground = true
        return 'goes on in the background'
      case 'review.requested':
        node.lastActivity = 'its work is reviewed'
        return undefined
      case 'review.ended':
      case 'call.classified': {
        if (event.usage !== undefined) node.tokens += tokensOf(event.usage)
        if (event.verdict.kind === 'allow') return undefined
        const what = event.type === 'review.ended' ? 'review of its work' : 'judgement on a call'
        const why = event.verdict.kind === 'unavailable' ? event.verdict.why : event.verdict.reason
        return `${what}: ${event.verdict.kind} (${oneLine(why, 160)})`
      }
      case 'request.failed':
        return `no reply after ${event.attempts} attempts: ${oneLine(event.fault.message, 160)}`
      case 'model.changed':
        return `${event.to} answers in place of ${event.from}`
      case 'context.exceeded':
        node.lastActivity = 'sums its conversation up'
        return node.lastActivity
      case 'conversation.compacted':
      case 'compaction.failed':
        for (const usage of Object.values(event.modelUsage ?? {})) node.tokens += tokensOf(usage)
        return undefined
      case 'progress.summarised':
        for (const usage of Object.values(event.modelUsage)) node.tokens += tokensOf(usage)
        if (event.text === '') return undefined
        node.lastActivity = event.text
        return event.text
      case 'budget.warned':
        return `nearly spent: ${describeBudget(event)}`
      case 'budget.refused':
        return `makes no request: ${describeBudget(event)}`
      case 'agent.faulted':
        return `fault: ${oneLine(event.fault.message, 160)}`
      case 'kill.requested':
        return `is being killed by ${event.by}`
      case 'run.suspended':
        node.status = 'suspended'
        return `suspended (${event.reason})`
      case 'run.resumed':
        node.status = 'running'
        node.lastActivity = 'resumed'
        return 'goes on'
      case 'agent.ended':
        node.status = event.status
        node.endedAt = at
        node.lastActivity =
          event.outcome.kind === 'limit' ? `limit of ${event.outcome.limit} reached` : event.outcome.kind
        return node.lastActivity
      case 'agent.spawned':
      case 'agent.prepared':
      case 'call.started':
        return undefined
      case 'process.started':
        noteCommand(node, event.callId, at)
        return undefined
    }
  }

  return {
    event(event) {
      if (event.kind === 'delta') {
        const node = nodes.get(event.agentId)
        if (node === undefined) return undefined
        const before = node.lastActivity
        if (event.delta.type === 'text') node.lastActivity = 'writing'
        else if (event.delta.type === 'thinking') node.lastActivity = 'thinking'
        else if (event.delta.type === 'restarted') {
          node.lastActivity = `waits for the model (attempt ${event.delta.attempt}: ${oneLine(event.delta.reason, 60)})`
          return before === node.lastActivity ? undefined : { node, at: Number.NaN, text: node.lastActivity }
        }
        return undefined
      }
      if (event.kind !== 'fact') return undefined
      const known = nodes.get(event.agentId)
      const node =
        known ?? add(event.agentId, event.at, event.event.type === 'agent.spawned' ? event.event : undefined)
      const text = factText(node, event.event, event.at)
      return text === undefined ? undefined : { node, at: event.at, text }
    },
    get size() {
      return nodes.size
    },
    get: (agentId) => nodes.get(agentId),
    nodes() {
      const ordered: Node[] = []
      const visit = (agentId: string): void => {
        const node = nodes.get(agentId)
        if (node !== undefined) ordered.push(node)
        for (const child of children.get(agentId) ?? []) visit(child)
      }
      // A child whose parent is not here (a partial view after a resume) stands beside the root.
      for (const [parentId, agents] of children) {
        if (parentId === '' || !nodes.has(parentId)) for (const agent of agents) visit(agent)
      }
      return ordered
    },
  }
}

function someOf(calls: readonly string[], shown = 3): string {
  const more = calls.length - shown
  return `${calls.slice(0, shown).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

function resultLine(content: unknown): string {
  if (typeof content === 'string') return oneLine(firstLine(content), 120)
  if (!Array.isArray(content)) return ''
  const texts = content.map((block: { text?: unknown }) => (typeof block.text === 'string' ? block.text : ''))
  return oneLine(firstLine(texts.join('\n')), 120)
}
