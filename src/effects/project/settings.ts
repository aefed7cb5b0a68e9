/**
 * What settings files say of agents' surroundings: MCP servers, hooks, and what a project is trusted with. The files
 * are read once, in `effects/settings`; this reads those keys of them.
 *
 * S1 A value that cannot be read is a diagnostic; what can be read holds.
 * S2 In doubt less: a reservation for plugins that cannot be read reserves everything, a broken file trusts nobody.
 * S3 A project cannot trust itself: those keys have no force in its files, and that is told.
 */
import * as z from 'zod'
import { printable } from '../../definitions/context/text.ts'
import type { FileDiagnostic } from '../../definitions/files/agent-file.ts'
import { readHooks } from '../../definitions/files/read-hooks.ts'
import type { TrustSurface } from '../../definitions/files/trust.ts'
import type { HookDeclaration } from '../../definitions/hook-declaration.ts'
import { isOfProject, type SettingsLayer, type SettingsSource } from '../settings/read-settings.ts'
import { type Tell, teller } from './diagnostic.ts'

/** What a file says of surroundings. */
export interface SurroundingSettings {
  readonly scope: SettingsSource
  /** Absolute, or where else it stands. */
  readonly path: string
  /** As written, one entry a server. */
  readonly mcpServers: Readonly<Record<string, unknown>>
  readonly enableAllProjectMcpServers: boolean
  readonly enabledMcpjsonServers: readonly string[]
  readonly disabledMcpjsonServers: readonly string[]
  readonly strictPluginOnlyCustomization: readonly TrustSurface[]
  readonly hooks: readonly HookDeclaration[]
}

const SURFACES: readonly TrustSurface[] = ['hooks', 'mcp', 'tools']
const Names = z.union([z.string().transform((name) => [name]), z.array(z.string())])

/** Reads those keys, file by file. Pure. */
export function surroundingSettings(layers: readonly SettingsLayer[]): {
  readonly files: readonly SurroundingSettings[]
  readonly diagnostics: readonly FileDiagnostic[]
} {
  const diagnostics: FileDiagnostic[] = []
  const files = layers.map((layer) => settingsOf(layer, teller(layer.file, diagnostics)))
  return { files, diagnostics }
}

function settingsOf(
  { source: scope, file, settings, isBroken }: SettingsLayer,
  tell: Tell,
): SurroundingSettings {
  const { raw, mcpServers, lineOf } = settings
  const isProjects = isOfProject(scope)
  const field = <T>(key: string, schema: z.ZodType<T>, otherwise: T): T => {
    if (raw[key] === undefined) return otherwise
    const read = schema.safeParse(raw[key])
    if (read.success) return read.data
    const message = `\`${key}\` is not in force: ${printable(read.error.issues[0]?.message ?? 'it cannot be read')}.`
    tell('error', 'settings-field-unreadable', message, lineOf(key))
    return otherwise
  }
  const own = <T>(key: string, schema: z.ZodType<T>, otherwise: T): T =>
    isProjects ? otherwise : field(key, schema, otherwise)
  if (isProjects) {
    for (const key of OWN_KEYS.filter((each) => raw[each] !== undefined)) {
      const message = `\`${key}\` has no force here: a project does not decide what it is trusted with. Put it into your own settings.`
      tell('warning', 'settings-not-honoured', message, lineOf(key))
    }
  }
  return {
    scope,
    path: file,
    mcpServers,
    enableAllProjectMcpServers: own('enableAllProjectMcpServers', z.boolean(), false),
    enabledMcpjsonServers: own('enabledMcpjsonServers', Names, []),
    // Less is always allowed.
    disabledMcpjsonServers: field('disabledMcpjsonServers', Names, []),
    strictPluginOnlyCustomization: reserved(scope, isBroken, settings, tell),
    hooks: hooksIn(settings, tell),
  }
}

function reserved(
  scope: SettingsSource,
  isBroken: boolean,
  settings: SettingsLayer['settings'],
  tell: Tell,
): readonly TrustSurface[] {
  if (isOfProject(scope)) return []
  // A policy that cannot be read may have reserved anything.
  if (isBroken) return scope === 'policy' ? SURFACES : []
  return surfacesIn(settings, tell)
}

function hooksIn(
  { hooks: value, lineOf }: SettingsLayer['settings'],
  tell: Tell,
): readonly HookDeclaration[] {
  if (value === undefined) return []
  const { hooks, problems } = readHooks(value)
  for (const { code, message } of problems) tell('warning', code, message, lineOf('hooks'))
  return hooks
}

const OWN_KEYS = [
  'enableAllProjectMcpServers',
  'enabledMcpjsonServers',
  'strictPluginOnlyCustomization',
] as const

function surfacesIn({ raw, lineOf }: SettingsLayer['settings'], tell: Tell): readonly TrustSurface[] {
  const value = raw['strictPluginOnlyCustomization']
  if (value === undefined || value === false) return []
  if (value === true) return SURFACES
  const line = lineOf('strictPluginOnlyCustomization')
  const problem = (what: string): void =>
    tell(
      'error',
      'settings-field-unreadable',
      `\`strictPluginOnlyCustomization\` ${what}; it may be true, false or a list of ${SURFACES.join(', ')}.`,
      line,
    )
  if (!Array.isArray(value)) {
    problem('cannot be read, so everything is reserved for plugins')
    return SURFACES
  }
  const unknown = value.filter((each) => !SURFACES.includes(each))
  if (unknown.length > 0)
    problem(`names ${printable(JSON.stringify(unknown)).slice(0, 100)}, which means nothing here`)
  return SURFACES.filter((surface) => value.includes(surface))
}
