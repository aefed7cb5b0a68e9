/** Function hooks of a simulated session: what they say is the seed's, and the world remembers that they ran. */
import type { HookEvent } from '../../src/definitions/hook-declaration.ts'
import type { HookInput } from '../../src/definitions/hooks/hook-input.ts'
import type { AnyHostHook, HookReply } from '../../src/effects/hooks/hook.ts'
import { momentOf } from '../crash-matrix/hooks.ts'
import { chanceFrom } from './chance.ts'
import type { Life, World } from './world.ts'

/** A hook that ran. */
export interface HookCall {
  readonly life: Life
  readonly event: string
  readonly agentId: string
  readonly about: string
}

export interface SimulatedHooks {
  hooksFor(life: Life): readonly AnyHostHook[]
  readonly isThere: boolean
  readonly calls: readonly HookCall[]
}

const EVENTS: readonly HookEvent[] = ['SubagentStart', 'SubagentStop', 'Stop', 'PreToolUse', 'PostToolUse']

/** `seed` undefined: there are none. */
export function createSimulatedHooks(world: World, seed: number | undefined): SimulatedHooks {
  const calls: HookCall[] = []
  const pace = world.chance('hooks')
  const hook = (life: Life, event: HookEvent): AnyHostHook => ({
    event,
    // A permission that is lost is a refusal here, and a refused `Agent` call has no child: both are wanted, rarely.
    run: async (input, { signal }) => {
      if (!life.isAlive) return new Promise(() => {})
      const moment = momentOf(input)
      calls.push({ life, ...moment })
      if (pace.happens(0.5))
        await new Promise<void>((resolve) => {
          const cancel = world.later(`hook ${event}`, life, resolve)
          const onAbort = (): void => {
            cancel()
            resolve()
          }
          signal.addEventListener('abort', onAbort, { once: true })
        })
      return answerTo(input, seed ?? 0)
    },
  })
  return {
    hooksFor: (life) => (seed === undefined ? [] : EVENTS.map((event) => hook(life, event))),
    isThere: seed !== undefined,
    calls,
  }
}

/** The same to the same input, in whatever process. */
function answerTo(input: HookInput, seed: number): HookReply {
  const chance = chanceFrom(seed, JSON.stringify(momentOf(input)))
  switch (input.hook_event_name) {
    case 'SubagentStart':
      return {
        hookSpecificOutput: { hookEventName: 'SubagentStart', additionalContext: 'be quick' },
      }
    case 'SubagentStop':
    case 'Stop':
      return chance.happens(0.3) ? { decision: 'block', reason: 'look again' } : undefined
    case 'PreToolUse': {
      const permissionDecision = chance.weigh({ allow: 8, deny: 1, ask: 1 })
      return { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision } }
    }
    default:
      return undefined
  }
}
