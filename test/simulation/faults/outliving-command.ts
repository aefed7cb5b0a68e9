import { AgentEquipment } from '../../../src/engine/agent-equipment.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const OUTLIVING_COMMAND: Fault = {
  name: 'outliving-command',
  law: 9,
  text: 'A command that was moved to the background goes on behind the end of its agent.',
  within: 40,
  scenario: 'moves',
  breakIt: () => replaceMethod(AgentEquipment.prototype, 'close', () => () => Promise.resolve()),
}
