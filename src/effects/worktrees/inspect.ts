/**
 * What is in a worktree that would be lost with it. Looks only, whatever settings the person has for `git status`, and
 * whatever an agent has told git to overlook. What cannot be known is a doubt, and a doubt keeps the tree.
 */
import { chmodSync, existsSync, lstatSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../../definitions/message-of.ts'
import type { WorktreeFacts } from '../../definitions/worktrees/decide.ts'
import { commitAt, entriesOf, type Git, openGit, programsOff, type Setting } from './git.ts'
import { isThere } from './is-there.ts'
import type { WorktreeRecord } from './records.ts'
import { ownPathsOf } from './remove.ts'
import { gitDirOfTree } from './repository.ts'

/** How to look. */
export interface InspectOptions {
  readonly keepIgnored: boolean
  /** Commits that another branch has do not count. */
  readonly merged: boolean
}

const NOTHING: WorktreeFacts = {
  folder: 'there',
  changed: [],
  touched: [],
  ignored: [],
  commits: 0,
  unreachable: undefined,
  doubts: [],
}

/** Looks at one of ours. Never rejects for what git cannot say: that is a doubt. */
export async function inspectWorktree(
  record: WorktreeRecord,
  repository: string,
  options: InspectOptions,
): Promise<WorktreeFacts> {
  try {
    return isThere(record.path)
      ? await inspectFolder(record, repository, options)
      : { ...NOTHING, folder: 'gone', commits: await commitsOfBranch(record, repository, options) }
  } catch (error) {
    const reason = messageOf(error)
    return { ...NOTHING, doubts: [`it could not be looked at: ${reason}`] }
  }
}

async function commitsOfBranch(
  { branch, base, agentId }: WorktreeRecord,
  repository: string,
  options: InspectOptions,
): Promise<number> {
  const git = openGit(repository, { mark: `${agentId}/worktree` })
  const tip = await commitAt(git, `refs/heads/${branch}`)
  return tip === undefined ? 0 : countCommits(git, [tip], base, branch, options)
}

async function inspectFolder(
  record: WorktreeRecord,
  repository: string,
  options: InspectOptions,
): Promise<WorktreeFacts> {
  const { path, branch, base, agentId } = record
  const gitDir = gitDirOfTree({ path, repository })
  if (gitDir === undefined || gitDir !== (record.gitDir ?? gitDir))
    return { ...NOTHING, doubts: ['its .git is gone or leads to another repository'] }
  const bare = openGit(path, { mark: `${agentId}/worktree` })
  const off = await programsOff(bare)
  const modes: Setting = ['core.fileMode', String(honoursModes(gitDir))]
  const git = openGit(path, { mark: `${agentId}/worktree`, config: [...off, modes] })
  // First, because looking for changes makes git look into submodules.
  const index = await readIndex(git)
  const submodules = await inspectSubmodules(git, index.submodules, 0)
  const config = [...off, ...submodules.config]
  const [status, references] = await Promise.all([
    readStatus(git, config, options.keepIgnored),
    readReferences(git, branch),
  ])
  const { head } = status
  const { tip } = references
  const { untouched, touched } = ownPathsOf(record)
  const isOurs = (entry: string): boolean => untouched.has(entry)
  const inOurs = (entry: string): boolean =>
    isOurs(entry.replace(/\/$/u, '')) || record.links.some((link) => entry.startsWith(`${link.path}/`))
  const tips = [head, tip].filter((commit) => commit !== undefined)
  return {
    folder: 'there',
    changed: status.changed.filter((entry) => !isOurs(entry)),
    touched,
    ignored: status.ignored.filter((entry) => !inOurs(entry)),
    commits: await countCommits(git, tips, base, branch, options),
    unreachable: await unreachableCommit(git, gitDir, base),
    doubts: [
      ...(head === undefined ? ['nothing is checked out in it'] : []),
      ...(existsSync(join(gitDir, 'locked')) ? ['somebody has locked it (git worktree lock)'] : []),
      ...UNFINISHED.filter((name) => existsSync(join(gitDir, name))).map(
        (name) => `git is in the middle of something (${name})`,
      ),
      ...(references.hasOwn ? ['it has references of its own'] : []),
      ...(existsSync(join(gitDir, 'logs', 'HEAD')) ? [] : ['the log of its HEAD is gone']),
      ...index.overlooked.slice(0, 3).map((entry) => `git was told to overlook ${entry}`),
      ...submodules.doubts,
    ],
  }
}

const UNFINISHED = [
  'MERGE_HEAD',
  'CHERRY_PICK_HEAD',
  'REVERT_HEAD',
  'BISECT_LOG',
  'rebase-merge',
  'rebase-apply',
  'sequencer',
]

// ── files ────────────────────────────────────────────────────────────────────────────────────────────────

async function readStatus(
  git: Git,
  config: readonly Setting[],
  withIgnored: boolean,
): Promise<{
  /** The commit that is checked out; undefined on a branch without one. */
  readonly head: string | undefined
  readonly changed: readonly string[]
  readonly ignored: readonly string[]
}> {
  const args = [
    '--no-optional-locks',
    'status',
    '--porcelain=v2',
    '--branch',
    '-z',
    '--untracked-files=all',
    '--ignore-submodules=none',
    '--no-renames',
    `--ignored=${withIgnored ? 'traditional' : 'no'}`,
  ]
  const entries = entriesOf(await git.run(args, { config }))
  const head = entries.find((entry) => entry.startsWith('# branch.oid '))?.slice('# branch.oid '.length)
  const pathsOf = (kinds: string): readonly string[] =>
    entries.flatMap((entry) => (kinds.includes(entry.charAt(0)) ? [pathIn(entry)] : []))
  return {
    head: head === undefined || head.startsWith('(') ? undefined : head,
    changed: pathsOf('12u?'),
    ignored: pathsOf('!'),
  }
}

/** How many fields stand before the path of an entry of `git status --porcelain=v2`, by kind. */
const FIELDS: Readonly<Record<string, number>> = { '1': 8, '2': 9, u: 10, '?': 1, '!': 1 }

function pathIn(entry: string): string {
  return entry
    .split(' ')
    .slice(FIELDS[entry.charAt(0)] ?? 1)
    .join(' ')
}

/** Where its branch is, and whether there are references that only this tree has. */
async function readReferences(
  git: Git,
  branch: string,
): Promise<{ readonly tip: string | undefined; readonly hasOwn: boolean }> {
  const places = [`refs/heads/${branch}`, 'refs/worktree', 'refs/bisect', 'refs/rewritten']
  const listed = await git.run(['for-each-ref', '--format=%(objectname) %(refname)', ...places])
  const references = listed
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split(' ', 2))
  return {
    tip: references.find(([, name]) => name === places[0])?.[0],
    hasOwn: references.some(([, name]) => name?.startsWith('refs/heads/') !== true),
  }
}

