/** Hooks as they are in force: what they are for, and where they come from. */
import type { HookDeclaration } from '../hook-declaration.ts'
import { HOOK_EVENT_TRAITS } from './event-traits.ts'
import { shortText } from './hook-outcome.ts'
import { readHookMatcher } from './matcher.ts'

/** Whose events a hook sees. */
export type HookScope = { readonly kind: 'all' } | { readonly kind: 'agent'; readonly agentId: string }

/** Where a hook comes from. */
export type HookSource =
  /** A file of settings or of an agent. */
  | { readonly kind: 'file'; readonly path: string }
  /** `root` is its folder, absolute. */
  | { readonly kind: 'plugin'; readonly name: string; readonly root: string }
  | { readonly kind: 'host'; readonly name?: string }

/** A command hook in force. */
export interface ScopedHook {
  readonly declaration: HookDeclaration
  readonly scope: HookScope
  readonly source: HookSource
}

/** What is wrong with a hook in force. */
export type HookDiagnosticCode =
  /** The hook never runs. */
  | 'hook-matcher-refused'
  /** It runs at each event of its kind: there is nothing to match. */
  | 'hook-matcher-unused'

/** Something of a hook that is not honoured, or not as written. */
export interface HookDiagnostic {
  readonly severity: 'error' | 'warning'
  readonly code: HookDiagnosticCode
  readonly message: string
  readonly source: HookSource
}

/** Hooks for all agents. */
export function hooksForAll(
  declarations: readonly HookDeclaration[],
  source: HookSource,
): readonly ScopedHook[] {
  return declarations.map((declaration) => ({ declaration, scope: { kind: 'all' }, source }))
}

/**
 * Hooks of a definition, for one agent that runs it. An agent that is someone's child ends with `SubagentStop`: what
 * its definition declares for `Stop` is meant for that.
 */
export function hooksForAgent(
  declarations: readonly HookDeclaration[],
  agentId: string,
  source: HookSource,
): readonly ScopedHook[] {
  return declarations.map((declaration) => ({
    declaration: declaration.event === 'Stop' ? subagentStopOf(declaration) : declaration,
    scope: { kind: 'agent', agentId },
    source,
  }))
}

/** `Stop` has nothing to match, so a matcher there must not begin to mean types of agents. */
function subagentStopOf({ matcher: _, ...declaration }: HookDeclaration): HookDeclaration {
  return { ...declaration, event: 'SubagentStop' }
}

/** Who speaks, in words: for envelopes, events and messages. On one line, at most 200 characters. */
export function hookLabel(event: string, source: HookSource): string {
  return shortText(`${event} hook of ${sourceName(source)}`, 200)
}

/** What cannot be honoured of these hooks (law 11). The same each time: tell it when they come into force. */
export function checkHooks(hooks: readonly ScopedHook[]): readonly HookDiagnostic[] {
  return hooks.flatMap(({ declaration: { event, matcher }, source }): readonly HookDiagnostic[] => {
    if (matcher === undefined) return []
    const read = readHookMatcher(matcher)
    const shown = JSON.stringify(shortText(matcher, 80))
    const label = hookLabel(event, source)
    if (read.kind === 'refused') {
      const message = `The ${label} never runs: its matcher ${shown} cannot be used, ${read.why}. List the names with "|" between them.`
      return [{ severity: 'error', code: 'hook-matcher-refused', message, source }]
    }
    if (HOOK_EVENT_TRAITS[event].subject !== undefined || matcher.trim() === '*') return []
    const message = `The ${label} runs at every ${event}: there is nothing that its matcher ${shown} could be compared with. Take it out.`
    return [{ severity: 'warning', code: 'hook-matcher-unused', message, source }]
  })
}

function sourceName(source: HookSource): string {
  switch (source.kind) {
    case 'file':
      return source.path
    case 'plugin':
      return `plugin ${source.name}`
    case 'host':
      return source.name ?? 'the host'
  }
}
