/**
 * A live run whose effects do nothing but say when they start and stop.
 */
import type { ActorRefFrom } from 'xstate'
import { createActor, fromCallback } from 'xstate'
import type { CallInput, EffectInput, EffectName } from '../../src/machines/agent/effects.ts'
import type { RunEvent } from '../../src/machines/agent/events.ts'
import type { RunSnapshot } from '../../src/machines/agent/fold.ts'
import { agentMachine } from '../../src/machines/agent/machine.ts'
import { AGENT, RUN } from './run-events.ts'

/** An effect that a run wants: which one, and what it is given. */
export interface Wanted {
  readonly src: string
  readonly input: unknown
}

export interface LiveRun {
  readonly actor: ActorRefFrom<typeof agentMachine>
  /** The effects that were started, oldest first. */
  readonly begun: Wanted[]
  /** Starts and stops, oldest first: `+ name` and `- name`, calls with their id. */
  readonly log: string[]
  /** Names of the effects that were started and not stopped. */
  readonly running: () => string[]
}

/** Starts a run, from its beginning or from a stored snapshot. The caller stops its actor. */
export function live(stored?: ReturnType<typeof agentMachine.getPersistedSnapshot>): LiveRun {
  const begun: Wanted[] = []
  const log: string[] = []
  const note = (src: EffectName, input: EffectInput, call = ''): (() => void) => {
    begun.push({ src, input })
    log.push(`+ ${src}${call}`)
    return () => log.push(`- ${src}${call}`)
  }
  const effect = (src: EffectName) => fromCallback<RunEvent, EffectInput>(({ input }) => note(src, input))
  const runCall = fromCallback<RunEvent, CallInput>(({ input }) => note('runCall', input, ` ${input.callId}`))
  const machine = agentMachine.provide({
    actors: {
      prepare: effect('prepare'),
      requestModel: effect('requestModel'),
      runCall,
      compact: effect('compact'),
      checkReport: effect('checkReport'),
      awaitNews: effect('awaitNews'),
      drain: effect('drain'),
      stopHooks: effect('stopHooks'),
      review: effect('review'),
      // All of them: one that is missing would be started unseen.
    } satisfies Record<EffectName, unknown>,
  })
  const actor = createActor(machine, {
    input: { agentId: AGENT, run: RUN },
    ...(stored !== undefined && { snapshot: stored }),
  })
  actor.start()
  return { actor, begun, log, running: () => unstopped(log) }
}

function unstopped(log: readonly string[]): string[] {
  const names: string[] = []
  for (const line of log) {
    const name = line.slice(2)
    if (line.startsWith('+')) names.push(name)
    else names.splice(names.indexOf(name), 1)
  }
  return names
}

/** The effects that a snapshot holds, by id. */
export function wantedBy(run: RunSnapshot): Readonly<Record<string, Wanted>> {
  return Object.fromEntries(
    Object.entries(run.children).map(([id, child]) => {
      if (child === undefined) throw new Error(`the run has no effect ${id}`)
      return [id, { src: String(child.src), input: child.getSnapshot().input }]
    }),
  )
}