/** Submodules that are there, and paths of which git does not say whether they have changed. */
async function readIndex(git: Git): Promise<{
  readonly submodules: readonly { readonly path: string; readonly commit: string }[]
  readonly overlooked: readonly string[]
}> {
  const listed = await git.run(['ls-files', '-v', '--stage', '-z'])
  const leftOut: string[] = []
  const submodules: { path: string; commit: string }[] = []
  const overlooked: string[] = []
  for (const line of entriesOf(listed)) {
    // A path may hold further tabs.
    const border = line.indexOf('\t')
    const [facts, path] = [line.slice(0, border), line.slice(border + 1)]
    const [tag = '', mode, commit = ''] = facts.split(' ')
    if (mode === '160000' && existsSync(join(git.cwd, path, '.git'))) submodules.push({ path, commit })
    // A small letter: taken for unchanged.
    if (/[a-z]/u.test(tag)) overlooked.push(path)
    if (tag === 'S') leftOut.push(path)
  }
  // Not looked for, which only a sparse checkout is a reason for.
  const isSparse = leftOut.length > 0 && (await isSparseCheckout(git))
  return { submodules, overlooked: isSparse ? overlooked : [...overlooked, ...leftOut] }
}

async function isSparseCheckout(git: Git): Promise<boolean> {
  const { stdout } = await git.ask(['config', '--type=bool', '--get', 'core.sparseCheckout'])
  return stdout.trim() === 'true'
}

