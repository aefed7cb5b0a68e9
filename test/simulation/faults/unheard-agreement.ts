import { RunActor } from '../../../src/engine/run-actor.ts'
import type { RunEvent } from '../../../src/machines/agent/events.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const UNHEARD_AGREEMENT: Fault = {
  name: 'unheard-agreement',
  law: 4,
  text: 'An agent that has agreed to stop goes on: its machine does not hear of it.',
  within: 20,
  scenario: 'requests',
  breakIt: () => {
    const unheard = new WeakMap<RunEvent, RunEvent>()
    // What was staged is what is applied: the same object.
    const heard = (event: RunEvent): RunEvent => {
      if (event.type !== 'call.ended' || event.answers === undefined) return event
      const { answers: _, ...rest } = event
      const known = unheard.get(event) ?? rest
      unheard.set(event, known)
      return known
    }
    const mends = (['stage', 'apply'] as const).map((key) =>
      replaceMethod(RunActor.prototype, key, (method) => {
        return function (this: RunActor, event) {
          return method.call(this, heard(event))
        }
      }),
    )
    return () => {
      for (const mend of mends) mend()
    }
  },
}
