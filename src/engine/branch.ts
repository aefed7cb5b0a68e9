/**
 * Branches: sessions that go on from a position of another log, ours or Claude Code's, without a copy of it.
 *
 *   B1  The base is read, never written, and needs no lock: what is shared does not change any more.
 *   B2  Runs are counted on from the base, so that no call of the branch has the id of a shared one.
 *   B3  What was open at the position is not taken over: no child and no process of the base is the branch's. A call
 *       without a result reads as interrupted, and a file has to be read again before it is edited.
 */
import { resolve } from 'node:path'
import { sessionPaths } from '../journal/paths.ts'
import type { Conversation } from '../journal/projections/conversation.ts'
import type { SharedPart } from '../journal/replay/base.ts'
import { BaseError, loadBase, shareLog } from '../journal/replay/base.ts'
import type { AgentEventOf, Base } from '../machines/agent/events.ts'
import type { AgentId } from '../machines/ids.ts'
import { SessionId } from '../machines/ids.ts'
import type { BranchOptions } from './api.ts'
import type { EngineCore } from './core.ts'
import { EngineError } from './errors.ts'
import { ROOT_TYPE, rootBirth } from './root.ts'

/** What a branch hears when nobody says anything. */
export const GO_ON_FROM_HERE = 'Go on from here.'

/** The log that is branched: of a session of this project, or any file. */
export function logOf(core: EngineCore, source: string): string {
  const id = SessionId.safeParse(source.toLowerCase())
  return id.success ? sessionPaths(core.home, core.cwd, id.data).rootLog : resolve(core.cwd, source)
}

/** Reads what is shared. Rejects with an `EngineError`: `bad-position`, `missing-base`, `changed-base`. */
export function shareForBranch(
  core: EngineCore,
  source: string,
  at: number | undefined,
): Promise<SharedPart> {
  return asEngineErrors(shareLog(core.storage, logOf(core, source), at))
}

/** The conversation that a branch begins with. Rejects as {@link shareForBranch} does. */
export async function sharedConversation(
  core: EngineCore,
  base: Base,
  ownLog: string,
): Promise<Conversation> {
  return (await asEngineErrors(loadBase(core.storage, base, ownLog))).conversation
}

/** The birth of a branch's root: who the agent was there, with this engine's permissions, and the model that is asked for. */
export function branchBirth(
  core: EngineCore,
  agentId: AgentId,
  { base, state }: SharedPart,
  { modelId }: BranchOptions,
): AgentEventOf<'agent.spawned'> {
  const plain = rootBirth(core, agentId)
  const plan = state.birth?.plan
  // A kind of agent that only the base's program knows is as good as the main one here.
  const isKnown = plan !== undefined && core.definitions.some(({ agentType }) => agentType === plan.agentType)
  const kept = isKnown ? plan : { ...plain.plan, description: plan?.description ?? plain.plan.description }
  return {
    ...plain,
    plan: {
      agentType: isKnown ? kept.agentType : ROOT_TYPE,
      description: kept.description,
      model: modelOf(core, state, base, modelId),
      mode: plain.plan.mode,
      cwd: core.cwd,
    },
    base,
  }
}

function modelOf(
  core: EngineCore,
  { birth }: SharedPart['state'],
  { format }: Base,
  modelId: string | undefined,
): AgentEventOf<'agent.spawned'>['plan']['model'] {
  if (modelId !== undefined) return { value: core.resolveModelId(modelId), rule: 'branch option modelId' }
  // Which of a foreign session's models answers here is for this engine to say.
  if (birth === undefined || format !== 'troupe') return rootBirth(core, '' as AgentId).plan.model
  return { value: birth.plan.model.value, rule: 'base of the branch' }
}

async function asEngineErrors<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (BaseError.is(error)) throw new EngineError(error.code, error.message, error)
    throw error
  }
}
