/**
 * Matchers: which tool, type of agent, or reason a hook is for.
 *
 * - Absent, blank or `*`: all.
 * - Names, with `|` or `,` between them: compared whole. Names of tools are compared as in rules: in any case, by old
 *   names too (`Task` is `Agent`), and `mcp__server` stands for all tools of that server.
 * - Anything else is a regular expression that may match anywhere; `^` and `$` hold it to the ends. It is tried on
 *   old names as well.
 *
 * Matchers come from files of strangers: expressions run in linear time, and those that cannot (look-ahead, back
 * references) are refused. A hook with a refused matcher never runs, and that is told: it must not come to match all,
 * nor silently nothing.
 */
import type { HookDeclaration } from '../hook-declaration.ts'
import { readLinearPattern } from '../linear-pattern.ts'
import { canonicalToolName, coversMcpTool, isSameTool } from '../tool-names.ts'
import type { HookSubject } from './hook-input.ts'

/** A matcher that was read, or why it is refused. */
export type HookMatcher =
  | { readonly kind: 'matcher'; readonly matches: (subject: HookSubject | undefined) => boolean }
  | { readonly kind: 'refused'; readonly why: string }

/** In UTF-16 units. No tool and no agent has a longer name; a model that invents one must not evade a guard. */
const LONGEST_SUBJECT = 1_000

const NAMES = /^[\p{L}\p{M}\p{N}_:@/\- ]+(?:[|,][\p{L}\p{M}\p{N}_:@/\- ]+)*$/u

/** Names that a tool had, by its name of today. */
const OLD_TOOL_NAMES: ReadonlyMap<string, readonly string[]> = new Map([['Agent', ['Task']]])

/** Reads a matcher as a declaration has it. */
export function readHookMatcher(written: string | undefined): HookMatcher {
  const matcher = written?.trim() ?? ''
  if (matcher === '' || matcher === '*') return { kind: 'matcher', matches: () => true }
  if (NAMES.test(matcher)) {
    const names = matcher.split(/[|,]/u).map((name) => name.trim())
    return matching((subject) => names.some((name) => isNamed(subject, name)))
  }
  const read = readLinearPattern(matcher)
  if (read.kind === 'unsupported') return { kind: 'refused', why: read.why }
  return matching((subject) =>
    namesOf(subject).some((name) => name.length > LONGEST_SUBJECT || read.pattern.matches(name, () => {})),
  )
}

/** Is the hook for this subject? Never, when its matcher is refused; always, when its event has no subject. */
export function matches(
  declaration: Pick<HookDeclaration, 'matcher'>,
  subject: HookSubject | undefined,
): boolean {
  const matcher = readHookMatcher(declaration.matcher)
  return matcher.kind === 'matcher' && matcher.matches(subject)
}

/** An event without a subject is for every hook that waits for it. */
function matching(isFor: (subject: HookSubject) => boolean): HookMatcher {
  return { kind: 'matcher', matches: (subject) => subject === undefined || isFor(subject) }
}

function isNamed({ kind, name }: HookSubject, wanted: string): boolean {
  if (kind === 'other') return name === wanted
  return isSameTool(name, wanted) || coversMcpTool(wanted, name)
}

function namesOf({ kind, name }: HookSubject): readonly string[] {
  if (kind === 'other') return [name]
  const today = canonicalToolName(name)
  return [...new Set([name, today, ...(OLD_TOOL_NAMES.get(today) ?? [])])]
}
