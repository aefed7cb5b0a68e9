/** What the options of an engine come to, before anything is made of them. */
import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { didYouMean } from '../definitions/closest-name.ts'
import type { Diagnostic } from '../definitions/diagnostic.ts'
import type { Features } from '../definitions/features.ts'
import { readFeatures } from '../definitions/features.ts'
import type { PermissionMode } from '../definitions/permission-mode.ts'
import { modeDiagnostic } from '../definitions/permissions/modes.ts'
import type { PermissionRule } from '../definitions/permissions/rule.ts'
import { parseRules } from '../definitions/permissions/rule.ts'
import type { SandboxPlan } from '../definitions/sandbox/options.ts'
import { bothSandboxes, SandboxOptions, unknownSandboxKeys } from '../definitions/sandbox/options.ts'
import { isToolAmong, KNOWN_TOOL_NAMES } from '../definitions/tool-names.ts'
import { createSecretMask, MIN_SECRET_CHARS, type Secret } from '../effects/secret-mask.ts'
import { withHome } from '../effects/tools/confinement.ts'
import type { EngineOptions } from './api.ts'
import type { EngineCore } from './core.ts'
import { EngineError } from './errors.ts'

/** The options as they are in force. */
export interface ReadOptions {
  /** Absolute, symlinks resolved. */
  readonly cwd: string
  readonly features: Features
  readonly rules: EngineCore['rules']
  /** The mode of the root agent. */
  readonly mode: PermissionMode
  /** Undefined: nobody wants one. */
  readonly sandbox: SandboxPlan | undefined
  /** Variables that no command and no server inherits. */
  readonly withheldEnv: readonly string[]
  readonly secrets: readonly Secret[]
  /** What is in force, but perhaps not as it was meant. */
  readonly shortcomings: readonly Diagnostic[]
}

/** What no command of an agent needs to know. */
const SECRETS = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN']

/** For callers without types: what would otherwise fail somewhere inside, in words that name nothing. */
function checkOptions(options: EngineOptions): void {
  const refuse = (what: string): never => {
    throw new EngineError('bad-option', `createEngine: ${what}`)
  }
  if (typeof options?.model?.stream !== 'function')
    refuse('`model` must be a model: an object with `provider` and `stream`')
  const { timeoutMs } = options.review ?? {}
  if (timeoutMs !== undefined && !(timeoutMs > 0))
    refuse('`review.timeoutMs` must be a number of milliseconds above 0')
  for (const limit of ['tokens', 'usd', 'runningMs'] as const) {
    const value = options.limits?.[limit]
    if (value !== undefined && !(value > 0)) refuse(`\`limits.${limit}\` must be more than 0, not ${value}`)
  }
  for (const tool of options.tools ?? []) {
    if (typeof tool?.name !== 'string' || typeof tool.run !== 'function')
      refuse('each of `tools` needs a `name` and a `run`')
    if (typeof tool.inputSchema?.safeParse !== 'function')
      refuse(`the tool ${tool.name} needs an \`inputSchema\`: a zod schema`)
  }
}

/** Reads them. Throws an `EngineError`: `bad-cwd`, `bad-option`, `bad-rule`. */
export function readOptions(options: EngineOptions): ReadOptions {
  checkOptions(options)
  const { features, diagnostics } = readFeatures(process.env, options.features)
  const parsed = parsedRules(options)
  const mode = modeOf(options)
  const cwd = resolveFolder(options.cwd ?? process.cwd())
  return {
    cwd,
    sandbox: bothSandboxes(hostSandbox(options, cwd), options.project?.sandbox),
    features,
    rules: rulesOf(options, parsed),
    mode,
    withheldEnv: options.withheldEnv ?? SECRETS,
    secrets: secretsOf(options),
    shortcomings: [...shortcomingsOf(options, parsed, mode), ...diagnostics],
  }
}

/** What nobody is shown: variables that are withheld, and those that settings name, here and in settings. */
function secretsOf({ withheldEnv = SECRETS, project }: EngineOptions): readonly Secret[] {
  return secretsNamed([...withheldEnv, ...(project?.secrets ?? [])], project)
}

function secretsNamed(names: readonly string[], project: EngineOptions['project']): readonly Secret[] {
  return names.flatMap((name) =>
    [process.env[name], project?.env?.[name]].flatMap((value) =>
      value === undefined ? [] : [{ name, value }],
    ),
  )
}

/** Of those that somebody named: a credential of the model that is shorter is none. */
function shortSecrets({ withheldEnv = [], project }: EngineOptions): readonly Diagnostic[] {
  const named = secretsNamed([...withheldEnv, ...(project?.secrets ?? [])], project)
  return createSecretMask(named).unmasked.map((name) => ({
    severity: 'warning',
    code: 'secret-too-short',
    message: `The value of the secret ${name} has fewer than ${MIN_SECRET_CHARS} characters, so it is not masked in results: it would stand in them by chance.`,
  }))
}

