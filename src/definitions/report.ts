/** What a parent is handed when its child has ended: text for its model, a record for readers of transcripts. */
import { inert } from './context/envelope.ts'
import { DEFAULT_LIMITS } from './limits.ts'
import { type RefusedCall, refusedNote, reviewNote } from './review/notes.ts'
import type { Verdict } from './review/verdict.ts'

/** Token counts of one request, as the Messages API gives them. Other fields pass through. */
export interface ReportUsage {
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cache_creation_input_tokens?: number | undefined
  readonly cache_read_input_tokens?: number | undefined
}

/** What a run came to, as its last event says. */
type ReportOutcome =
  | { readonly kind: 'completed' }
  | { readonly kind: 'limit'; readonly limit: string }
  | { readonly kind: 'partial' }
  | { readonly kind: 'no_report' }
  | { readonly kind: 'invalid_report'; readonly problem: string }
  | { readonly kind: 'failed' }
  | { readonly kind: 'killed' }

/** The facts of an ended child. */
export interface ReportFacts {
  readonly agentId: string
  readonly agentType: string
  /** The task it was given. */
  readonly prompt: string
  /** Its report; empty when there is none. */
  readonly text: string
  readonly outcome: ReportOutcome
  /** Of its last request. */
  readonly usage: ReportUsage
  readonly toolUses: number
  readonly durationMs: number
  /** Refused calls per tool. */
  readonly denials?: Readonly<Record<string, number>> | undefined
  /** The worktree that was kept, and its branch where git made it. */
  readonly worktreePath?: string | undefined
  readonly worktreeBranch?: string | undefined
  /** The same calls one by one, as the engine knows them. */
  readonly refused?: readonly RefusedCall[] | undefined
  /** What a review of its work came to; undefined when there was none. */
  readonly review?: Verdict | undefined
  /** One-shot agents are not continued: their id and usage are of no use to the parent's model. */
  readonly isOneShot: boolean
  /** The parent has `SendMessage` and may go on with this agent. */
  readonly canContinue?: boolean | undefined
  /** Where the whole log is. */
  readonly logPath: string
}

/** A text block of the Messages API. An alias, so that it is assignable to blocks with unknown fields. */
export type ReportBlock = {
  readonly type: 'text'
  readonly text: string
}

/** The record of an ended child: the `completed` variant of the tool's output. JSON without null fields. */
export interface AgentStructuredResult {
  readonly status: 'completed'
  readonly prompt: string
  readonly agentId: string
  readonly agentType: string
  readonly content: readonly ReportBlock[]
  readonly totalDurationMs: number
  /** Of its last request, all kinds of tokens. */
  readonly totalTokens: number
  readonly totalToolUseCount: number
  readonly usage: ReportUsage
  readonly outcome: ReportOutcome['kind']
  /** Which, where the outcome is `limit`. */
  readonly limit?: string
  readonly denials?: Readonly<Record<string, number>>
  readonly worktreePath?: string
  readonly worktreeBranch?: string
  /** What its review came to, and why. Absent when there was none. */
  readonly review?: { readonly verdict: Verdict['kind']; readonly reason?: string }
}

/**
 * The content of the `Agent` call's result: what a review has found, the report, then what the engine adds. The
 * engine's words stand in blocks of their own, so that no text of the child runs into them, and no text of the child
 * looks like an envelope of the engine. All blocks together stay within `maxChars`
 * UTF-16 code units, unless those are too few for the engine's own words.
 */
export function agentResultContent(
  facts: ReportFacts,
  maxChars: number = DEFAULT_LIMITS.agentResultChars,
): readonly ReportBlock[] {
  const added = [
    outcomeNote(facts),
    keptWorktreeNote(facts),
    refusedNote(facts.refused ?? []),
    facts.isOneShot ? undefined : trailer(facts),
  ]
    .filter((text) => text !== undefined)
    .map(block)
  const room = maxChars - added.reduce((sum, { text }) => sum + text.length, 0)
  return [...reportBlocks(facts, room), ...added]
}

