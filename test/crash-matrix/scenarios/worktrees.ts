import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { ScriptedCall } from '../../../src/effects/model/scripted-reply.ts'
import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import type { SeenLog } from '../final.ts'
import type { Scenario } from '../scenario.ts'
import { act, agent, LONG_MS, look } from '../scenario.ts'

/** Only the victim has this call, and the host kills whoever begins it. */
const DEADLY = 'the last straw'

/** A child in a worktree of its own. */
const apart = (prompt: string): ScriptedCall => {
  const { name, input } = agent(prompt)
  return { name, input: { ...input, isolation: 'worktree' } }
}

/** Writes a file in the worktree, and then a line into the ledger of the main tree, which git ignores: it proves the file. */
const make = (file: string): ScriptedCall => ({
  name: 'Bash',
  input: { command: `echo ${file} > ${file} && echo ${file} >> ../../../ledger` },
})

const commit: ScriptedCall = {
  name: 'Bash',
  input: {
    command:
      'echo committed > committed && git add committed && git -c user.name=a -c user.email=a@localhost commit --quiet -m work && echo committed >> ../../../ledger',
  },
}

/** Things of a person's that look like the engine's, and must be there at the end as they were. */
const OTHERS = ['worktree-agent-of-a-person', 'main']
const THEIR_TREE = path.join('.claude', 'worktrees', 'agent-of-a-person')

export const scenario: Scenario = {
  name: 'worktrees',
  about:
    'Children in worktrees: what one has changed is kept and named, of one without changes nothing remains, and nothing else is touched.',
  prompts: ['the root'],
  play: {
    'the root': [
      callMany([apart('the changer'), apart('the reader'), apart('the committer'), apart('the victim')]),
      callMany([apart('the last')]),
      say('the end'),
    ],
    'the changer': [callMany([make('made')]), say('made it')],
    'the reader': [callMany([look('reader')]), say('read it')],
    'the committer': [callMany([commit]), say('committed it')],
    'the victim': [
      callMany([make('unfinished')]),
      callMany([look(DEADLY, { beside: true }), act(DEADLY, { ms: LONG_MS, beside: true })]),
      say('I was spared'),
    ],
    'the last': [say('there was nothing to do')],
  },
  ends: {
    'the root': 'completed',
    'the changer': 'completed',
    'the reader': 'completed',
    'the committer': 'completed',
    // A process that dies before the kill is in the log knows nothing of it, and nobody kills again.
    'the victim': ['killed', 'completed'],
    'the last': 'completed',
  },
  outcomes: {
    'Agent the victim': ['interrupted', 'ok'],
    [`Act ${DEADLY}`]: ['interrupted', 'ok'],
  },
  usesFiles: true,
  usesProcesses: true,
  prepare: (project) => {
    writeFileSync(path.join(project, '.gitignore'), 'ledger\n')
    writeFileSync(path.join(project, 'a.txt'), 'one\n')
    git(project, 'init', '--quiet', '--initial-branch=main')
    git(project, 'add', '--all')
    git(project, '-c', 'user.name=a', '-c', 'user.email=a@localhost', 'commit', '--quiet', '-m', 'first')
    mkdirSync(path.join(project, '.claude', 'worktrees'), { recursive: true })
    git(project, 'worktree', 'add', '--quiet', '-b', 'worktree-agent-of-a-person', THEIR_TREE)
    // Unfinished work of the person's own.
    writeFileSync(path.join(project, 'a.txt'), 'two\n')
    writeFileSync(path.join(project, 'new.txt'), 'three\n')
  },
  onFact: ({ event, agentId }, engine) => {
    if (event.type === 'call.ended' && JSON.stringify(event.result.content).includes(`Look ${DEADLY}`))
      void engine.kill(agentId, 'enough').catch(() => {})
  },
  check: ({ logs, project = '' }) => {
    const trees = logs.filter(({ isRoot }) => !isRoot).map((log) => treeOf(log, project))
    const kept = trees.filter(({ isKept }) => isKept)
    const root = logs.find(({ isRoot }) => isRoot)
    return [
      ...trees.flatMap((tree) => treeProblems(tree)),
      ...kept.flatMap(({ branch, who }) =>
        JSON.stringify(root?.recorded).includes(`"worktreeBranch":"${branch}"`)
          ? []
          : [`the worktree of ${who} was kept, and no result names it`],
      ),
      ...lostWork(project, trees),
      ...remainsProblems(project, kept),
    ]
  },
}

