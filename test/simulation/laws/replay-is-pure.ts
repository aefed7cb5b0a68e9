import { isDeepStrictEqual } from 'node:util'
import type { Agent } from '../../../src/engine/agent.ts'
import type { RunSnapshot } from '../../../src/machines/agent/fold.ts'
import type { Law } from './law.ts'

/** Law 2. */
export const REPLAY_IS_PURE: Law = {
  number: 2,
  name: 'replay is pure',
  text: 'Folding a log gives a state deep-equal to the live one at every prefix.',
  watch: ({ disk }, broken) => {
    const compare = (agent: Agent, when: string, seq?: number): void => {
      const log = disk.logs.of(agent.id)
      const folded = seq === undefined ? log?.state : log?.stateAt(seq)
      // A log that is behind is the business of law 1.
      if (folded === undefined) return
      if (!isDeepStrictEqual(seenOf(agent.run?.snapshot), seenOf(folded.run)))
        broken(
          `${agent.id} is not what its log says ${when}: live ${JSON.stringify(seenOf(agent.run?.snapshot))}, ` +
            `folded ${JSON.stringify(seenOf(folded.run))}`,
        )
    }
    return {
      onApplied: (agent, { seq }) => compare(agent, `after line ${seq}`, seq),
      onRestored: (agent) => compare(agent, 'when it is brought back'),
      onStep: () => {
        for (const { path, trouble } of disk.logs.all)
          if (trouble.length > 0) broken(`${path} cannot be folded: ${trouble.join('; ')}`)
      },
    }
  },
}

/** What a run is, apart from the running effects themselves: those that it wants, by name. */
function seenOf(run: RunSnapshot | undefined): unknown {
  if (run === undefined) return undefined
  const { value, status, context, children } = run
  return { value, status, context, effects: status === 'active' ? Object.keys(children).sort() : [] }
}