/** The record that goes beside the result in the transcript. */
export function agentStructuredResult(
  facts: ReportFacts,
  maxChars: number = DEFAULT_LIMITS.agentResultChars,
): AgentStructuredResult {
  const { outcome } = facts
  return {
    status: 'completed',
    prompt: facts.prompt,
    agentId: facts.agentId,
    agentType: facts.agentType,
    content: reportBlocks(facts, maxChars),
    totalDurationMs: facts.durationMs,
    totalTokens: totalTokensOf(facts.usage),
    totalToolUseCount: facts.toolUses,
    usage: facts.usage,
    outcome: outcome.kind,
    ...(outcome.kind === 'limit' && { limit: outcome.limit }),
    ...(facts.denials !== undefined && { denials: facts.denials }),
    ...(facts.worktreePath !== undefined && { worktreePath: facts.worktreePath }),
    ...(facts.worktreeBranch !== undefined && { worktreeBranch: facts.worktreeBranch }),
    ...(facts.review !== undefined && { review: recordOf(facts.review) }),
  }
}

/** All tokens of a request: input, read from and written to the cache, output. */
export function totalTokensOf(usage: ReportUsage): number {
  return (
    usage.input_tokens +
    (usage.cache_creation_input_tokens ?? 0) +
    (usage.cache_read_input_tokens ?? 0) +
    usage.output_tokens
  )
}

/** The text, or its start with a marker behind it that says where the rest is. Never splits a character. */
export function cutText(text: string, maxChars: number, whereAll: string): string {
  if (text.length <= maxChars) return text
  const marker = `\n\n[Cut: the report has ${text.length} characters. The whole text is in ${whereAll}]`
  return `${startOf(text, maxChars - marker.length)}${marker}`
}

function recordOf(verdict: Verdict): NonNullable<AgentStructuredResult['review']> {
  const reason = verdict.kind === 'unavailable' ? verdict.why : verdict.reason
  return { verdict: verdict.kind, ...(reason !== undefined && { reason }) }
}

/** The report behind what was found about it, which nobody who reads the one can miss. */
function reportBlocks({ text, logPath, review }: ReportFacts, maxChars: number): readonly ReportBlock[] {
  if (text.trim() === '') return []
  const note = reviewNote(review)
  const room = maxChars - (note?.length ?? 0)
  return [...(note === undefined ? [] : [block(note)]), block(cutText(inert(text), room, logPath))]
}

function outcomeNote({ outcome, text, logPath }: ReportFacts): string | undefined {
  const isEmpty = text.trim() === ''
  const what = isEmpty ? 'It left no report' : 'What stands above is what it had'
  switch (outcome.kind) {
    case 'completed':
    case 'no_report':
      return isEmpty ? `[The agent ended without a report. What it did is in its log: ${logPath}]` : undefined
    case 'limit':
      return `[The agent reached its limit of ${outcome.limit} before it was done. ${what}; its log: ${logPath}]`
    case 'partial':
      return `[The agent's last reply was cut at the model's output limit. ${what}; its log: ${logPath}]`
    case 'invalid_report':
      return `[The report does not have the form that was asked for: ${outcome.problem}]`
    case 'failed':
    case 'killed':
      return `[The agent did not finish: it ${outcome.kind === 'failed' ? 'failed' : 'was stopped'}. ${what}; its log: ${logPath}]`
  }
}

/** Where the changes of a child in a worktree of its own are; undefined when there are none. */
export function keptWorktreeNote({
  worktreePath,
  worktreeBranch,
}: Pick<ReportFacts, 'worktreePath' | 'worktreeBranch'>): string | undefined {
  if (worktreePath === undefined) return undefined
  const branch = worktreeBranch === undefined ? '' : ` on branch ${worktreeBranch}`
  return `[Its changes are in the worktree ${worktreePath}${branch}, which was kept; they are not in your directory.]`
}

function trailer(facts: ReportFacts): string {
  const hint = facts.canContinue === true ? ` (SendMessage with to: '${facts.agentId}' goes on with it)` : ''
  return (
    `agentId: ${facts.agentId}${hint}\n` +
    `<usage>total_tokens: ${totalTokensOf(facts.usage)}\n` +
    `tool_uses: ${facts.toolUses}\nduration_ms: ${facts.durationMs}</usage>`
  )
}

/** At most `length` code units from the start, without half of a surrogate pair at the end. */
function startOf(text: string, length: number): string {
  if (length <= 0) return ''
  const last = text.charCodeAt(length - 1)
  const isHalf = last >= 0xd800 && last <= 0xdbff
  return text.slice(0, isHalf ? length - 1 : length)
}

function block(text: string): ReportBlock {
  return { type: 'text', text }
}
