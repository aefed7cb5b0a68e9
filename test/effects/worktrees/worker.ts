/** A process that makes worktrees, for tests with several of them: `worker.ts <repository> <first number> <how many>`. */
import { agentTreeNames } from '../../../src/definitions/worktrees/names.ts'
import { createGitWorktrees } from '../../../src/effects/worktrees/git-worktrees.ts'
import { worktreeOwners } from '../../../src/engine/worktree/worktree-owners.ts'

const [cwd = '', first = '0', count = '0'] = process.argv.slice(2)
const worktrees = createGitWorktrees({ owners: worktreeOwners(async () => {}) })
const made = await Promise.all(
  Array.from({ length: Number(count) }, async (_, i) => {
    const agentId = `a${String(Number(first) + i).padStart(8, '0')}cafecafe`
    const plan = await worktrees.plan({ cwd, agentId, names: agentTreeNames(agentId) })
    await worktrees.create(plan, { cwd })
    return plan.path
  }),
)
process.stdout.write(JSON.stringify(made))
