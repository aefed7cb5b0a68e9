/**
 * Reads how a command hook ended.
 *
 * | exit | meaning |
 * | --- | --- |
 * | 0, an object of JSON on standard output | what it says, see `HookOutput` |
 * | 0, other text | shown to the agent at SubagentStart, SessionStart, UserPromptSubmit; a path at WorktreeCreate |
 * | 2 | a block, its reason on standard error; what it blocks is in `HOOK_EVENT_TRAITS` |
 * | other, a signal, a timeout | a fault: it is told and changes nothing |
 */
import type { HookEvent } from '../hook-declaration.ts'
import { decidesPermission, HOOK_EVENT_TRAITS } from './event-traits.ts'
import { type HookAnswer, type HookOutcome, type HookProblem, hookText, shortText } from './hook-outcome.ts'
import { pathIn, readHookOutput, withVerdict } from './read-output.ts'

/** How a command hook ended. */
export interface HookExit {
  /** Null when a signal ended it. */
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
  readonly timedOut: boolean
  /** Not all of standard output is here: it is no JSON any more, whatever it looks like. */
  readonly isCut?: boolean
}

/** The exit code that blocks. */
const BLOCKS = 2
const SHOWN_OF_STDERR = 500

/** What came of a command hook. Never throws. */
export function readHookOutcome(exit: HookExit, event: HookEvent): HookOutcome {
  if (exit.timedOut)
    return failed('hook-timed-out', 'it took longer than its `timeout`; it was ended', exit.stderr)
  if (exit.exitCode === BLOCKS) return blocked(exit.stderr, event)
  if (exit.exitCode !== 0) {
    const how = exit.exitCode === null ? 'a signal ended it' : `it ended with code ${exit.exitCode}`
    return failed('hook-failed', how, exit.stderr)
  }
  const stdout = exit.stdout.replace(/^\ufeff/u, '').trim()
  if (!stdout.startsWith('{')) return plainText(stdout, exit.isCut === true, event)
  const value = exit.isCut === true ? undefined : objectIn(stdout)
  if (value === undefined) return plainText(stdout, exit.isCut === true, event, 'looks like JSON and is none')
  return { kind: 'answered', ...readHookOutput(value, event) }
}

function blocked(stderr: string, event: HookEvent): HookOutcome {
  const reason = hookText(stderr)
  const kind = decidesPermission(event) ? 'deny' : 'block'
  const problems: HookProblem[] = []
  const answer = withVerdict(
    { kind, ...(reason !== undefined && { reason }) },
    event,
    (code, message) => problems.push({ code, message }),
    {},
  )
  return { kind: 'answered', answer, problems }
}

function plainText(stdout: string, isCut: boolean, event: HookEvent, suspicion?: string): HookOutcome {
  const problems: HookProblem[] = []
  if (isCut) {
    const message = 'It wrote more than is kept: its output is taken as plain text, without its middle.'
    problems.push({ code: 'hook-output-cut', message })
  } else if (suspicion !== undefined) {
    const message = `What it wrote ${suspicion}: it is taken as plain text.`
    problems.push({ code: 'hook-output-unreadable', message })
  }
  const answer = meaningOf(stdout, event, problems)
  return { kind: 'answered', answer, problems }
}

function meaningOf(stdout: string, event: HookEvent, problems: HookProblem[]): HookAnswer {
  switch (HOOK_EVENT_TRAITS[event].plainText) {
    case 'nothing':
      return {}
    case 'for-agent': {
      const context = hookText(stdout)
      return context === undefined ? {} : { context }
    }
    case 'path': {
      const written = stdout === '' ? undefined : stdout
      const path = pathIn(written, (code, message) => problems.push({ code, message }))
      return path === undefined ? {} : { worktreePath: path }
    }
  }
}

function objectIn(stdout: string): unknown {
  try {
    return JSON.parse(stdout)
  } catch {
    return undefined
  }
}

function failed(code: 'hook-failed' | 'hook-timed-out', how: string, stderr: string): HookOutcome {
  // Errors end with what matters.
  const said = shortText(stderr, SHOWN_OF_STDERR, 'end')
  return { kind: 'failed', fault: { code, message: said === '' ? `${how}.` : `${how}: ${said}` } }
}
