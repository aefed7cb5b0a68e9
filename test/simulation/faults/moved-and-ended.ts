import { AgentEquipment } from '../../../src/engine/agent-equipment.ts'
import type { Fault } from './fault.ts'

export const MOVED_AND_ENDED: Fault = {
  name: 'moved-and-ended',
  law: 3,
  text: 'A command that is moved to the background is ended with its call.',
  within: 40,
  scenario: 'moves',
  breakIt: () => {
    const shells = Object.getOwnPropertyDescriptor(AgentEquipment.prototype, 'shells')
    if (shells === undefined) throw new Error('there are no shells to break')
    Object.defineProperty(AgentEquipment.prototype, 'shells', {
      ...shells,
      get(this: AgentEquipment) {
        const table: AgentEquipment['shells'] = shells.get?.call(this)
        const adopt: typeof table.adopt = (id, ...rest) => {
          const left = table.adopt(id, ...rest)
          if (left !== undefined) void table.kill(id)
          return left
        }
        return { ...table, adopt }
      },
    })
    return () => Object.defineProperty(AgentEquipment.prototype, 'shells', shells)
  },
}
