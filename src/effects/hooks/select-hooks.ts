/** Which hooks run for an input. */
import { type HookInput, subjectOf } from '../../definitions/hooks/hook-input.ts'
import { type HookMatcher, readHookMatcher } from '../../definitions/hooks/matcher.ts'
import type { HookScope, ScopedHook } from '../../definitions/hooks/scoped-hook.ts'
import type { AnyHostHook, ApplicableHook } from './hook.ts'

/** Reads a matcher, or remembers it. */
export type ReadMatcher = (matcher: string | undefined) => HookMatcher

const MOST_REMEMBERED = 500

/** A reader that remembers: one matcher is asked for at every tool call. */
export function createMatcherReader(): ReadMatcher {
  const known = new Map<string | undefined, HookMatcher>()
  return (matcher) => {
    const remembered = known.get(matcher)
    if (remembered !== undefined) return remembered
    // Definitions come and go; more than these are never in force together.
    if (known.size >= MOST_REMEMBERED) known.clear()
    const read = readHookMatcher(matcher)
    known.set(matcher, read)
    return read
  }
}

/**
 * The hooks for an input, commands before functions, each in the order given. A command that is declared several
 * times runs once, as its first declaration says; what a plugin declares is its own.
 */
export function selectHooks(
  input: HookInput,
  agentId: string,
  declared: readonly ScopedHook[],
  functions: readonly AnyHostHook[],
  read: ReadMatcher,
): readonly ApplicableHook[] {
  const subject = subjectOf(input)
  const isFor = (
    hook: { readonly event: string; readonly matcher?: string },
    scope: HookScope | undefined,
  ): boolean => {
    if (hook.event !== input.hook_event_name) return false
    if (scope?.kind === 'agent' && scope.agentId !== agentId) return false
    const matcher = read(hook.matcher)
    return matcher.kind === 'matcher' && matcher.matches(subject)
  }
  const commands = new Map<string, ScopedHook>()
  for (const hook of declared) {
    if (!isFor(hook.declaration, hook.scope)) continue
    const root = hook.source.kind === 'plugin' ? hook.source.root : ''
    const key = JSON.stringify([hook.declaration.command, root])
    if (!commands.has(key)) commands.set(key, hook)
  }
  return [
    ...[...commands.values()].map((hook) => ({ kind: 'command', hook }) as const),
    ...functions
      .filter((hook) => isFor(hook, hook.scope))
      .map((hook) => ({ kind: 'function', hook }) as const),
  ]
}