/** Whether the file system keeps the executable bit. A setting may say that it does not, and hide a change. */
function honoursModes(gitDir: string): boolean {
  const probe = join(gitDir, `troupe-${process.pid}`)
  try {
    writeFileSync(probe, '', { mode: 0o600 })
    chmodSync(probe, 0o700)
    return (lstatSync(probe).mode & 0o100) !== 0
  } finally {
    rmSync(probe, { force: true })
  }
}

// ── submodules ───────────────────────────────────────────────────────────────────────────────────────────

const MAX_DEPTH = 5
const MAX_SUBMODULES = 50

/**
 * Submodules have a repository of their own in the tree's git folder: commits in it go with the tree. Also what their
 * configuration names as programs has to be known before `git status` goes into them.
 */
async function inspectSubmodules(
  git: Git,
  submodules: readonly { readonly path: string; readonly commit: string }[],
  depth: number,
): Promise<{ readonly config: readonly Setting[]; readonly doubts: readonly string[] }> {
  const config: Setting[] = []
  const doubts: string[] = []
  if (depth > MAX_DEPTH || submodules.length > MAX_SUBMODULES)
    return { config, doubts: ['it has more submodules than are looked into'] }
  for (const { path, commit } of submodules) {
    const own = openGit(join(git.cwd, path), { mark: 'worktrees/submodule' })
    config.push(...(await programsOff(own)))
    const known = (await commitAt(own, commit)) === undefined ? [] : [commit]
    const lost = await own.run([
      'rev-list',
      '--max-count=1',
      '--all',
      '--reflog',
      '--not',
      '--remotes',
      ...known,
    ])
    if (lost.trim() !== '') doubts.push(`the submodule ${path} has commits that no remote has`)
    const inner = await inspectSubmodules(own, (await readIndex(own)).submodules, depth + 1)
    config.push(...inner.config)
    doubts.push(...inner.doubts)
  }
  return { config, doubts }
}

// ── commits ──────────────────────────────────────────────────────────────────────────────────────────────

async function countCommits(
  git: Git,
  tips: readonly string[],
  base: string,
  branch: string,
  { merged }: InspectOptions,
): Promise<number> {
  if (tips.every((tip) => tip === base)) return 0
  const known = (await commitAt(git, base)) === undefined ? [] : [base]
  const others = merged ? [`--exclude=refs/heads/${branch}`, '--branches', '--tags', '--remotes'] : []
  return Number(await git.run(['rev-list', '--count', ...tips, '--not', ...known, ...others]))
}

/** A commit that the tree once had checked out, and that nothing outside of it reaches. */
async function unreachableCommit(git: Git, gitDir: string, base: string): Promise<string | undefined> {
  const log = join(gitDir, 'logs', 'HEAD')
  if (!existsSync(log)) return undefined
  const lines = readFileSync(log, 'utf8').split('\n')
  const commits = new Set(lines.flatMap((line) => /^([0-9a-f]+) ([0-9a-f]+) /u.exec(line)?.slice(1, 3) ?? []))
  commits.delete(base)
  const there = [...commits].filter((commit) => !/^0+$/u.test(commit))
  if (there.length === 0) return undefined
  const args = [
    'rev-list',
    '--ignore-missing',
    '--max-count=1',
    '--stdin',
    '--not',
    base,
    '--exclude=refs/worktree/*',
    '--exclude=refs/bisect/*',
    '--exclude=refs/rewritten/*',
    '--glob=refs/*',
  ]
  return (await git.run(args, { input: `${there.join('\n')}\n` })).trim() || undefined
}
