/** What a person does with a worktree that was kept: look at what is in it, and take it over. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { somePaths } from '../../definitions/worktrees/decide.ts'
import { commitAt, entriesOf, openGit, programsOff } from './git.ts'
import { changesOf } from './plan.ts'
import type { WorktreeRecord } from './records.ts'
import { type ScratchPlace, withScratchIndex } from './scratch-index.ts'
import { WorktreeError } from './worktree-error.ts'

const MARK = { mark: 'worktrees/person' }

/** Everything that was changed since it was made, as a patch: commits, uncommitted changes and new files. */
export async function diffWorktree(record: WorktreeRecord, place: ScratchPlace): Promise<string> {
  const { path, branch, base } = record
  const options = ['--no-ext-diff', '--no-textconv', '--no-color', '--submodule=short']
  if (!existsSync(path)) {
    return openGit(place.repository, MARK).run(['diff', ...options, base, `refs/heads/${branch}`])
  }
  const git = openGit(path, MARK)
  const config = await programsOff(git)
  // New files are in no index; a copy of it gets them, and the tree's own stays as it is.
  const own = record.gitDir === undefined ? undefined : join(record.gitDir, 'index')
  return withScratchIndex(place, own, async (index) => {
    const env = { GIT_INDEX_FILE: index }
    await git.run(['add', '--intent-to-add', '--all', '--', ':/'], { env, config })
    const ours = record.links.map(({ path: link }) => `:(exclude,top)${link}`)
    return await git.run(['diff', ...options, base, '--', ':/', ...ours], { env, config })
  })
}

/** Merges a worktree's branch into what is checked out in `cwd`. A conflict is undone and told. */
export async function mergeWorktree(record: WorktreeRecord, cwd: string): Promise<string> {
  const { name, path, branch } = record
  if (existsSync(path)) {
    const tree = openGit(path, MARK)
    const own = new Set(record.links.map((link) => link.path))
    const changes = (await changesOf(tree, await programsOff(tree))).filter((change) => !own.has(change))
    if (changes.length > 0)
      throw new WorktreeError(
        'worktree-not-merged',
        `The worktree ${name} has uncommitted changes (${somePaths(changes)}), and only commits can be merged. Commit them in ${path}, or take them over with "troupe worktrees diff ${name} | git apply".`,
      )
  }
  const git = openGit(cwd, MARK)
  const config = await programsOff(git)
  const args = ['merge', '--no-edit', '--no-verify-signatures', `refs/heads/${branch}`]
  const answer = await git.ask(args, { config })
  if (answer.exitCode === 0) return answer.stdout.trim()
  const conflicts = entriesOf(
    (await git.ask(['diff', '--name-only', '-z', '--diff-filter=U'], { config })).stdout,
  )
  const hasBegun = (await commitAt(git, 'MERGE_HEAD')) !== undefined
  if (hasBegun && conflicts.length > 0) {
    await git.run(['merge', '--abort'], { config })
    throw new WorktreeError(
      'worktree-not-merged',
      `The branch ${branch} conflicts with what is checked out in ${cwd} (${conflicts.join(', ')}). Nothing was changed: run "git merge ${branch}" there and resolve the conflicts.`,
    )
  }
  const said = `${answer.stderr}\n${answer.stdout}`.trim()
  throw new WorktreeError('worktree-not-merged', `git ${args.join(' ')} failed in ${cwd}: ${said}`)
}
