/**
 * «Always»: rules that a person grants while agents work, and for whom they hold.
 *
 *   G1  All rules that one answer grants are granted together, in one write.
 *   G2  Granted at a call in the foreground they are the session's: the root's log has them, every agent has them at
 *       once. Granted for an agent in the background they are in that agent's log and hold for it alone, not even for its
 *       children: whoever is asked about it may not have its surroundings in mind.
 *   G3  A grant is an allow rule: what is denied, or asked about by rule, is no less so.
 */
import type { PermissionRule } from '../definitions/permissions/rule.ts'
import { parseRules } from '../definitions/permissions/rule.ts'
import type { AgentEventOf } from '../machines/agent/events.ts'
import type { RunSnapshot } from '../machines/agent/fold.ts'
import type { Agent } from './agent.ts'

/** For whom a grant would hold. */
export type GrantScope = 'session' | 'agent'

/** What of an agent says where it runs. */
interface Placed {
  readonly parent: Placed | undefined
  readonly birth: { readonly plan: { readonly background?: { readonly value: boolean } | undefined } }
  readonly run: { readonly snapshot: Pick<RunSnapshot, 'value'> } | undefined
}

/** For whom «always» would hold, said to a call of this agent. */
export function grantScopeOf(agent: Placed): GrantScope {
  for (let each: Placed | undefined = agent; each !== undefined; each = each.parent) {
    if (isInBackground(each)) return 'agent'
  }
  return 'session'
}

function isInBackground(agent: Placed): boolean {
  const value = agent.run?.snapshot.value
  const isMoved =
    typeof value === 'object' && 'running' in value && value.running.placement === 'backgrounded'
  return isMoved || agent.birth.plan.background?.value === true
}

/** The events of a grant, for the log of whoever has it. */
const grants = (rules: readonly string[], by: string): readonly AgentEventOf<'permission.granted'>[] =>
  rules.map((rule) => ({ type: 'permission.granted', rule, by }))

/** Grants rules, as an answer to a call of this agent. */
export async function grant(agent: Agent, rules: readonly string[], by: string): Promise<void> {
  if (rules.length === 0) return
  const holder = grantScopeOf(agent) === 'session' ? agent.session.root : agent
  await holder.post(...grants(rules, by))
}

interface Granted {
  readonly count: number
  readonly session: readonly PermissionRule[]
  readonly rules: readonly PermissionRule[]
}

const ofAgents = new WeakMap<Agent, Granted>()

/**
 * Rules that allow calls of this agent: those of its session, and those that hold for it alone. The same list until one
 * is granted, so that what is made ready for a list is made once.
 */
export function allowRulesOf(agent: Agent): readonly PermissionRule[] {
  const session = agent.session.allowRules
  const own = agent === agent.session.root ? [] : agent.digest.grants
  if (own.length === 0) return session
  const known = ofAgents.get(agent)
  if (known?.session === session && known.count === own.length) return known.rules
  const { rules } = parseRules(
    own.map(({ rule }) => rule),
    { kind: 'allow', source: 'granted to this agent' },
  )
  const all = [...session, ...rules]
  ofAgents.set(agent, { count: own.length, session, rules: all })
  return all
}
