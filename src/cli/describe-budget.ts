/** How a budget stands, for a person. */
import type { AgentEventOf } from '../machines/agent/events.ts'
import { formatCount, formatDuration } from './format.ts'

/** What was used of what, in the unit of the budget. */
export function describeBudget({
  limit,
  used,
  of,
  owner,
}: Pick<AgentEventOf<'budget.warned'>, 'limit' | 'used' | 'of' | 'owner'>): string {
  const whose = owner === undefined ? '' : ` of ${owner}`
  switch (limit) {
    case 'tokens':
      return `${formatCount(used)} of ${formatCount(of)} tokens${whose}`
    case 'money':
      return `$${used.toFixed(2)} of $${of.toFixed(2)}${whose}`
    case 'time':
      return `${formatDuration(used)} of ${formatDuration(of)} of running time${whose}`
  }
}
