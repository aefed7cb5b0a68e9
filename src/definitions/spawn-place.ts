/** Where a spawned agent works, and whether its caller waits: steps 6 and 7 of the decision. */
import type { AgentDefinition } from './agent-definition.ts'
import type { AgentInput } from './agent-tool.ts'
import type { Features } from './features.ts'
import { FEATURES } from './features.ts'
import { type Resolved, resolve, resolveFirst } from './resolve.ts'
import {
  type Isolation,
  type PlanNote,
  refused,
  type SpawnCaller,
  type SpawnRefusal,
} from './spawn-situation.ts'

/** A value of the plan and what is to be said about it. */
export interface Placed<T> {
  readonly kind: 'placed'
  readonly resolved: Resolved<T>
  readonly notes: readonly PlanNote[]
}

/**
 * The isolation: argument over definition. What an argument asks for and is not there is refused; what a definition
 * asks for is left out and said, because the caller cannot help it.
 */
export function placeIsolation(
  input: Pick<AgentInput, 'isolation' | 'cwd'>,
  { agentType, isolation: own }: AgentDefinition,
  features: Features,
): Placed<Isolation> | SpawnRefusal {
  const isThere = { worktree: features.worktree, remote: features.remote }
  if (input.isolation !== undefined && !isThere[input.isolation])
    return refused(
      'isolation-unavailable',
      `isolation "${input.isolation}" is not available here (setting features.${input.isolation}). Call Agent again without \`isolation\`: the agent then works in your directory, so give it files that nobody else changes meanwhile.`,
    )
  const resolved = resolve<Isolation>(
    [
      { rule: 'argument isolation', value: input.isolation },
      { rule: `definition ${agentType}`, value: own !== undefined && isThere[own] ? own : undefined },
    ],
    { value: 'none', rule: 'default' },
  )
  if (input.cwd !== undefined && resolved.value !== 'none')
    return refused(
      'cwd-with-isolation',
      `\`cwd\` cannot be given together with isolation "${resolved.value}" (${resolved.rule}), which brings a directory of its own. Leave out ${input.isolation === undefined ? '`cwd`' : 'one of the two'}.`,
    )
  const isLeftOut = own !== undefined && input.isolation === undefined && !isThere[own]
  const note: PlanNote = {
    code: 'isolation-not-available',
    message: `The definition ${agentType} asks for isolation "${own}", which is not available here (setting features.${own}): the agent works in its caller's directory.`,
  }
  return { kind: 'placed', resolved, notes: isLeftOut ? [note] : [] }
}

/** Foreground or background. Whoever asks is heard in a fixed order; an impossible wish is left out and said. */
export function placeBackground(
  input: Pick<AgentInput, 'run_in_background'>,
  { agentType, background }: AgentDefinition,
  caller: SpawnCaller,
  features: Features,
): Placed<boolean> | SpawnRefusal {
  const wish = resolveFirst([
    { rule: 'argument run_in_background', value: yes(input.run_in_background) },
    { rule: `definition ${agentType}`, value: yes(background) },
  ])
  const custom = resolveFirst([
    { rule: 'setting features.coordinator', value: yes(features.coordinator) },
    { rule: 'setting features.fork', value: yes(features.fork) },
    { rule: 'setting features.forceBackground', value: yes(features.forceBackground) },
  ])
  const asked = wish ?? custom
  if (asked === undefined) return foreground('default')
  if (!features.background) {
    const rule = `setting features.background is off; ${asked.rule} asks for it`
    if (wish === undefined) return foreground(rule)
    return foreground(rule, {
      code: 'background-not-available',
      message: `${asked.rule} asks for the background, which is off here (setting features.background, ${FEATURES.background.environment}): the caller waits for the agent.`,
    })
  }
  if (caller.teammate?.backend !== 'in-process') return { kind: 'placed', resolved: asked, notes: [] }
  if (wish === undefined) return foreground('a teammate in this process starts no background agents')
  return refused(
    'background-in-teammate',
    `You are a teammate inside the lead's process, which starts no background agents, and ${wish.rule} asks for it. ${
      input.run_in_background === true
        ? 'Call Agent again without `run_in_background`'
        : 'Choose another type'
    }, or ask the lead to start the agent.`,
  )
}

function foreground(rule: string, ...notes: readonly PlanNote[]): Placed<boolean> {
  return { kind: 'placed', resolved: { value: false, rule }, notes }
}

/** False is no wish: nobody is kept out of the background by it. */
function yes(value: boolean | undefined): true | undefined {
  return value === true ? true : undefined
}
