/**
 * An agent gets a worktree before it is prepared, or gets its own back.
 *
 *   E1  What is going to be made is in the log before anything of it is (`worktree.requested`), and the agent is
 *       prepared only after it is there (`worktree.created`).
 *   E2  Whoever cannot have a worktree does not run: it is never let loose in its caller's directory.
 *   E3  Once per run; a run that goes on after a restart finds what the log says.
 */
import { agentTreeNames } from '../../definitions/worktrees/names.ts'
import { isThere } from '../../effects/worktrees/is-there.ts'
import { WorktreeError } from '../../effects/worktrees/worktree-error.ts'
import type { WorktreePlan, Worktrees } from '../../effects/worktrees/worktrees.ts'
import type { EventDraft } from '../../machines/agent/events.ts'
import type { Agent } from '../agent.ts'
import type { EngineCore } from '../core.ts'
import { Suspended } from '../effects/suspended.ts'
import { reasonsOf } from '../hooks/engine-hooks.ts'
import { planOf } from './own-worktree.ts'

/** Names that are tried again when somebody else was faster. */
const TRIES = 3

/** Whether an agent is to work in a worktree of its own. */
export const wantsWorktree = ({ birth }: Agent): boolean => birth.plan.isolation?.value === 'worktree'

/** Brings the agent into its worktree. Rejects with a `WorktreeError`, which ends the run. */
export async function enterWorktree(core: EngineCore, agent: Agent, signal: AbortSignal): Promise<void> {
  const own = agent.digest.worktree
  if (own !== undefined && own.isRemoved !== true && own.created !== undefined) {
    await reenterWorktree(core, agent, signal)
    return
  }
  const isRepeat = own !== undefined && own.isRemoved !== true
  const from = agent.parent?.cwd ?? core.cwd
  await createIn(core, agent, { from, names: agentTreeNames(agent.id), isRepeat }, signal)
}

/** What a worktree is made with. `isRepeat`: the last one that the log asks for is this very one. */
interface Wish {
  readonly from: string
  readonly names: readonly string[]
  readonly branch?: string | undefined
  readonly isRepeat: boolean
}

/** Makes one and moves the agent into it. */
export async function createIn(
  core: EngineCore,
  agent: Agent,
  { from, names, branch, isRepeat }: Wish,
  signal: AbortSignal,
): Promise<void> {
  const [name = agent.id] = names
  // A hook that makes worktrees makes all of them, also where there is git.
  if (core.hooks.has(agent, createMoment(agent, ''))) return makeByHook(core, agent, { from, name }, signal)
  const worktrees = await core.worktrees()
  const own = agent.digest.worktree
  if (own !== undefined && isRepeat) {
    // Asked for by a process that died before it had said that it is there.
    const plan = planOf(agent.id, own)
    if (plan !== undefined && (await tryCreate(core, agent, worktrees, plan, own.requested.from, signal)))
      return
  }
  for (let tries = 1; ; tries += 1) {
    const plan = await worktrees.plan({ cwd: from, agentId: agent.id, names, branch, signal })
    await take(agent, requestOf(plan, from))
    if (await tryCreate(core, agent, worktrees, plan, from, signal, tries < TRIES)) return
  }
}

const requestOf = ({ name, path, branch, base, repository }: WorktreePlan, from: string): EventDraft => ({
  type: 'worktree.requested',
  name,
  from,
  git: { path, branch, base, repository },
})

/** False: somebody else has taken the name since. */
async function tryCreate(
  core: EngineCore,
  agent: Agent,
  worktrees: Worktrees,
  plan: WorktreePlan,
  cwd: string,
  signal: AbortSignal,
  mayTryAgain = true,
): Promise<boolean> {
  try {
    const { lacksChanges, notes } = await worktrees.create(plan, { cwd, signal })
    for (const note of notes) core.diagnose('worktree-incomplete', `The worktree ${plan.path}: ${note}`)
    await take(agent, {
      type: 'worktree.created',
      path: plan.path,
      ...(lacksChanges && { lacksChanges: true as const }),
    })
    return true
  } catch (error) {
    if (mayTryAgain && WorktreeError.is(error) && error.code === 'worktree-taken') return false
    throw error
  }
}

/** Gives an agent back the worktree that its log names. What differs now, in words; undefined: nothing. */
export async function reenterWorktree(
  core: EngineCore,
  agent: Agent,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const own = agent.digest.worktree
  if (own?.created === undefined) return undefined
  const { path } = own.created
  const plan = planOf(agent.id, own)
  if (plan === undefined) {
    if (isThere(path)) return undefined
    throw new WorktreeError(
      'worktree-base-gone',
      `The folder ${path}, which a WorktreeCreate hook made for agent ${agent.id}, is not there any more. Put it back and resume; the agent is not let loose in another place.`,
    )
  }
  const worktrees = await core.worktrees()
  const { wasMade, notes } = await worktrees.reopen(plan, { cwd: own.requested.from, signal })
  for (const note of notes) core.diagnose('worktree-incomplete', `The worktree ${path}: ${note}`)
  if (!wasMade) return undefined
  const difference = `the worktree ${path} was gone and has been made again; uncommitted changes that were in it are lost`
  core.diagnose('worktree-made-again', `agent ${agent.id}: ${difference}`)
  return difference
}

// ── by a hook ────────────────────────────────────────────────────────────────────────────────────────────

const createMoment = (agent: Agent, name: string) =>
  ({ event: 'WorktreeCreate', which: String(agent.runNumber), facts: { name } }) as const

async function makeByHook(
  core: EngineCore,
  agent: Agent,
  { from, name }: Pick<Wish, 'from'> & { readonly name: string },
  signal: AbortSignal,
): Promise<void> {
  await take(agent, { type: 'worktree.requested', name, from })
  const decision = await core.hooks.decide(agent, createMoment(agent, name), () => signal)
  const path = decision?.worktreePath
  if (decision?.verdict === 'block' || decision?.stop !== undefined)
    throw new WorktreeError(
      'worktree-hook-failed',
      `A WorktreeCreate hook refused to make a folder for agent ${agent.id} (${reasonsOf(decision.stop?.reasons ?? decision.reasons)}).`,
    )
  if (path === undefined || !isThere(path))
    throw new WorktreeError(
      'worktree-hook-failed',
      path === undefined
        ? `No WorktreeCreate hook named the folder that it made for agent ${agent.id}. A hook prints its absolute path, and nothing else.`
        : `The WorktreeCreate hook named ${path} for agent ${agent.id}, and there is no such folder.`,
    )
  await take(agent, { type: 'worktree.created', path })
}

async function take(agent: Agent, event: EventDraft): Promise<void> {
  if ((await agent.post(event)) === 'late') throw new Suspended(`${event.type} came too late`)
}
