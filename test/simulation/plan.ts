/**
 * What a session is about to go through, as plain data: what the user asks, what the model says in each turn of each
 * agent, what its tools do, how the disk behaves, and what is done to the process. A seed makes a plan; a failing
 * plan is made smaller, and can be kept as JSON.
 */
import type { PermissionMode } from '../../src/definitions/permission-mode.ts'
import type { Durability } from '../../src/journal/storage.ts'
import { chanceFrom } from './chance.ts'

/** What the body of a tool does. `deaf` does not hear the abort; `odd` gives what no transcript expects. */
export type BodyKind = 'fine' | 'error' | 'throws' | 'deaf' | 'odd' | 'long'

export type CallPlan =
  | { readonly kind: 'tool'; readonly tool: 'Look' | 'Put' | 'Act' | 'Run'; readonly how: BodyKind }
  /** A call that cannot be understood. */
  | {
      readonly kind: 'broken'
      readonly form: 'unknown-tool' | 'no-object' | 'wrong-input' | 'odd-name' | 'same-id'
    }
  | {
      readonly kind: 'agent'
      readonly type: string
      readonly agent: AgentPlan
      /** In a worktree of its own. */
      readonly apart?: true
      /** It is started in the background. */
      readonly isInBackground?: true
      /** By which others may speak to it. */
      readonly name?: string
      /** The call names no type, and forks its agent. */
      readonly isFork?: true
    }
  /** Asks one of its agents in the background to stop: which of those that it was told of, counted around from the last. */
  | { readonly kind: 'ask'; readonly which: number }
  /** Says something: to an agent in the background as {@link CallPlan} `ask` finds it, by a name, or to all. */
  | {
      readonly kind: 'say'
      readonly to: 'child' | 'parent' | 'main' | 'name' | 'all'
      readonly which: number
    }
  /** Reads the result of such an agent, or stops it. */
  | { readonly kind: 'read'; readonly which: number; readonly block: boolean }
  | { readonly kind: 'stop'; readonly which: number }
  /** A command, which the user may move to the background while its agent waits for it. */
  | { readonly kind: 'command' }
  /** Reads one of the commands that were moved, or ends it: which, counted around from the last. */
  | { readonly kind: 'look-after'; readonly how: 'read' | 'end'; readonly which: number }
  /** Asks whoever started it, and waits for the answer. */
  | { readonly kind: 'question' }
  /** Asks who is at work. */
  | { readonly kind: 'list' }
  /** Shows its plan to whoever started it: only a planner may. */
  | { readonly kind: 'show-plan' }

/** How an attempt at a request fails. `silent` and `stalled` are ended by a clock of the engine. */
export type ModelFault =
  | 'overloaded'
  | 'server'
  | 'cut'
  | 'silent'
  | 'stalled'
  | 'no-message'
  | 'throws'
  | 'invalid-request'

export interface TurnPlan {
  readonly text: 'plain' | 'none' | 'blank' | 'surrogate'
  readonly thinking: boolean
  readonly calls: readonly CallPlan[]
  /** Undefined: what fits. */
  readonly stop?: 'max_tokens' | 'pause_turn' | 'refusal' | 'end_turn'
  /** Faults of the first attempts; the one after them succeeds. */
  readonly attempts: readonly ModelFault[]
  /** `at-once`: the whole reply comes while it is asked for. */
  readonly pace: 'at-once' | 'whole' | 'deltas'
}

export interface AgentPlan {
  readonly turns: readonly TurnPlan[]
}

export interface PromptPlan extends AgentPlan {
  readonly maxTurns?: number
  readonly asBlocks: boolean
}

/** Something done to the session from outside, when so many steps have been made. */
export type Stop =
  | { readonly kind: 'crash' | 'close' | 'intrude' | 'prompt-again'; readonly after: number }
  | { readonly kind: 'kill'; readonly after: number; readonly which: number }
  /** Done as soon as there is something that can be moved: which of that, counted around. */
  | { readonly kind: 'move'; readonly after: number; readonly which: number }
  /** The process dies in the write with this number, counted over the whole session. */
  | { readonly kind: 'crash-in-write'; readonly write: number; readonly when: 'before' | 'torn' | 'after' }

