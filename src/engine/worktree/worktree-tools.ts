/**
 * `EnterWorktree` and `ExitWorktree`: the root agent moves into a worktree and back, at its user's word.
 *
 *   X1  Both look in the log first, so that a call that is made again after a restart goes on where it was.
 *   X2  The directory changes with an event (`worktree.created`, `worktree.left`), so a resume is where the agent was.
 *   X3  Nothing is thrown away unless the call says so in so many words.
 */
import * as z from 'zod'
import { agentTreeNames, treeNameProblem } from '../../definitions/worktrees/names.ts'
import type { Tool } from '../../effects/tools/tool.ts'
import { WorktreeError } from '../../effects/worktrees/worktree-error.ts'
import type { AgentEventOf, EventDraft } from '../../machines/agent/events.ts'
import type { Agent } from '../agent.ts'
import type { EngineCore } from '../core.ts'
import { failedResult, okResult } from '../effects/results.ts'
import type { Call } from '../effects/run-call.ts'
import { Suspended } from '../effects/suspended.ts'
import { createIn } from './enter-worktree.ts'
import { isInWorktree, planOf } from './own-worktree.ts'

const Name = z.string().superRefine((name, context) => {
  const problem = treeNameProblem(name)
  if (problem !== undefined) context.addIssue({ code: 'custom', message: problem })
})

const EnterInput = z.strictObject({
  name: Name.optional().describe('Name of the worktree. Left out: one is made up.'),
  branch: Name.optional().describe('Name of its new branch. Left out: made of the name.'),
})
type EnterInput = z.infer<typeof EnterInput>

const ExitInput = z.strictObject({
  action: z.enum(['keep', 'remove']).describe('"keep": folder and branch stay. "remove": both go.'),
  discard_changes: z
    .boolean()
    .optional()
    .describe(
      'Remove it although uncommitted changes or unmerged commits are lost. Only at the user’s word.',
    ),
})
type ExitInput = z.infer<typeof ExitInput>

const runByEngine = (): never => {
  throw new Error('this tool is run by the engine')
}

const enterTool: Tool<EnterInput> = {
  name: 'EnterWorktree',
  description:
    'Makes a git worktree on a new branch from what is checked out, and moves you into it. Only when the user asks for a worktree in so many words; not to work on a branch, which git does in place.',
  inputSchema: EnterInput,
  resume: 'keyed',
  isReadOnly: () => false,
  isConcurrencySafe: () => false,
  run: runByEngine,
}

const exitTool: Tool<ExitInput> = {
  name: 'ExitWorktree',
  description:
    'Leaves the worktree that you entered with EnterWorktree and takes you back to where you were. When the user asks for it, or when the work there is done and the user has said what becomes of it.',
  inputSchema: ExitInput,
  resume: 'keyed',
  isReadOnly: () => false,
  isConcurrencySafe: () => false,
  run: runByEngine,
}

/** Both, for the table of tools. */
export const WORKTREE_TOOLS: readonly Tool[] = [enterTool, exitTool]

/** Whether a parsed call is one of these. */
export const isWorktreeTool = ({ name }: Tool): boolean => name === enterTool.name || name === exitTool.name

type CallEnded = AgentEventOf<'call.ended'>

/** Runs one of them. */
export async function runWorktreeTool(
  core: EngineCore,
  call: Call,
  tool: Tool,
  input: unknown,
): Promise<CallEnded> {
  const { agent, callId, block, started } = call
  if (agent.parent !== undefined)
    return failedResult(callId, block.id, `${tool.name} is for the main agent only.`, 'denied')
  if (started === undefined) await take(agent, { type: 'call.started', callId })
  try {
    return tool.name === enterTool.name
      ? await enter(core, call, EnterInput.parse(input))
      : await leave(core, call, ExitInput.parse(input))
  } catch (error) {
    if (!WorktreeError.is(error)) throw error
    return failedResult(callId, block.id, error.message)
  }
}

async function enter(core: EngineCore, call: Call, input: EnterInput): Promise<CallEnded> {
  const { agent, callId, block, started } = call
  const own = agent.digest.worktree
  const isRepeat = started !== undefined && own !== undefined && own.isLeft !== true && own.isRemoved !== true
  if (isInWorktree(own) && !isRepeat)
    return failedResult(
      callId,
      block.id,
      `You are in the worktree ${agent.cwd} already. Leave it with ExitWorktree first.`,
    )
  if (!isInWorktree(own)) {
    const names = input.name === undefined ? agentTreeNames(agent.id).map(ofSession) : [input.name]
    await createIn(core, agent, { from: agent.cwd, names, branch: input.branch, isRepeat }, call.signal)
  }
  const { worktree } = agent.digest
  const plan = worktree && planOf(agent.id, worktree)
  const where = plan === undefined ? '' : `, on the branch ${plan.branch} from commit ${plan.base}`
  const lacks =
    worktree?.created?.lacksChanges === true
      ? ' Uncommitted changes of the directory you came from are not in it.'
      : ''
  return okResult(
    call.callId,
    call.block.id,
    `Your working directory is now ${agent.cwd}${where}. Write only in it, and read files again before you edit them: what you know is of the other directory.${lacks}`,
    { worktreePath: agent.cwd, ...(plan !== undefined && { worktreeBranch: plan.branch }) },
  )
}

const ofSession = (name: string): string => name.replace(/^agent-/u, 'session-')

async function leave(core: EngineCore, call: Call, input: ExitInput): Promise<CallEnded> {
  const { agent, callId, block, started } = call
  const own = agent.digest.worktree
  if (own?.created === undefined || (own.isLeft === true && started === undefined))
    return failedResult(callId, block.id, 'You are in no worktree that you entered with EnterWorktree.')
  const { path } = own.created
  const plan = planOf(agent.id, own)
  const isKept = input.action === 'keep' || plan === undefined
  if (own.isLeft !== true) {
    const worktrees = await core.worktrees()
    if (plan !== undefined && !isKept && own.decided?.fate !== 'removed') {
      const decision = await worktrees.decide(plan, { merged: true })
      if (decision.kind === 'keep' && input.discard_changes !== true)
        return failedResult(
          callId,
          block.id,
          `The worktree ${path} was not removed, because this would be lost: ${decision.reasons.join('; ')}. Commit and merge it, leave with action "keep", or, if the user says that it may be lost, with discard_changes.`,
        )
    }
    if (own.decided === undefined)
      await take(agent, {
        type: 'worktree.decided',
        fate: isKept ? 'kept' : 'removed',
        reasons: [
          input.discard_changes === true && !isKept ? 'its changes were to be discarded' : 'it was asked for',
        ],
      })
    if (plan !== undefined && isKept) await worktrees.keep(plan)
    if (plan !== undefined && !isKept) {
      await worktrees.remove(plan)
      await take(agent, { type: 'worktree.removed' })
    }
    await take(agent, { type: 'worktree.left' })
  }
  const what = isKept ? `The worktree ${path} was kept` : `The worktree ${path} and its branch were removed`
  return okResult(call.callId, call.block.id, `${what}. Your working directory is ${agent.cwd} again.`, {
    action: isKept ? 'keep' : 'remove',
    worktreePath: path,
  })
}

async function take(agent: Agent, event: EventDraft): Promise<void> {
  if ((await agent.post(event)) === 'late') throw new Suspended(`${event.type} came too late`)
}
