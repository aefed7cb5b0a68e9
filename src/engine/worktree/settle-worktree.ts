/**
 * What becomes of an agent's worktree at the end of its run: the last thing before the end is recorded.
 *
 *   S1  Decided, in the log, then removed: an interruption anywhere is completed by the resume, or by a sweep.
 *   S2  An abort does not interrupt it: half a removal helps nobody.
 *   S3  Whatever goes wrong, the tree stays and the run ends all the same.
 *   S4  A removal that was interrupted is looked at again, as somebody may have worked there since. One that cannot be
 *       looked at then is a removal that has failed, not a tree that is kept: a sweep takes it up.
 *   S5  A tree that was asked for and never handed out goes without a look: nobody has worked in it.
 */
import type { WorktreeDecision } from '../../definitions/worktrees/decide.ts'
import { isInside } from '../../effects/tools/confinement.ts'
import { isThere } from '../../effects/worktrees/is-there.ts'
import type { AgentEventOf, EventDraft } from '../../machines/agent/events.ts'
import type { Agent } from '../agent.ts'
import type { EngineCore } from '../core.ts'
import { Suspended } from '../effects/suspended.ts'
import { messageOf } from '../errors.ts'
import { reasonsOf } from '../hooks/engine-hooks.ts'
import { wantsWorktree } from './enter-worktree.ts'
import { planOf } from './own-worktree.ts'

type Ended = AgentEventOf<'agent.ended'>

/** The end with what is kept. Nothing is done, and nothing awaited, for an agent without a worktree of its own. */
export function withWorktree(core: EngineCore, agent: Agent, end: Ended): Ended | Promise<Ended> {
  // One that entered at a word of its user's (the root) leaves at one.
  if (agent.digest.worktree === undefined || !wantsWorktree(agent)) return end
  return settle(core, agent).then((kept) => ({ ...end, ...kept }))
}

async function settle(
  core: EngineCore,
  agent: Agent,
): Promise<Pick<Ended, 'worktreePath' | 'worktreeBranch'>> {
  const own = agent.digest.worktree
  if (own === undefined || own.isRemoved === true) return {}
  if (own.created === undefined) {
    await abandon(core, agent)
    return {}
  }
  const { path } = own.created
  const plan = planOf(agent.id, own)
  const kept = { worktreePath: path, ...(plan !== undefined && { worktreeBranch: plan.branch }) }
  if (own.decided?.fate === 'kept') return kept
  const notRemoved = async (error: unknown): Promise<Pick<Ended, 'worktreePath' | 'worktreeBranch'>> => {
    core.diagnose('worktree-not-removed', `The worktree ${path} of agent ${agent.id}: ${messageOf(error)}`)
    return (await core.worktrees()).isThere(path) ? kept : {}
  }
  const decision = isStillUsed(core, agent, path)
    ? IN_USE
    : plan === undefined
      ? await decideByHook(core, agent, path)
      : await decideByGit(core, plan)
  if (decision.kind === 'unknown') {
    if (own.decided?.fate === 'removed') return notRemoved(decision.error)
    await take(agent, {
      type: 'worktree.decided',
      fate: 'kept',
      reasons: [`it could not be looked at: ${messageOf(decision.error)}`],
    })
    return kept
  }
  await take(agent, {
    type: 'worktree.decided',
    fate: decision.kind === 'keep' ? 'kept' : 'removed',
    reasons: [...decision.reasons],
  })
  if (decision.kind === 'keep') return kept
  if (plan !== undefined) {
    try {
      await (await core.worktrees()).remove(plan)
    } catch (error) {
      return notRemoved(error)
    }
  }
  await take(agent, { type: 'worktree.removed' })
  return {}
}

/** Whether another agent still works in it: a child in the background outlives a run that failed. */
function isStillUsed(core: EngineCore, agent: Agent, path: string): boolean {
  return [...core.agents.values()].some(
    (other) => other !== agent && other.isBorn && other.isRunning && isInside(path, other.cwd),
  )
}

const IN_USE: WorktreeDecision = { kind: 'keep', reasons: ['another agent still works in it'] }

async function abandon(core: EngineCore, agent: Agent): Promise<void> {
  const own = agent.digest.worktree
  const plan = own && planOf(agent.id, own)
  if (plan === undefined) return
  try {
    await (await core.worktrees()).remove(plan)
  } catch (error) {
    core.diagnose(
      'worktree-not-removed',
      `The worktree ${plan.path} of agent ${agent.id}: ${messageOf(error)}`,
    )
    return
  }
  await take(agent, { type: 'worktree.removed' })
}

async function decideByGit(
  core: EngineCore,
  plan: NonNullable<ReturnType<typeof planOf>>,
): Promise<WorktreeDecision | { readonly kind: 'unknown'; readonly error: unknown }> {
  try {
    return await (await core.worktrees()).decide(plan)
  } catch (error) {
    return { kind: 'unknown', error }
  }
}

/** Of a folder that a hook made nobody knows what would be lost: it stays unless the hook has taken it away. */
async function decideByHook(core: EngineCore, agent: Agent, path: string): Promise<WorktreeDecision> {
  const moment = {
    event: 'WorktreeRemove',
    which: String(agent.runNumber),
    facts: { worktree_path: path },
  } as const
  const decision = await core.hooks.decide(agent, moment, () => new AbortController().signal)
  if (decision === undefined)
    return { kind: 'keep', reasons: ['a hook made it, and no WorktreeRemove hook is set'] }
  if (!isThere(path)) return { kind: 'remove', reasons: ['a WorktreeRemove hook has removed it'] }
  const why = decision.verdict === 'block' ? reasonsOf(decision.reasons) : 'it left it in place'
  return { kind: 'keep', reasons: [`a hook made it, and the WorktreeRemove hook keeps it: ${why}`] }
}

async function take(agent: Agent, event: EventDraft): Promise<void> {
  if ((await agent.post(event)) === 'late') throw new Suspended(`${event.type} came too late`)
}
