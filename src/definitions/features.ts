/**
 * What is switched on, as one object: routing, tool descriptions and pools read it and nothing else. The values in
 * force belong to the session's first event, so that a resume decides alike.
 */
import type { Diagnostic } from './diagnostic.ts'

/** The gates. Each is a plain boolean, so that the object is JSON. */
export interface Features {
  /** Agents may run beside whoever started them, who is told when they end. */
  readonly background: boolean
  /** Every agent is started in the background: for hosts that must stay responsive. */
  readonly forceBackground: boolean
  /** A foreground agent that takes long is moved to the background. */
  readonly autoBackground: boolean
  /** What agents that were started are at is said in a line of their own models, every `limits.progressSummaryMs`. */
  readonly progressSummaries: boolean
  /** `isolation: "worktree"`. */
  readonly worktree: boolean
  /** `isolation: "remote"`: the host has a runner for it. */
  readonly remote: boolean
  /** A call without a type starts a fork of the caller. */
  readonly fork: boolean
  /** Definitions with `forksParentContext` start from their parent's conversation. */
  readonly parentContext: boolean
  /** Agents may start agents: the default of `limits.depth` is then 5 instead of 1. */
  readonly nesting: boolean
  /** Callers may give an agent a name by which others send it messages. */
  readonly names: boolean
  /** Named teammates with a shared task list. */
  readonly teams: boolean
  /** The root only coordinates, and `worker` is the one type. */
  readonly coordinator: boolean
  /** Models may give an agent another working directory. */
  readonly cwdArgument: boolean
  /** The `model` argument of a call counts. */
  readonly modelArgument: boolean
  /** The built-in definitions are there. */
  readonly builtInAgents: boolean
  /** A conversation that outgrows its model's context window is summed up. */
  readonly autoCompact: boolean
  /** `omitClaudeMd` of definitions counts. */
  readonly omitClaudeMd: boolean
}

export type FeatureName = keyof Features

/** What is known of a gate. */
export interface FeatureFacts {
  /** What holds once it is built and nobody says anything. */
  readonly default: boolean
  /** False: the engine cannot do it yet, so it stays off whatever is asked for. */
  readonly isBuilt: boolean
  readonly environment: string
  /** What a true value of the variable does. */
  readonly variable: 'turns it on' | 'turns it off'
}

const on = (environment: string, isBuilt: boolean): FeatureFacts => ({
  default: false,
  isBuilt,
  environment,
  variable: 'turns it on',
})
const off = (environment: string, isBuilt: boolean): FeatureFacts => ({
  default: true,
  isBuilt,
  environment,
  variable: 'turns it off',
})

/** Every gate: its default, whether it is built, and the variable that speaks of it. */
export const FEATURES: Readonly<Record<FeatureName, FeatureFacts>> = {
  background: off('CLAUDE_CODE_DISABLE_BACKGROUND_TASKS', true),
  forceBackground: on('TROUPE_FORCE_BACKGROUND', true),
  autoBackground: on('CLAUDE_AUTO_BACKGROUND_TASKS', true),
  progressSummaries: on('TROUPE_PROGRESS_SUMMARIES', true),
  worktree: off('TROUPE_DISABLE_WORKTREES', true),
  remote: on('TROUPE_REMOTE_AGENTS', false),
  fork: on('TROUPE_FORK', true),
  parentContext: off('TROUPE_DISABLE_PARENT_CONTEXT', true),
  nesting: on('TROUPE_NESTING', true),
  names: on('TROUPE_AGENT_NAMES', true),
  teams: on('TROUPE_TEAMS', false),
  coordinator: on('CLAUDE_CODE_COORDINATOR_MODE', true),
  cwdArgument: on('TROUPE_AGENT_CWD', false),
  modelArgument: off('TROUPE_DISABLE_MODEL_ARGUMENT', true),
  builtInAgents: off('TROUPE_DISABLE_BUILT_IN_AGENTS', true),
  autoCompact: off('DISABLE_AUTO_COMPACT', true),
  omitClaudeMd: off('TROUPE_ALWAYS_CLAUDE_MD', true),
}

const holds = (name: FeatureName): boolean => FEATURES[name].isBuilt && FEATURES[name].default

/** What holds when nobody says anything. */
export const DEFAULT_FEATURES: Features = {
  background: holds('background'),
  forceBackground: holds('forceBackground'),
  autoBackground: holds('autoBackground'),
  progressSummaries: holds('progressSummaries'),
  worktree: holds('worktree'),
  remote: holds('remote'),
  fork: holds('fork'),
  parentContext: holds('parentContext'),
  nesting: holds('nesting'),
  names: holds('names'),
  teams: holds('teams'),
  coordinator: holds('coordinator'),
  cwdArgument: holds('cwdArgument'),
  modelArgument: holds('modelArgument'),
  builtInAgents: holds('builtInAgents'),
  autoCompact: holds('autoCompact'),
  omitClaudeMd: holds('omitClaudeMd'),
}

/**
 * The features in force: options over environment over defaults. What is asked for and not built stays off, with a
 * diagnostic; so does the default hold where a variable cannot be read.
 */
export function readFeatures(
  environment: Readonly<Record<string, string | undefined>>,
  options: Partial<Features> = {},
): { readonly features: Features; readonly diagnostics: readonly Diagnostic[] } {
  const diagnostics: Diagnostic[] = []
  const features: { -readonly [Name in FeatureName]: boolean } = { ...DEFAULT_FEATURES }
  for (const name of featureNames()) {
    const { environment: variable } = FEATURES[name]
    const asked = options[name] ?? askedBy(name, environment[variable], diagnostics)
    if (asked === undefined) continue
    if (asked && !FEATURES[name].isBuilt)
      diagnostics.push({
        severity: 'error',
        code: 'feature-not-available',
        message: `The feature "${name}" was asked for (option features.${name}, or ${variable} in the environment), but this version of Troupe does not have it; it stays off.`,
      })
    else features[name] = asked
  }
  return { features, diagnostics }
}

/** The default of `limits.depth`. */
export function defaultDepth(features: Pick<Features, 'nesting'>): number {
  return features.nesting ? 5 : 1
}

/** The names, in the order of the table. */
export function featureNames(): readonly FeatureName[] {
  // The keys of an object literal whose type lists exactly them.
  return Object.keys(FEATURES) as FeatureName[]
}

const TRUE: readonly string[] = ['1', 'true', 'yes', 'on']
const FALSE: readonly string[] = ['', '0', 'false', 'no', 'off']

function askedBy(
  name: FeatureName,
  text: string | undefined,
  diagnostics: Diagnostic[],
): boolean | undefined {
  const value = text?.trim().toLowerCase()
  const { environment, variable } = FEATURES[name]
  // A variable set to nothing or to "no" says nothing, rather than the opposite of its name.
  if (value === undefined || FALSE.includes(value)) return undefined
  if (TRUE.includes(value)) return variable === 'turns it on'
  diagnostics.push({
    severity: 'warning',
    code: 'feature-unreadable',
    message: `The variable ${environment} is "${text}", which is neither yes nor no; "${name}" stays as it is. Set it to 1, or unset it.`,
  })
  return undefined
}
