import type { Law } from './law.ts'

/** Law 12. */
export const PROVENANCE: Law = {
  number: 12,
  name: 'provenance',
  text: 'Each message in a conversation is marked by the engine as from the user, an agent (which), a hook or the engine.',
  watch: (_, broken) => ({
    onDurable: (log, { event }) => {
      if (event.type !== 'run.started') return
      const { origin, injects = [], tells = [] } = event
      // A run that a message begins is from who has sent it.
      const sender = injects[0]?.split(':')[0]
      if (origin.from === 'agent' && origin.agentId === sender) return
      // What was new for an agent that had nothing to do: the engine tells it.
      if (origin.from === 'engine' && injects.length + tells.length > 0) return
      const parent = log.state.birth?.parent?.agentId
      const isRight =
        parent === undefined ? origin.from === 'user' : origin.from === 'agent' && origin.agentId === parent
      if (!isRight)
        broken(
          `run ${event.run} of ${log.agentId} is marked as from ${JSON.stringify(origin)}, and is from ${parent ?? 'the user'}`,
        )
    },
  }),
}
