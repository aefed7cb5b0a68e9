/** Clearing up behind dead engines, when a session begins. Costs a look at a folder where there is nothing to do. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { commonDirOf } from '../../effects/git-folder.ts'
import type { EngineCore } from '../core.ts'
import { messageOf } from '../errors.ts'
import type { Session } from '../session.ts'

/** Begins it, beside the session; the session does not close before it is done. Its own agents see to their own. */
export function sweepWorktrees(core: EngineCore, session: Session): void {
  if (!core.features.worktree) return
  const repository = commonDirOf(core.cwd)
  if (repository === undefined || !existsSync(join(repository, 'troupe'))) return
  session.closeAfter(sweep(core, new Set(session.agents.map(({ id }) => id))))
}

async function sweep(core: EngineCore, except: ReadonlySet<string>): Promise<void> {
  try {
    const swept = await (await core.worktrees()).sweep(core.cwd, { except })
    if (swept.removed.length > 0)
      core.diagnose(
        'worktree-swept',
        `Worktrees that a dead engine left without changes were removed: ${swept.removed.join(', ')}.`,
      )
    for (const problem of swept.problems) core.diagnose('worktree-not-removed', problem)
  } catch (error) {
    core.diagnose('worktree-not-removed', `Worktrees of dead engines were not looked at: ${messageOf(error)}`)
  }
}
