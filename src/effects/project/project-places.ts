/**
 * Where the files of the person and the project stand.
 *
 * L1 The project's folders are those from the working directory up to the root of the repository, never beyond;
 *    without a repository only the working directory.
 * L2 The person's own folder is the person's, also where the project holds it.
 * L3 A root that holds the whole home folder says nothing of what belongs together: there each folder is on its own.
 */
import { dirname, join } from 'node:path'
import { findRepositoryRoot, realFolder } from '../context/repository-root.ts'
import { isInside } from '../tools/confinement.ts'
import type { AgentPlace } from './walk-agent-files.ts'

/** A folder of the project that may hold `.claude`. */
export interface ProjectFolder {
  /** Absolute, links resolved. */
  readonly path: string
  /** Folder, resolved, that everything in it must lie in. */
  readonly within: string
}

/** All that is needed to find files. Paths are absolute. */
export interface ProjectPlaces {
  /** Links resolved. */
  readonly cwd: string
  readonly home: string
  readonly configDir: string
  readonly policyDir: string | undefined
  /** Root of the repository; without one the working directory. */
  readonly root: string
  readonly isRepository: boolean
  /** The nearest first (L1, L2). */
  readonly folders: readonly ProjectFolder[]
}

/** Finds the places. */
export function findPlaces(options: {
  readonly cwd: string
  readonly home: string
  readonly configDir: string
  readonly policyDir: string | undefined
}): ProjectPlaces {
  const cwd = realFolder(options.cwd)
  const found = findRepositoryRoot(cwd)
  const root = found ?? cwd
  const own = realFolder(options.configDir)
  const holdsHome = isInside(root, realFolder(options.home))
  const folders = foldersBetween(cwd, root)
    .filter((path) => realFolder(join(path, '.claude')) !== own)
    .map((path) => ({ path, within: holdsHome ? path : root }))
  return { ...options, cwd, root, isRepository: found !== undefined, folders }
}

/** The folders of agents of policy, project and person. */
export function agentPlaces({ configDir, policyDir, folders }: ProjectPlaces): readonly AgentPlace[] {
  const policy =
    policyDir === undefined ? [] : [join(policyDir, 'agents'), join(policyDir, '.claude', 'agents')]
  const own = join(configDir, 'agents')
  return [
    ...policy.map(
      (path): AgentPlace => ({
        path,
        within: [realFolder(policyDir ?? path)],
        origin: { source: 'policySettings', ...(policyDir !== undefined && { baseDir: policyDir }) },
      }),
    ),
    ...folders.map(
      ({ path, within }): AgentPlace => ({
        path: join(path, '.claude', 'agents'),
        within: [within],
        origin: { source: 'projectSettings', baseDir: path },
      }),
    ),
    {
      path: own,
      // The folder itself may be a link: many keep it in a repository of their own.
      within: [realFolder(configDir), realFolder(own)],
      origin: { source: 'userSettings', baseDir: configDir },
    },
  ]
}

function foldersBetween(folder: string, root: string): readonly string[] {
  return folder === root ? [folder] : [folder, ...foldersBetween(dirname(folder), root)]
}