interface SeenTree {
  readonly who: string
  /** What its end says. */
  readonly isKept: boolean
  readonly fate: string | undefined
  readonly wasMade: boolean
  readonly folder: string
  readonly branch: string
}

function treeOf({ recorded, runs }: SeenLog, project: string): SeenTree {
  const events = recorded.map(({ event }) => event)
  const end = events.findLast((event) => event.type === 'agent.ended')
  const asked = events.findLast((event) => event.type === 'worktree.requested')
  return {
    who: runs[0]?.prompt ?? '?',
    isKept: end?.worktreePath !== undefined,
    fate: events.findLast((event) => event.type === 'worktree.decided')?.fate,
    wasMade: events.some((event) => event.type === 'worktree.created'),
    folder: asked?.git?.path ?? path.join(project, 'nowhere'),
    branch: asked?.git?.branch ?? 'nothing',
  }
}

/** The log, the end and the disk say the same. */
function treeProblems({ who, isKept, fate, wasMade, folder }: SeenTree): readonly string[] {
  const mustGo = ['the reader', 'the last'].includes(who)
  return [
    ...(wasMade || who === 'the victim' ? [] : [`${who} worked in no worktree of its own`]),
    ...(isKept && mustGo ? [`the worktree of ${who} was kept`] : []),
    ...(isKept === existsSync(folder) ? [] : [`${who}: kept is ${isKept}, its folder is the opposite`]),
    ...(wasMade && (fate === 'kept') !== isKept
      ? [`${who}: decided was ${fate}, its end says ${isKept}`]
      : []),
  ]
}

const FILES: Readonly<Record<string, string>> = {
  'the changer': 'made',
  'the committer': 'committed',
  'the victim': 'unfinished',
}

/** Whatever the ledger proves to have been written is in a tree that was kept. */
function lostWork(project: string, trees: readonly SeenTree[]): readonly string[] {
  const ledger = path.join(project, 'ledger')
  const lines = existsSync(ledger) ? readFileSync(ledger, 'utf8').trimEnd().split('\n') : []
  return trees.flatMap(({ who, folder, isKept }) => {
    const file = FILES[who]
    if (file === undefined || !lines.includes(file)) return []
    return isKept && existsSync(path.join(folder, file)) ? [] : [`${file}, the work of ${who}, is lost`]
  })
}

/** The repository has what was kept and what was the person's, and nothing else. */
function remainsProblems(project: string, kept: readonly SeenTree[]): readonly string[] {
  const same = (what: string, found: readonly string[], expected: readonly string[]): readonly string[] =>
    found.toSorted().join() === expected.toSorted().join()
      ? []
      : [`${what} are [${found.join()}], not [${expected.join()}]`]
  const common = path.join(project, '.git')
  const folders = kept.map(({ folder }) => folder)
  return [
    ...same('branches', lines(git(project, 'for-each-ref', '--format=%(refname:short)', 'refs/heads/')), [
      ...OTHERS,
      ...kept.map(({ branch }) => branch),
    ]),
    ...same(
      'worktrees',
      lines(git(project, 'worktree', 'list', '--porcelain')).flatMap((line) =>
        line.startsWith('worktree ') ? [line.slice('worktree '.length)] : [],
      ),
      [project, path.join(project, THEIR_TREE), ...folders],
    ),
    ...same('folders', readdirSync(path.join(project, '.claude', 'worktrees')), [
      path.basename(THEIR_TREE),
      ...folders.map((folder) => path.basename(folder)),
    ]),
    ...same(
      'records',
      readdirSync(path.join(common, 'troupe', 'worktrees')).filter((name) => name.endsWith('.json')),
      folders.map((folder) => `${path.basename(folder)}.json`),
    ),
    ...same('changes of the main tree', lines(git(project, 'status', '--porcelain')), [
      'M a.txt',
      '?? new.txt',
    ]),
    ...same(
      'changes of the tree of a person',
      lines(git(path.join(project, THEIR_TREE), 'status', '--porcelain')),
      [],
    ),
    ...same('commits of main', lines(git(project, 'log', '--format=%s', 'main')), ['first']),
  ]
}

const lines = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '')

/** Without the settings of whoever runs it. */
function git(cwd: string, ...args: readonly string[]): string {
  return execFileSync('git', args, {
    cwd,
    env: { PATH: process.env['PATH'], HOME: cwd, GIT_CONFIG_NOSYSTEM: '1', LC_ALL: 'C' },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim()
}