/** The write with this number fails. */
export interface DiskFault {
  readonly write: number
  readonly kind: 'full' | 'io' | 'short' | 'sync'
}

/** What a crash, a disk or a person makes of a file of a snapshot between two processes. */
export type SnapshotRuin = 'torn' | 'flipped' | 'gone' | 'older' | 'of-another'

/** A branch of the session: where its log is gone on from, as a share of its lines, and what is asked there. */
export interface BranchPlan {
  readonly at: number
  readonly prompt: PromptPlan
}

/** A line that is spoiled after the process with this number, in the log of the root or of a child that is at work. */
export interface DamagePlan {
  readonly afterLife: number
  /** Which of these logs, and which of its lines, as shares. */
  readonly log: number
  readonly line: number
  readonly how: 'garbage' | 'zeros' | 'gone' | 'twice'
}

export interface Plan {
  readonly seed: number
  readonly scenario: string
  readonly durability: Durability
  /** How many writes take their time instead of being done at once. */
  readonly slowWrites: number
  readonly diskFaults: readonly DiskFault[]
  readonly mode: PermissionMode
  readonly deny: readonly string[]
  /** Tools that pass without anybody's word, but where somebody plans. */
  readonly allow?: readonly string[]
  readonly limits: {
    readonly depth: number
    readonly liveAgents: number
    readonly spawns: number
    readonly childMaxTurns: number
  }
  readonly prompts: readonly PromptPlan[]
  readonly stops: readonly Stop[]
  /** Events between two snapshots. Undefined: none is written. */
  readonly snapshotEvery?: number
  /** What becomes of the snapshots after each process, in turn; for ever the last one. */
  readonly snapshotRuins?: readonly (SnapshotRuin | 'none')[]
  /** Made when all prompts are answered. */
  readonly branch?: BranchPlan
  readonly damage?: DamagePlan
  /** Calls wait for the word of the user, who says it in the end, once as meant and once otherwise. */
  readonly asks?: boolean
  /** The host has hooks. */
  readonly hooks?: boolean
  /** Tokens that the models take: conversations outgrow them. Undefined: they take everything. */
  readonly window?: number
  /** Agents in the background owe their reviews when they end. */
  readonly defersReviews?: boolean
  /** Agents have names, and speak to each other. */
  readonly speaks?: boolean
  /** There are agents that show a plan first, to whoever started them. */
  readonly plans?: boolean
  /** Calls without a type fork their agent: beside it, or while it waits. Undefined: they do not. */
  readonly forks?: 'beside' | 'awaited'
  /** Agents have commands that can be moved to the background. */
  readonly moves?: boolean
}

/** What the user says to a question, whenever and however often it is asked. */
export const wordOn = ({ seed }: Plan, approvalId: string): 'allow' | 'deny' =>
  chanceFrom(seed, approvalId).happens(0.7) ? 'allow' : 'deny'

/** What is under way while the user thinks: theirs, whatever becomes of the engine that has asked. */
export const answerTo = (approvalId: string): string => `answer ${approvalId}`
/** The user waits until nothing moves any more; somebody else may close the engine meanwhile. */
export const WAITING = 'waiting for the rest'
export const isOfUser = (task: string): boolean => task === WAITING || task.startsWith('answer ')

/** The names that there are: few, so that they are asked for while somebody has them. */
export const NAMES = ['ada', 'bob'] as const

/** Name of the agent that a branch's prompt is asked. */
export const BRANCH_AGENT = 'b0'

/** The agent with this name in a plan: `p<prompt>` or {@link BRANCH_AGENT}, then `-<turn>-<call>` for each level. */
export function agentNamed(plan: Plan, name: string): AgentPlan | undefined {
  const [first = '', ...rest] = name.split('-')
  let agent: AgentPlan | undefined =
    first === BRANCH_AGENT ? plan.branch?.prompt : plan.prompts[Number(first.slice(1))]
  for (let i = 0; i + 1 < rest.length; i += 2) {
    const call: CallPlan | undefined = agent?.turns[Number(rest[i])]?.calls[Number(rest[i + 1])]
    agent = call?.kind === 'agent' ? call.agent : undefined
  }
  return agent
}
