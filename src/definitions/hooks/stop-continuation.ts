/** Stop hooks that do not let an agent stop: how often, what it is told, and what becomes of its report. */

/** What is known when a `Stop` or `SubagentStop` hook blocks. */
export interface StopBlock {
  readonly event: 'Stop' | 'SubagentStop'
  /** Blocks of this run that were honoured so far, one after the other. Its end resets it. */
  readonly blocks: number
  /** Most in a row. Default 5. 0: none is honoured. */
  readonly cap?: number
}

/** Whether the block is honoured. */
export type StopContinuation =
  /** `instruction` is for the agent, behind the hooks' reasons. It is the engine's text. `blocks` counts this one. */
  | { readonly kind: 'continue'; readonly blocks: number; readonly instruction: string }
  /** The agent stops all the same. `notice` is for the person. */
  | { readonly kind: 'end'; readonly notice: string }

/** Blocks in a row, as the table of limits has it. */
const DEFAULT_CAP = 5

/** The first line of a message whose rest is the report instead of the first one. */
export const NEW_REPORT_MARK = 'New report:'

/** May this block send the agent back to work? `stop_hook_active` of the next stop is then true. */
export function stopContinuation({ event, blocks, cap = DEFAULT_CAP }: StopBlock): StopContinuation {
  if (blocks >= cap) {
    const notice =
      cap === 0
        ? `A ${event} hook wants the agent to go on; blocks of stop hooks are turned off.`
        : `A ${event} hook blocked the end of the agent more than ${cap} times in a row; the agent was ended.`
    return { kind: 'end', notice }
  }
  const count = `${blocks + 1} of at most ${cap} in a row`
  const report =
    event === 'Stop'
      ? ''
      : ` Your report is kept as it is. If what you do now changes it, make your last message the whole report again, with "${NEW_REPORT_MARK}" as its first line; other messages do not become part of it.`
  return {
    kind: 'continue',
    blocks: blocks + 1,
    instruction: `You cannot stop yet (${count}). See to what the ${event} hook asks for, then stop again.${report}`,
  }
}

/** The report of a child that a stop hook sent back to work. */
export interface KeptReport {
  readonly text: string
  readonly isReplaced: boolean
}

/**
 * The first report, unless the last message begins with {@link NEW_REPORT_MARK} and has text behind it. Agents answer
 * a stop hook with "Done, the linter passes now": taken as the report, that would cost the parent all of the work.
 */
export function keptReport(first: string, last: string): KeptReport {
  const begins = last.trimStart()
  const replacement = begins.startsWith(NEW_REPORT_MARK) ? begins.slice(NEW_REPORT_MARK.length).trim() : ''
  if (replacement !== '') return { text: replacement, isReplaced: true }
  // There was no report to keep.
  if (first.trim() === '' && last.trim() !== '' && begins.trim() !== NEW_REPORT_MARK)
    return { text: last, isReplaced: true }
  return { text: first, isReplaced: false }
}
