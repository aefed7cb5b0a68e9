import { AgentSnapshots } from '../../../src/engine/agent-snapshots.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const SILENT_DAMAGE: Fault = {
  name: 'silent-damage',
  law: 11,
  text: 'A resume goes on over lost lines although nobody has accepted that.',
  within: 20,
  scenario: 'damage',
  breakIt: () =>
    replaceMethod(AgentSnapshots.prototype, 'read', (read) => {
      return function (this: AgentSnapshots) {
        return read.call(this, true)
      }
    }),
}
