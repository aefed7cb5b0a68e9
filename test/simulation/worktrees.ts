/**
 * Worktrees in a repository that is only a table. It belongs to the world outside: a crash takes nothing out of it, and
 * what a dead process had begun stays half done.
 */
import type { WorktreeDecision } from '../../src/definitions/worktrees/decide.ts'
import { WorktreeError } from '../../src/effects/worktrees/worktree-error.ts'
import type { WorktreePlan, Worktrees } from '../../src/effects/worktrees/worktrees.ts'
import type { Body } from './tools.ts'
import type { Life, World } from './world.ts'

/** One tree, from its first trace to the end of time. */
export interface SimulatedTree {
  readonly plan: WorktreePlan
  /** `begun`: there are traces of it. `there`: agents can work in it. `gone`: nothing of it remains. */
  state: 'begun' | 'there' | 'gone'
  /** Somebody was given it. */
  wasHandedOut: boolean
  /** A removal of it has failed: it may remain, and a sweep of a later session is what takes it away. */
  hasRefusedRemoval: boolean
}

export interface SimulatedWorktrees {
  portFor(life: Life): Worktrees
  readonly trees: readonly SimulatedTree[]
  treeAt(path: string): SimulatedTree | undefined
  /** Whether something was done in it that would be lost. */
  hasChanges(tree: SimulatedTree): boolean
  /** Told of every tree that is begun or removed, right before. */
  onTouch(listener: (what: 'begun' | 'removed', tree: SimulatedTree) => void): void
}

const FOLDER = '/simulated-trees'
const FAILURES = 0.04
const CHANGING_TOOLS: ReadonlySet<string> = new Set(['Put', 'Act', 'Run'])

/** `bodies`: what tools did, which is all that changes a tree. */
export function createSimulatedWorktrees(world: World, bodies: () => readonly Body[]): SimulatedWorktrees {
  const trees: SimulatedTree[] = []
  const listeners: ((what: 'begun' | 'removed', tree: SimulatedTree) => void)[] = []
  const chance = world.chance('worktrees')
  const treeAt = (path: string): SimulatedTree | undefined =>
    trees.findLast(({ plan, state }) => plan.path === path && state !== 'gone')
  const tell = (what: 'begun' | 'removed', tree: SimulatedTree): void => {
    for (const listener of listeners) listener(what, tree)
  }
  const hasChanges = ({ plan }: SimulatedTree): boolean =>
    bodies().some(({ tool, cwd, hasActed }) => cwd === plan.path && hasActed && CHANGING_TOOLS.has(tool))

  /** A command of git: done when the world wants, or not at all. A dead process waits for ever. */
  const command = async (life: Life, label: string, signal?: AbortSignal): Promise<void> => {
    await new Promise<void>((resolve) => {
      if (life.isAlive) world.later(label, life, resolve)
    })
    signal?.throwIfAborted()
    if (chance.happens(FAILURES)) throw new WorktreeError('worktree-git-failed', `${label} failed`)
  }

  const make = async (life: Life, plan: WorktreePlan, signal?: AbortSignal): Promise<void> => {
    const found = treeAt(plan.path)
    if (found !== undefined && found.plan.agentId !== plan.agentId)
      throw new WorktreeError('worktree-taken', `${plan.path} belongs to another agent`)
    // Begun by a process that died before it had handed it out.
    if (found !== undefined) found.state = 'gone'
    const tree: SimulatedTree = { plan, state: 'begun', wasHandedOut: false, hasRefusedRemoval: false }
    tell('begun', tree)
    trees.push(tree)
    try {
      await command(life, `${plan.name}: branch and folder`, signal)
      tree.state = 'there'
      await command(life, `${plan.name}: files`, signal)
    } catch (error) {
      tree.state = 'gone'
      throw error
    }
    tree.wasHandedOut = true
  }

  const portFor = (life: Life): Worktrees => ({
    isRepository: () => true,
    // Folders go first: of one that is half removed only the branch is left.
    isThere: (path) => treeAt(path)?.state === 'there',
    plan: async ({ agentId, names, signal }) => {
      await command(life, `plan for ${agentId}`, signal)
      const name = names.find((each) => treeAt(`${FOLDER}/${each}`) === undefined) ?? 'none'
      const base = 'c0ffee'.padEnd(40, '0')
      return {
        agentId,
        name,
        path: `${FOLDER}/${name}`,
        branch: `worktree-${name}`,
        base,
        repository: '/.git',
      }
    },
    create: async (plan, { signal }) => {
      await command(life, `create ${plan.name}`, signal)
      const found = treeAt(plan.path)
      const isReady = found?.plan.agentId === plan.agentId && found.wasHandedOut
      // Somebody else was faster.
      if (found === undefined && chance.happens(FAILURES))
        throw new WorktreeError('worktree-taken', `${plan.path} is there by now`)
      if (!isReady) await make(life, plan, signal)
      return { lacksChanges: chance.happens(0.2), notes: [] }
    },
    reopen: async (plan, { signal }) => {
      await command(life, `reopen ${plan.name}`, signal)
      const found = treeAt(plan.path)
      const isThere = found?.state === 'there' && found.plan.agentId === plan.agentId
      if (!isThere) await make(life, plan, signal)
      return { lacksChanges: false, notes: [], wasMade: !isThere }
    },
    inspect: () => Promise.reject(new Error('nobody inspects a simulated worktree')),
    decide: async (plan): Promise<WorktreeDecision> => {
      const tree = treeAt(plan.path)
      try {
        await command(life, `look at ${plan.name}`)
      } catch (error) {
        // What is half removed and cannot be looked at stays so, until a sweep comes.
        if (tree?.state === 'begun') tree.hasRefusedRemoval = true
        throw error
      }
      if (tree === undefined) return { kind: 'remove', reasons: ['its folder is gone'] }
      return hasChanges(tree)
        ? { kind: 'keep', reasons: ['uncommitted changes'] }
        : { kind: 'remove', reasons: ['nothing in it was changed'] }
    },
    remove: async (plan) => {
      const tree = treeAt(plan.path)
      try {
        await command(life, `remove ${plan.name}`)
        if (tree === undefined || tree.plan.agentId !== plan.agentId) return
        tell('removed', tree)
        tree.state = 'begun'
        await command(life, `remove the branch of ${plan.name}`)
        tree.state = 'gone'
      } catch (error) {
        if (tree !== undefined) tree.hasRefusedRemoval = true
        throw error
      }
    },
    keep: () => Promise.resolve(),
    sweep: () => Promise.resolve({ removed: [], kept: [], problems: [] }),
    list: () => Promise.resolve([]),
    diff: () => Promise.resolve(''),
    merge: () => Promise.resolve(''),
  })

  return {
    portFor,
    trees,
    treeAt,
    hasChanges,
    onTouch: (listener) => void listeners.push(listener),
  }
}
