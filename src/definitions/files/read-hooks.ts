/**
 * Hooks as settings and agent files declare them, in two shapes. That of settings: an object of events, each with a
 * list of groups (`matcher`, `hooks`). The flat one: a list of commands (`command`, `event?`, `matcher?`), also below
 * an event. What is neither never runs.
 */
import * as z from 'zod'
import { didYouMean } from '../closest-name.ts'
import { HOOK_EVENTS, type HookDeclaration, type HookEvent } from '../hook-declaration.ts'
import { quoted } from './file-notes.ts'
import { isRecord } from './plain-data.ts'

/** Something in a declaration that is not honoured, or not as written. */
export interface HookProblem {
  readonly code: 'hook-event-assumed' | 'hook-unreadable'
  readonly message: string
}

/** What a value declares. */
export interface ReadHooks {
  /** In the order in which they are written. */
  readonly hooks: readonly HookDeclaration[]
  readonly problems: readonly HookProblem[]
}

/** What a flat entry without `event` is for: a guard that was meant to run must not be forgotten. */
const EVENT_OF_FLAT_ENTRIES: HookEvent = 'PreToolUse'

const Command = z.looseObject({
  type: z.literal('command').optional(),
  command: z.string().refine((command) => command.trim() !== '' && !command.includes('\0')),
})
/** In seconds. A day is longer than any agent waits. */
const Timeout = z.number().positive().max(86_400)
const HONOURED_KEYS: readonly string[] = ['type', 'command', 'timeout', 'event', 'matcher']

/** Reads the hooks of settings or of a definition, given as plain data. What cannot be read is told and left out. */
export function readHooks(value: unknown): ReadHooks {
  if (Array.isArray(value))
    return together(
      value.map((entry, index) => readCommand(`Hook ${index + 1}`, entry, undefined, undefined)),
    )
  if (isRecord(value))
    return together(Object.entries(value).map(([event, groups]) => readEvent(event, groups)))
  return neverRuns('What is in `hooks`', 'it must be an object of events, or a list of commands')
}

/** All that is declared for one event. */
function readEvent(written: string, groups: unknown): ReadHooks {
  const what = `What is below ${quoted(written)} in \`hooks\``
  const event = eventOf(written)
  if (event === undefined) return unknownEvent(what, written)
  if (!Array.isArray(groups)) return neverRuns(what, 'it must be a list')
  return together(groups.map((group, index) => readGroup(`Hook ${event} ${index + 1}`, group, event)))
}

/** A matcher with its commands, or one command. */
function readGroup(what: string, group: unknown, event: HookEvent): ReadHooks {
  if (!isRecord(group) || !('hooks' in group)) return readCommand(what, group, event, undefined)
  const { hooks, matcher } = group
  if ('command' in group || !Array.isArray(hooks))
    return neverRuns(what, 'beside `matcher` it must have a list `hooks`, and no command of its own')
  return together(hooks.map((entry, index) => readCommand(`${what}.${index + 1}`, entry, event, matcher)))
}

/** One command, at the event of the key above it or at its own. */
function readCommand(
  what: string,
  entry: unknown,
  eventAbove: HookEvent | undefined,
  matcherAbove: unknown,
): ReadHooks {
  const read = Command.safeParse(entry)
  if (!read.success)
    return neverRuns(
      what,
      'it must be { type: "command", command: "…" }, with `timeout` in seconds if wanted',
    )
  const { command, event: ownEvent, matcher: ownMatcher, timeout: written } = read.data
  const event = ownEvent === undefined ? (eventAbove ?? EVENT_OF_FLAT_ENTRIES) : eventOf(ownEvent)
  if (event === undefined) return unknownEvent(what, String(ownEvent))
  if (eventAbove !== undefined && event !== eventAbove)
    return neverRuns(what, `it names the event ${event} below ${eventAbove}`)
  const matcher = readMatcher(ownMatcher ?? matcherAbove)
  if (matcher.kind === 'broken') return neverRuns(what, matcher.problem)
  const timeout = Timeout.safeParse(written)
  const problems: HookProblem[] = []
  if (written !== undefined && !timeout.success) {
    const message = `The \`timeout\` of ${what.toLowerCase()} must be a number of seconds; the usual time is used.`
    problems.push({ code: 'hook-unreadable', message })
  }
  if (eventAbove === undefined && ownEvent === undefined) {
    const message = `${what} names no \`event\`; it runs at ${event}. Add the event that is meant.`
    problems.push({ code: 'hook-event-assumed', message })
  }
  const ignored = Object.keys(read.data).filter((key) => !HONOURED_KEYS.includes(key))
  if (ignored.length > 0) {
    const message = `${what} runs, but without regard to ${ignored.slice(0, 10).join(', ')}. Understood are: ${HONOURED_KEYS.join(', ')}.`
    problems.push({ code: 'hook-unreadable', message })
  }
  const hook: HookDeclaration = {
    event,
    ...(matcher.value !== undefined && { matcher: matcher.value }),
    command,
    ...(timeout.success && { timeout: timeout.data }),
  }
  return { hooks: [hook], problems }
}

type Matcher =
  | { readonly kind: 'read'; readonly value: string | undefined }
  | { readonly kind: 'broken'; readonly problem: string }

/** Nothing, the empty text and `*` match all. What is no pattern must not come to match all, nor nothing. */
function readMatcher(value: unknown): Matcher {
  if (value === undefined || value === null) return { kind: 'read', value: undefined }
  if (typeof value !== 'string') return { kind: 'broken', problem: 'its `matcher` must be a text' }
  const matcher = value.trim()
  if (matcher === '' || matcher === '*') return { kind: 'read', value: undefined }
  try {
    new RegExp(matcher)
    return { kind: 'read', value: matcher }
  } catch {
    return {
      kind: 'broken',
      problem: `its matcher ${quoted(matcher)} is neither a name nor a regular expression`,
    }
  }
}

/** The event of a name, in any case. */
function eventOf(name: unknown): HookEvent | undefined {
  if (typeof name !== 'string') return undefined
  const wanted = name.trim().toLowerCase()
  return HOOK_EVENTS.find((event) => event.toLowerCase() === wanted)
}

function unknownEvent(what: string, name: string): ReadHooks {
  return neverRuns(what, `no event is called ${quoted(name)}`, didYouMean(name, HOOK_EVENTS))
}

function neverRuns(what: string, problem: string, hint = ''): ReadHooks {
  return {
    hooks: [],
    problems: [{ code: 'hook-unreadable', message: `${what} never runs: ${problem}.${hint}` }],
  }
}

function together(parts: readonly ReadHooks[]): ReadHooks {
  return { hooks: parts.flatMap(({ hooks }) => hooks), problems: parts.flatMap(({ problems }) => problems) }
}
