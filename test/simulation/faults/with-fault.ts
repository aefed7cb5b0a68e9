import type { Scene } from '../laws/law.ts'
import type { Plan } from '../plan.ts'
import { observe } from '../probes.ts'
import type { SessionOptions, SessionOutcome } from '../session.ts'
import { simulate } from '../session.ts'
import type { Fault } from './fault.ts'

/** One session with a defect in it. */
export async function withFault(
  fault: Fault,
  plan: Plan,
  options: SessionOptions = {},
): Promise<SessionOutcome> {
  let scene: Scene | undefined
  // The probes are below the fault: they see what the broken engine really does.
  observe(undefined)
  const mend = fault.breakIt?.(() => {
    if (scene === undefined) throw new Error('the scene is not set yet')
    return scene
  })
  try {
    return await simulate(plan, {
      ...options,
      onScene: (set) => {
        scene = set
        fault.breakOnScene?.(set)
      },
    })
  } finally {
    mend?.()
  }
}
