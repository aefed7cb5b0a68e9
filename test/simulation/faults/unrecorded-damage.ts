import { Agent } from '../../../src/engine/agent.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const UNRECORDED_DAMAGE: Fault = {
  name: 'unrecorded-damage',
  law: 11,
  text: 'Damage is accepted, and the log does not say so.',
  within: 20,
  scenario: 'damage',
  breakIt: () =>
    replaceMethod(Agent.prototype, 'amend', (amend) => {
      return function (this: Agent, state, drafts) {
        const without = drafts.map((draft) => {
          if (draft.type !== 'run.resumed') return draft
          const { acceptedDamage: _, ...rest } = draft
          return rest
        })
        return amend.call(this, state, without)
      }
    }),
}
