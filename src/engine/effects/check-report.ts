/** Looks at the report of a run before it may complete: is there one, and does it have the form that was asked for? */
import { checkReport as checkAgainst } from '../../definitions/report-schema.ts'
import { hasReport, mayBeCorrected } from '../../machines/agent/context.ts'
import type { EffectInput } from '../../machines/agent/effects.ts'
import type { Agent } from '../agent.ts'
import type { EngineCore } from '../core.ts'
import type { Effect } from '../effect-logic.ts'
import { reportSchemaOf } from '../render.ts'
import { withoutSaid } from './without-said.ts'

export function checkReport(_core: EngineCore): Effect<EffectInput> {
  return async ({ agent }) => {
    const context = agent.run?.snapshot.context
    const problem = problemOf(agent, context === undefined || !hasReport(context))
    if (problem === undefined) return [{ type: 'report.accepted' }]
    if (context === undefined || !mayBeCorrected(context)) return [{ type: 'report.accepted', problem }]
    return withoutSaid(agent, [
      { type: 'message.added', about: 'report', content: problem, origin: { from: 'engine' } },
      { type: 'report.rejected', problem },
    ])
  }
}

function problemOf(agent: Agent, isMissing: boolean): string | undefined {
  if (isMissing) return NO_REPORT
  const schema = reportSchemaOf(agent)
  if (schema === undefined) return undefined
  const check = checkAgainst(agent.digest.reportText, schema)
  return check.ok ? undefined : check.message
}

const NO_REPORT =
  'You ended without a word. Nobody sees your steps: write your report now, as the text of your next message. Say what you found or did, where, and what is open; if there is nothing to tell, say that and why.'