type ParsedRules = ReturnType<typeof parsedRules>

function parsedRules({ permissions }: EngineOptions) {
  return {
    allow: parseRules(permissions?.allow ?? [], { kind: 'allow', source: 'allowed tools' }),
    deny: parseRules(permissions?.deny ?? [], { kind: 'deny', source: 'disallowed tools' }),
  }
}

function rulesOf({ project }: EngineOptions, { allow, deny }: ParsedRules): EngineCore['rules'] {
  const broken = [...allow.diagnostics, ...deny.diagnostics].find(({ severity }) => severity === 'error')
  if (broken !== undefined) throw new EngineError('bad-rule', broken.message)
  const settings = project?.permissions
  return {
    allow: [...allow.rules, ...(settings?.allow ?? [])],
    deny: [...deny.rules, ...(settings?.deny ?? [])],
    ask: settings?.ask ?? [],
  }
}

/** The mode that the host asks for, else that of settings; nobody bypasses permissions where settings forbid it. */
function modeOf({ permissions, project }: EngineOptions): PermissionMode {
  const mode = permissions?.mode ?? project?.permissions?.defaultMode ?? 'default'
  const isForbidden = mode === 'bypassPermissions' && project?.permissions?.isBypassDisabled === true
  return isForbidden ? 'default' : mode
}

/** What of the options is in force, but perhaps not as it was meant. */
function shortcomingsOf(
  options: EngineOptions,
  { allow, deny }: ParsedRules,
  mode: PermissionMode,
): readonly Diagnostic[] {
  const about = modeDiagnostic(mode)
  const known = [...KNOWN_TOOL_NAMES, ...(options.tools ?? []).map(({ name }) => name)]
  const mistyped = [...allow.rules, ...deny.rules].flatMap((rule) => mistypedTool(rule, known))
  return [
    ...allow.diagnostics,
    ...deny.diagnostics,
    ...mistyped,
    ...shortSecrets(options),
    ...(about === undefined ? [] : [about]),
    ...(options.permissions?.mode === 'bypassPermissions' && mode === 'default' ? [BYPASS_DISABLED] : []),
  ]
}

const BYPASS_DISABLED: Diagnostic = {
  severity: 'error',
  code: 'bypass-disabled',
  message:
    'Permission mode "bypassPermissions" is disabled by a settings file (permissions.disableBypassPermissionsMode); the mode is "default".',
}

/** A rule for a tool that does not exist protects nothing and allows nothing: nearly always a slip. */
function mistypedTool(
  { text, toolName, source }: PermissionRule,
  known: readonly string[],
): readonly Diagnostic[] {
  if (toolName === '*' || toolName.startsWith('mcp__') || isToolAmong(toolName, known)) return []
  const message = `The rule "${text}" (${source}) names no tool that is known.${didYouMean(toolName, known)}`
  return [{ severity: 'warning', code: 'tool-unknown', message }]
}

/** What the host wants for itself. Throws `bad-option`: what cannot be read may have been to forbid something. */
function hostSandbox({ sandbox }: EngineOptions, cwd: string): SandboxPlan | undefined {
  if (sandbox === undefined) return undefined
  const parsed = SandboxOptions.safeParse(sandbox)
  const [issue] = parsed.error?.issues ?? []
  const [unknown] = parsed.success ? unknownSandboxKeys(sandbox) : []
  if (!parsed.success || unknown !== undefined)
    throw new EngineError(
      'bad-option',
      `createEngine: \`${['sandbox', ...(issue?.path ?? unknown ?? [])].join('.')}\` ${issue === undefined ? 'means nothing' : `cannot be read: ${issue.message}`}`,
    )
  const { enabled, network, filesystem } = parsed.data
  if (enabled === false) return undefined
  const absolute = (paths: readonly string[] = []) => paths.map((path) => resolve(cwd, withHome(path)))
  return {
    wantedBy: ['the option `sandbox`'],
    allowedDomains: network?.allowedDomains ?? [],
    deniedDomains: network?.deniedDomains ?? [],
    allowWrite: absolute(filesystem?.allowWrite),
    denyWrite: absolute(filesystem?.denyWrite),
    denyRead: absolute(filesystem?.denyRead),
  }
}

function resolveFolder(path: string): string {
  try {
    return realpathSync(path)
  } catch (error) {
    throw new EngineError('bad-cwd', `the working directory ${path} cannot be used: ${String(error)}`, error)
  }
}
