/**
 * Worktrees, as a port: a place of its own for an agent, made from a commit, and removed when nothing would be lost.
 *
 *   W1  Recorded before it is made: the caller writes the plan into its log, then this writes a record into the
 *       repository, then there is a branch and a folder. So a sweep knows what is ours, and nothing else is touched.
 *   W2  Every step can be done twice: what was interrupted is completed by whoever comes next.
 *   W3  One at a time per repository, also across processes, for all that is in the repository and not in the tree.
 *   W4  Nothing is removed that {@link WorktreeDecision} would keep, but a tree that was never handed out.
 */
import type { WorktreeDecision, WorktreeFacts } from '../../definitions/worktrees/decide.ts'
import type { WorktreeOptions } from '../../definitions/worktrees/options.ts'

/** Where a worktree will be: all that is decided before anything is made. Data, for a log. */
export interface WorktreePlan {
  /** Whose it is. */
  readonly agentId: string
  readonly name: string
  /** Absolute, links resolved as far as it exists. */
  readonly path: string
  readonly branch: string
  /** The commit that it is made from. */
  readonly base: string
  /** The repository's common git folder, absolute, links resolved. */
  readonly repository: string
}

/** A worktree that is there. */
export interface MadeWorktree {
  /** The caller had uncommitted changes, and they are not in it. */
  readonly lacksChanges: boolean
  /** What could not be done as it was asked for, in words. */
  readonly notes: readonly string[]
}

/** Who a worktree is for, and from where. */
export interface WorktreeRequest {
  /** The caller's working directory. */
  readonly cwd: string
  /** In the record and the mark of processes. */
  readonly agentId: string
  /** Names to try, in order. */
  readonly names: readonly string[]
  /** An existing name is no other one to try, but refused. Default: the next name is tried. */
  readonly branch?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/** What making one needs besides its plan. */
export interface WorktreeUse {
  /** The caller's working directory, where links and copies come from. */
  readonly cwd: string
  readonly signal?: AbortSignal | undefined
}

/** One of ours, as a list shows it. */
export interface ListedWorktree extends WorktreePlan {
  /** ISO 8601. */
  readonly createdAt: string
  /** Whether the process that made it, or works in it, still runs. */
  readonly owner: 'alive' | 'dead' | 'elsewhere'
  readonly facts: WorktreeFacts
  readonly decision: WorktreeDecision
}

/** What a sweep did. */
export interface Swept {
  /** Names. */
  readonly removed: readonly string[]
  readonly kept: readonly { readonly name: string; readonly reasons: readonly string[] }[]
  /** What could not be looked at or removed, in words. */
  readonly problems: readonly string[]
}

/** Makes, looks at and removes worktrees. All methods reject with a `WorktreeError`, or the signal's reason. */
export interface Worktrees {
  /** Whether the folder is in a git repository. Starts no process. */
  isRepository(cwd: string): boolean
  /** Whether there is anything at the path of one. Starts no process. */
  isThere(path: string): boolean
  /** Decides where one would be, and makes nothing (but, with the policy `snapshot`, a commit that nothing refers to). */
  plan(request: WorktreeRequest): Promise<WorktreePlan>
  /** Makes it, or takes it over when this very plan has been carried out before. */
  create(plan: WorktreePlan, use: WorktreeUse): Promise<MadeWorktree>
  /**
   * The worktree of an agent that goes on: as it is, or made again from its branch or the recorded commit. `wasMade`:
   * which of them. Never another place.
   */
  reopen(plan: WorktreePlan, use: WorktreeUse): Promise<MadeWorktree & { readonly wasMade: boolean }>
  /** What is in it. */
  inspect(plan: WorktreePlan): Promise<WorktreeFacts>
  /** {@link inspect}, and what follows from it. `merged`: commits that another branch has do not count. */
  decide(plan: WorktreePlan, options?: { readonly merged?: boolean }): Promise<WorktreeDecision>
  /**
   * Removes folder, branch and record, whatever is in it: decide first. Done before, or where the name belongs to
   * another agent, it does nothing.
   */
  remove(plan: WorktreePlan): Promise<void>
  /** From now on no sweep removes it, whatever is in it. */
  keep(plan: WorktreePlan): Promise<void>
  /**
   * Removes what dead owners left and nobody would miss. `merged`: commits that another branch has do not count;
   * `except`: agents that see to their own.
   */
  sweep(
    cwd: string,
    options?: { readonly merged?: boolean; readonly except?: ReadonlySet<string> },
  ): Promise<Swept>
  /** All of ours in the repository, oldest first. */
  list(cwd: string): Promise<readonly ListedWorktree[]>
  /** What was changed in it since it was made, committed or not, as a patch. */
  diff(cwd: string, name: string): Promise<string>
  /** Merges its branch into what is checked out in `cwd`. What git says. */
  merge(cwd: string, name: string): Promise<string>
}

/** What worktrees are made with. */
export interface WorktreeSurroundings {
  readonly options?: WorktreeOptions | undefined
  readonly owners: WorktreeOwners
}

/** Telling processes apart, and keeping them apart. */
export interface WorktreeOwners {
  /** This process, as data that another one can judge. */
  self(): Readonly<Record<string, unknown>>
  whereabouts(owner: Readonly<Record<string, unknown>>): 'alive' | 'dead' | 'elsewhere'
  /** Takes a lock, a file at `path`, or says who has it. A dead owner's lock is taken over. */
  lock(path: string): { readonly release: () => void } | { readonly heldBy: string }
  /** Ends processes that a dead owner left and that carry this agent's mark. */
  endSurvivors(agentId: string): Promise<void>
}
