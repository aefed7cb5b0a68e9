import { AgentSnapshots } from '../../../src/engine/agent-snapshots.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const STALE_SNAPSHOT: Fault = {
  name: 'stale-snapshot',
  law: 2,
  text: 'A snapshot holds the run of an earlier moment than the byte that it says it is of.',
  within: 20,
  scenario: 'snapshots',
  breakIt: () => {
    const runs = new WeakMap<AgentSnapshots, unknown>()
    return replaceMethod(AgentSnapshots.prototype, 'write', (write) => {
      return function (this: AgentSnapshots, snapshot) {
        const { run } = snapshot
        write.call(this, { ...snapshot, run: runs.get(this) ?? run })
        runs.set(this, run)
      }
    })
  },
}
