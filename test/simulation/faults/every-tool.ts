import { Agent } from '../../../src/engine/agent.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const EVERY_TOOL: Fault = {
  name: 'every-tool',
  law: 6,
  text: 'A child may call every tool there is, whatever its definition and its mode say.',
  within: 600,
  breakIt: () => {
    const birth = Object.getOwnPropertyDescriptor(Agent.prototype, 'birth')
    const undo = replaceMethod(Agent.prototype, 'mayUse', () => () => true)
    Object.defineProperty(Agent.prototype, 'birth', {
      ...birth,
      get(this: Agent) {
        const known: Agent['birth'] = birth?.get?.call(this)
        const mode = { ...known.plan.mode, value: 'bypassPermissions' as const }
        return this.parent === undefined ? known : { ...known, plan: { ...known.plan, mode } }
      },
    })
    return () => {
      undo()
      if (birth !== undefined) Object.defineProperty(Agent.prototype, 'birth', birth)
    }
  },
}
