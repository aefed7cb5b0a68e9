/** Which folders are watched for changes of agents and skills. */
import { statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { realFolder } from '../context/repository-root.ts'
import { isInside } from '../tools/confinement.ts'
import type { Plugin } from './plugin.ts'
import type { ProjectPlaces } from './project-places.ts'

/** Something to watch. Paths are absolute. */
export interface WatchTarget {
  /** `agents`: Markdown and JSON files at any depth. `skills`: the `SKILL.md` of each folder in it. */
  readonly kind: 'agents' | 'skills'
  readonly path: string
  /** A folder above it, or itself, from which on its creation is noticed. No link. */
  readonly anchor: string
}

/** The folders of person, project, policy and plugins, those included that do not exist yet. */
export function watchTargets(
  { configDir, policyDir, folders }: ProjectPlaces,
  plugins: readonly Plugin[],
): readonly WatchTarget[] {
  const own = realFolder(configDir)
  return [
    ...folders.flatMap(({ path, within }) => targetsIn(join(path, '.claude'), path, within)),
    ...targetsIn(own, isFolder(own) ? own : dirname(own)),
    ...(policyDir === undefined ? [] : policyTargets(realFolder(policyDir))),
    ...plugins.flatMap(({ dir, agents }) => {
      const anchor = realFolder(dir)
      const named = agents.places
        .map(({ path }) => realFolder(path))
        .filter((path) => isInside(anchor, path))
        .map((path): WatchTarget => ({ kind: 'agents', path, anchor }))
      return [...targetsIn(anchor, anchor, anchor), ...named]
    }),
  ]
}

function policyTargets(folder: string): readonly WatchTarget[] {
  return [
    { kind: 'agents', path: join(folder, 'agents'), anchor: folder },
    { kind: 'agents', path: join(folder, '.claude', 'agents'), anchor: folder },
  ]
}

/** Where a link leads to is watched as well, as a link changes only when it is replaced; never out of `within`. */
function targetsIn(folder: string, anchor: string, within?: string): readonly WatchTarget[] {
  return (['agents', 'skills'] as const).flatMap((kind) => {
    const path = join(folder, kind)
    const real = realFolder(path)
    const named: WatchTarget = { kind, path, anchor }
    const isLeft = real === path || (within !== undefined && !isInside(within, real))
    return isLeft ? [named] : [named, { kind, path: real, anchor: real }]
  })
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
