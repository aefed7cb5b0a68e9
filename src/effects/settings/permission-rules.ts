/**
 * What settings say about permissions, put together.
 *
 *   R1  Deny and ask rules of every file hold: they only narrow.
 *   R2  A project that nobody trusts may narrow and never widen: its allow rules, further folders, variables and a mode wider
 *       than the person's have no force. Its own folder holds both of its files, so both are the project's.
 *   R3  The mode is that of the strongest file that names one. Where any file disables `bypassPermissions`, it is
 *       `default` instead.
 *   R4  Each rule names its file, and starts `/x` at the folder that the file speaks for.
 */
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { PermissionMode } from '../../definitions/permission-mode.ts'
import { isNarrower } from '../../definitions/permissions/modes.ts'
import { type PermissionRule, parseRules, type RuleKind } from '../../definitions/permissions/rule.ts'
import type { SettingsDiagnostic } from './diagnostic.ts'
import { isOfProject, type SettingsLayer } from './read-settings.ts'

/** Rules and mode of a session, as far as settings give them. */
export interface SettingsPermissions {
  readonly allow: readonly PermissionRule[]
  readonly deny: readonly PermissionRule[]
  readonly ask: readonly PermissionRule[]
  /** Undefined: no file names one. */
  readonly defaultMode: PermissionMode | undefined
  /** Nobody may choose `bypassPermissions`, whatever flags say. */
  readonly isBypassDisabled: boolean
  /** More folders to work in, absolute, links not followed. */
  readonly additionalDirectories: readonly string[]
  readonly diagnostics: readonly SettingsDiagnostic[]
}

/** Puts the layers together, the strongest first as `readSettings` gives them. Pure but for `home`'s default. */
export function permissionRulesOf(
  layers: readonly SettingsLayer[],
  options: { readonly isTrusted: boolean; readonly home?: string },
): SettingsPermissions {
  const { isTrusted, home = homedir() } = options
  const diagnostics: SettingsDiagnostic[] = []
  const isFree = (layer: SettingsLayer): boolean => isTrusted || !isOfProject(layer.source)
  const free = layers.filter(isFree)
  const rules = (from: readonly SettingsLayer[], kind: RuleKind): readonly PermissionRule[] =>
    from.flatMap((layer) => rulesOf(layer, kind, diagnostics))
  const isBypassDisabled = layers.some(({ settings }) => settings.permissions.isBypassDisabled)
  const permissions = {
    allow: rules(free, 'allow'),
    deny: rules(layers, 'deny'),
    ask: rules(layers, 'ask'),
    defaultMode: modeOf(layers, isFree, isBypassDisabled, diagnostics),
    isBypassDisabled,
    additionalDirectories: [
      ...new Set(
        free.flatMap(({ folder, settings }) =>
          settings.permissions.additionalDirectories.map((path) => resolve(folder, withHome(path, home))),
        ),
      ),
    ],
  }
  for (const layer of layers) if (!isFree(layer)) tellDistrusted(layer, diagnostics)
  return { ...permissions, diagnostics }
}

function rulesOf(
  { file, folder, settings }: SettingsLayer,
  kind: RuleKind,
  diagnostics: SettingsDiagnostic[],
): readonly PermissionRule[] {
  return settings.permissions[kind].flatMap(({ text, line }) => {
    const read = parseRules([text], { kind, source: file, root: folder })
    for (const { severity, code, message } of read.diagnostics)
      if (code === 'rule-unreadable' || code === 'rule-not-as-written')
        diagnostics.push({ severity, code, message, file, ...(line !== undefined && { line }) })
    return read.rules
  })
}

function modeOf(
  layers: readonly SettingsLayer[],
  isFree: (layer: SettingsLayer) => boolean,
  isBypassDisabled: boolean,
  diagnostics: SettingsDiagnostic[],
): PermissionMode | undefined {
  const named = layers.flatMap((layer) => {
    const { defaultMode } = layer.settings.permissions
    return defaultMode === undefined ? [] : [{ layer, mode: defaultMode }]
  })
  const chosen = named.find(({ layer }) => isFree(layer))
  const [strongest] = named
  // Nobody's word for it is needed to be allowed less (R2).
  const isLess = strongest !== undefined && isNarrower(strongest.mode, chosen?.mode ?? 'default')
  const { mode, layer } = (isLess ? strongest : chosen) ?? {}
  if (mode !== 'bypassPermissions' || !isBypassDisabled || layer === undefined) return mode
  const message = 'The mode "bypassPermissions" is disabled by settings: the session starts in "default".'
  diagnostics.push({ severity: 'warning', code: 'settings-not-honoured', message, file: layer.file })
  return 'default'
}

/** Once a file: what of it has no force. */
function tellDistrusted({ file, settings }: SettingsLayer, diagnostics: SettingsDiagnostic[]): void {
  const { allow, additionalDirectories, defaultMode } = settings.permissions
  const hasEnv = Object.keys(settings.env).length > 0
  const lost = [
    ...(allow.length === 0
      ? []
      : [allow.length === 1 ? 'its allow rule' : `its ${allow.length} allow rules`]),
    ...(additionalDirectories.length === 0 ? [] : ['its further folders']),
    ...(hasEnv ? ['its environment variables'] : []),
    ...(defaultMode === undefined || isNarrower(defaultMode, 'default') || defaultMode === 'default'
      ? []
      : [`its mode "${defaultMode}"`]),
  ]
  if (lost.length === 0) return
  const [line] = allow.flatMap((rule) => (rule.line === undefined ? [] : [rule.line]))
  const message = `${lost.join(', ')} ${lost.length === 1 && allow.length <= 1 && additionalDirectories.length === 0 && !hasEnv ? 'has' : 'have'} no force: the project is not trusted. Look at what it would allow; then trust the project (--trust-project).`
  const sentence = message.charAt(0).toUpperCase() + message.slice(1)
  diagnostics.push({
    severity: 'warning',
    code: 'project-not-trusted',
    message: sentence,
    file,
    ...(line !== undefined && { line }),
  })
}

/** A path that may begin with `~`. */
export function withHome(path: string, home: string): string {
  if (path === '~') return home
  return path.startsWith('~/') ? join(home, path.slice(2)) : path
}
