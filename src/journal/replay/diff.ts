/**
 * Two logs side by side: where their stories first differ, and how. Ids, times and token counts are no part of a story.
 *
 * The tree is compared, too: children by the calls that started them. Of a branch the shared part counts as its own,
 * so a branch compared with its base differs from the branching point on at the earliest.
 */
import { basename, dirname, join } from 'node:path'
import type { Recorded } from '../../machines/agent/events.ts'
import type { AgentId } from '../../machines/ids.ts'
import { readEntries } from '../read-entries.ts'
import type { Storage } from '../storage.ts'
import type { SharedPart } from './base.ts'
import { loadBase } from './base.ts'
import type { StoryStep } from './steps.ts'
import { stepsOf } from './steps.ts'

/** One step in both logs, or in one of them only. */
export interface DiffRow {
  readonly a: StoryStep | undefined
  readonly b: StoryStep | undefined
  readonly same: boolean
}

/** Two agents side by side. */
export interface AgentDiff {
  readonly a: string
  readonly b: string
  readonly rows: readonly DiffRow[]
  readonly children: readonly AgentDiff[]
}

/** Where two logs first differ: which logs, and what stands there. */
export interface Difference {
  readonly a: { readonly path: string; readonly step: StoryStep | undefined }
  readonly b: { readonly path: string; readonly step: StoryStep | undefined }
}

export interface LogDiff extends AgentDiff {
  /** Undefined when both tell the same story. */
  readonly first: Difference | undefined
}

/** A log, wherever it is. */
export interface LogPlace {
  readonly storage: Storage
  readonly path: string
}

/** Compares two logs of roots, with the logs of their descendants. Rejects as `replay` does. */
export async function diffLogs(a: LogPlace, b: LogPlace): Promise<LogDiff> {
  const tree = await diffAgents(a, b, childFolder(a.path), childFolder(b.path))
  return { ...tree, first: firstDifference(tree) }
}

async function diffAgents(
  a: LogPlace,
  b: LogPlace,
  aChildren: string,
  bChildren: string,
): Promise<AgentDiff> {
  const [aSteps, bSteps] = [await storyOf(a), await storyOf(b)]
  const rows = align(aSteps, bSteps)
  const children: AgentDiff[] = []
  for (const { a: left, b: right } of rows) {
    if (left?.child === undefined || right?.child === undefined) continue
    const places = [childOf(a, aChildren, left.child), childOf(b, bChildren, right.child)] as const
    if (!(await exists(places[0])) || !(await exists(places[1]))) continue
    children.push(await diffAgents(places[0], places[1], aChildren, bChildren))
  }
  return { a: a.path, b: b.path, rows, children }
}

const childFolder = (rootLog: string): string =>
  join(dirname(rootLog), basename(rootLog, '.jsonl'), 'subagents')

const childOf = ({ storage }: LogPlace, folder: string, id: AgentId): LogPlace => ({
  storage,
  path: join(folder, `agent-${id}.jsonl`),
})

const exists = async ({ storage, path }: LogPlace): Promise<boolean> => storage.exists(path)

/** The steps of a log; of a branch the shared ones first. */
async function storyOf({ storage, path }: LogPlace): Promise<readonly StoryStep[]> {
  const events: Recorded[] = []
  for await (const entry of readEntries(storage, path))
    if (entry.kind === 'event') events.push(entry.recorded)
  const birth = events[0]?.event
  if (birth?.type !== 'agent.spawned' || birth.base === undefined) return stepsOf(events)
  const shared = await loadBase(storage, birth.base, path)
  const sharedModel = shared.state.birth?.plan.model.value
  const own = stepsOf(events)
  // Its birth is told once, by the base; what it changes is what the branch is about.
  return [...sharedSteps(shared), ...(sharedModel === birth.plan.model.value ? own.slice(1) : own)]
}

function sharedSteps({ events, below }: SharedPart): readonly StoryStep[] {
  return below === undefined ? stepsOf(events) : [...sharedSteps(below), ...stepsOf(events).slice(1)]
}

function align(a: readonly StoryStep[], b: readonly StoryStep[]): readonly DiffRow[] {
  return Array.from({ length: Math.max(a.length, b.length) }, (_, i) => {
    const [left, right] = [a[i], b[i]]
    return { a: left, b: right, same: left?.meaning === right?.meaning }
  })
}

/** The first in the order of the story: a child's before the result that tells of it. */
function firstDifference(tree: AgentDiff): Difference | undefined {
  for (const { a, b, same } of tree.rows) {
    const child = same && a?.child !== undefined && a.child
    const next = tree.children.find((diff) => diff.a.endsWith(`agent-${child}.jsonl`))
    const inside = next && firstDifference(next)
    if (inside !== undefined) return inside
    if (!same) return { a: { path: tree.a, step: a }, b: { path: tree.b, step: b } }
  }
  return undefined
}
