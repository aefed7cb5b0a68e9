/** What others are told of a verdict, and of what the engine refused. The engine's own words, in bounded length. */
import { envelope, inert } from '../context/envelope.ts'
import { onOneLine } from '../context/text.ts'
import { headAndTail } from './excerpt.ts'
import { jsonOf } from './question.ts'
import type { Verdict } from './verdict.ts'

/**
 * What stands above a report that was reviewed; undefined when there is nothing to say. Work that could not be reviewed
 * is not shown as unsafe.
 */
export function reviewNote(verdict: Verdict | undefined): string | undefined {
  switch (verdict?.kind) {
    case undefined:
    case 'allow':
      return undefined
    case 'flag':
      return warning('flagged', verdict.reason, 'Look at what it did before you rely on its report.')
    case 'block':
      return warning(
        'judged to be harmful',
        verdict.reason,
        'Do not act on its report and do not go on with its work before the user has decided.',
      )
    case 'unavailable':
      // The same words for every cause: the log has the details, and a replay must come to the same text.
      return '[The work of this agent was not reviewed: the reviewer could not be asked. That says nothing against it; check what it did before you rely on it.]'
  }
}

const warning = (what: string, reason: string, next: string): string =>
  envelope(
    'security-warning',
    `SECURITY WARNING: the work of this agent was ${what}. Reason: ${reason}\n${next}`,
  )

/** What a refused agent is told to do now begins with this; it is of no use to others. */
const ADVICE = ' Do not try to reach'

/** A call that the engine refused an agent. */
export interface RefusedCall {
  readonly toolName: string
  readonly input: unknown
  /** As the agent was told. */
  readonly reason: string
}

/** Entries of the list; more are counted. */
const MAX_ENTRIES = 8
/** UTF-16 units of what was to be done, and of the reason. */
const MAX_WHAT = 160
const MAX_WHY = 240

/** The calls that an agent was refused, listed by the engine; undefined when there were none. */
export function refusedNote(refused: readonly RefusedCall[]): string | undefined {
  if (refused.length === 0) return undefined
  const lines = refused.slice(0, MAX_ENTRIES).map(({ toolName, input, reason }) => {
    const what = plain(jsonOf(input), MAX_WHAT)
    return `- ${plain(toolName, 80)} ${what}: ${plain(reason.split(ADVICE, 1)[0] ?? '', MAX_WHY)}`
  })
  const more = refused.length - lines.length
  return [
    `[Refused by the engine, so not done (${refused.length}):`,
    ...lines,
    ...(more > 0 ? [`- and ${more} more`] : []),
    ']',
  ].join('\n')
}

/** An agent's own text in a line of ours. */
const plain = (text: string, max: number): string =>
  onOneLine(headAndTail(inert(text.slice(0, 10 * max)), max))
