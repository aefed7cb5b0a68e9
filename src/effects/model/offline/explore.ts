/**
 * One agent that explores alone: it searches, reads around the best hits, and knows then what it can report.
 * Each turn is computed from the conversation so far; nothing is remembered elsewhere.
 */
import { ANGLES } from './angle.ts'
import type { Episode, Exchange } from './conversation.ts'
import type { Findings } from './findings.ts'
import { judge, MOST_HITS } from './findings.ts'
import { carries, matchable } from './match.ts'
import { pathKind } from './path-kind.ts'
import type { Hit } from './rank.ts'
import { shown } from './report.ts'
import { broaderSearch, firstSearches, reads } from './searches.ts'
import type { Call } from './step.ts'
import type { Task } from './task.ts'
import type { SeenLine } from './tool-text.ts'
import { globPaths, grepLines, readLines } from './tool-text.ts'

/** Either more calls are worth making, or there are findings. */
export type Exploration =
  | { readonly status: 'searching'; readonly calls: readonly Call[] }
  | { readonly status: 'found'; readonly findings: Findings }

const MOST_FILES_BY_NAME = 3
/** Nobody asks for more than one broader search. */
const SEARCH_ROUNDS = 2

/** The next thing to do for a task. `offered` are the names of the tools at hand. */
export function explore(task: Task, episode: Episode, offered: ReadonlySet<string>): Exploration {
  const done = episode.rounds.flat()
  const rounds = episode.rounds.filter((round) => round.some((call) => call.tool === 'Grep')).length
  if (rounds === 0 && offered.has('Grep')) return { status: 'searching', calls: firstSearches(task, offered) }

  const evidence = gather(done)
  const files = filesNamedAfter(task, done)
  const allFailed = done.every((call) => call.failed)
  const nothing = evidence.length === 0 && files.length === 0
  if (nothing && !allFailed && rounds < SEARCH_ROUNDS && offered.has('Grep'))
    return { status: 'searching', calls: [broaderSearch(task)] }

  const findings = judge(task, evidence, problemsOf(done))
  if (nothing || !offered.has('Read') || done.some((call) => call.tool === 'Read'))
    return { status: 'found', findings }
  const calls = reads(worthReading(task, findings), files)
  return calls.length === 0 ? { status: 'found', findings } : { status: 'searching', calls }
}

/** All lines that results have shown. */
function gather(done: readonly Exchange[]): readonly SeenLine[] {
  return done.flatMap((call) => {
    if (call.failed) return []
    if (call.tool === 'Grep') return grepLines(call.result)
    return call.tool === 'Read' ? readLines(String(call.input['file_path'] ?? ''), call.result) : []
  })
}

/** Files found by name that carry the most words in it, sources first. */
function filesNamedAfter(task: Task, done: readonly Exchange[]): readonly string[] {
  const paths = done
    .filter((call) => call.tool === 'Glob' && !call.failed)
    .flatMap((call) => globPaths(call.result))
  const worth = (path: string): number => {
    const name = matchable(path.split('/').slice(-2).join('/'))
    const carried = task.words.reduce((sum, word) => sum + carries(name, word) * (word.weak ? 0.4 : 1), 0)
    const wanted = task.angle === 'docs-and-tests' ? ['docs', 'test'] : ['source']
    return carried * (wanted.includes(pathKind(path)) ? 1 : 0.2)
  }
  return [...new Set(paths)]
    .map((path) => ({ path, worth: worth(path) }))
    .filter((file) => file.worth >= 0.5)
    .sort((one, other) => other.worth - one.worth)
    .slice(0, MOST_FILES_BY_NAME)
    .map((file) => file.path)
}

/**
 * What is worth reading around: the best hits of each angle in turn. Comments have a turn of their own, because
 * only reading shows what they speak of.
 */
function worthReading(task: Task, findings: Findings): readonly Hit[] {
  const rows = (task.angle === undefined ? ANGLES : [task.angle]).flatMap((angle) => {
    const hits = findings.hits[angle]
    return angle === 'definitions' ? [hits, findings.comments] : [hits]
  })
  return Array.from({ length: MOST_HITS }, (_, index) =>
    rows.flatMap((row) => row.slice(index, index + 1)),
  ).flat()
}

function problemsOf(done: readonly Exchange[]): readonly string[] {
  const problems = done
    .filter((call) => call.failed)
    .map(
      (call) =>
        `${call.tool} failed: ${shown(call.result.split('\n').find((row) => row.trim() !== '') ?? 'no reason given')}`,
    )
  return [...new Set(problems)]
}
