/** From all lines that were seen to the few that are worth reporting. */
import type { Angle } from './angle.ts'
import type { SeenText } from './context.ts'
import { candidateAt, declarations, seenText } from './context.ts'
import { declaredIn, isComment } from './lines.ts'
import { carries, matchable } from './match.ts'
import { pathKind } from './path-kind.ts'
import type { Candidate, Hit, Sight } from './rank.ts'
import { rank, spread } from './rank.ts'
import type { Task } from './task.ts'
import type { SeenLine } from './tool-text.ts'

/** What an exploring agent has found. */
export interface Findings {
  /** The best hits of each angle, best first; none for an angle that was not asked for. */
  readonly hits: Readonly<Record<Angle, readonly Hit[]>>
  /** Comments that speak of the words, best first, where what they stand above was not seen yet. */
  readonly comments: readonly Hit[]
  /** What went wrong, one sentence each. */
  readonly problems: readonly string[]
}

/** Hits of one angle. */
export const MOST_HITS = 12
const MOST_PER_FILE = 4

/** What `evidence`, the lines that results have shown, says on a task. A line may be there more than once. */
export function judge(task: Task, evidence: readonly SeenLine[], problems: readonly string[]): Findings {
  const seen = seenText(evidence)
  const lines = [...new Map(evidence.map((line) => [`${line.path}:${line.line}`, line])).values()]
  const counts = countWords(task, lines)
  const all = [...lines, ...declarations(seen)]
  const sight = (angle: Angle): Sight => ({ words: task.words, angle, counts, wanted: task.wanted })
  const best = (hits: readonly Hit[]): readonly Hit[] => spread(hits, MOST_HITS, MOST_PER_FILE)
  const hitsOf = (angle: Angle): readonly Hit[] => {
    if (task.angle !== undefined && task.angle !== angle) return []
    const candidates = all.filter((line) => belongs(line, angle)).map((line) => candidate(seen, line, angle))
    return best(onlyNamed(rank(candidates, sight(angle)), angle))
  }
  const comments = lines.map((line) => candidateAt(seen, line)).filter((line) => isComment(line.text))
  return {
    hits: {
      definitions: hitsOf('definitions'),
      usages: hitsOf('usages'),
      'docs-and-tests': hitsOf('docs-and-tests'),
    },
    comments: best(rank(comments, sight('definitions'))),
    problems,
  }
}

/** A definition is looked for under the comment that speaks of it; a usage is the line itself. */
function candidate(seen: SeenText, line: SeenLine, angle: Angle): Candidate {
  return angle === 'usages' ? { ...line, comment: [], body: [] } : candidateAt(seen, line)
}

function belongs(line: SeenLine, angle: Angle): boolean {
  const kind = pathKind(line.path)
  if (angle === 'docs-and-tests') return kind === 'docs' || kind === 'test'
  if (kind === 'docs') return false
  return angle === 'definitions' || (!isComment(line.text) && declaredIn(line.text)?.kind !== 'top')
}

/** Lines that declare nothing stand among the definitions only where there is hardly anything else. */
function onlyNamed(hits: readonly Hit[], angle: Angle): readonly Hit[] {
  if (angle !== 'definitions') return hits
  const named = hits.filter((hit) => hit.declared !== undefined && hit.declared.kind !== 'local')
  return named.length >= 3 ? named : hits
}

/** In how many of the lines each word stands. */
function countWords(task: Task, lines: readonly SeenLine[]): ReadonlyMap<string, number> {
  const texts = lines.map((line) => matchable(line.text))
  return new Map(
    task.words.map((word) => [word.text, texts.filter((text) => carries(text, word) >= 0.5).length]),
  )
}
