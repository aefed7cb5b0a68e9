import type { Scenario } from '../scenario.ts'
import { scenario as twoRuns } from './two-runs.ts'

export const scenario: Scenario = {
  ...twoRuns,
  name: 'snapshots',
  about: 'As two runs, with a snapshot behind each event: every resume opens from one.',
  options: { snapshotEvery: 1 },
}
