/**
 * Settings files, as far as agents and MCP servers are concerned: other keys are other readers' business.
 *
 * S1 A file that is broken, or a value that cannot be read, is a diagnostic; what can be read holds.
 * S2 In doubt less: a reservation for plugins that cannot be read reserves everything, a broken file trusts nobody.
 * S3 A project cannot trust itself: those keys have no force in its files, and that is told.
 */
import * as z from 'zod'
import { printable } from '../../definitions/context/text.ts'
import type { FileDiagnostic } from '../../definitions/files/agent-file.ts'
import { readHooks } from '../../definitions/files/read-hooks.ts'
import type { TrustSurface } from '../../definitions/files/trust.ts'
import type { HookDeclaration } from '../../definitions/hook-declaration.ts'
import { type Tell, teller } from './diagnostic.ts'
import { isObject, lineOfKey, parseJsonObject, readSettingsText } from './read-text.ts'

/** Whose settings a file holds. `local`: the person's own for one project, in the project's folder. */
export type SettingsScope = 'policy' | 'user' | 'project' | 'local'

/** A file to read. */
export interface SettingsPlace {
  readonly scope: SettingsScope
  /** Absolute. */
  readonly path: string
  /** Folder, resolved, that it must lie in; undefined: anywhere. */
  readonly within: string | undefined
}

/** What a file says. */
export interface Settings extends SettingsPlace {
  /** As written, one entry a server. */
  readonly mcpServers: Readonly<Record<string, unknown>>
  readonly enableAllProjectMcpServers: boolean
  readonly enabledMcpjsonServers: readonly string[]
  readonly disabledMcpjsonServers: readonly string[]
  readonly strictPluginOnlyCustomization: readonly TrustSurface[]
  readonly hooks: readonly HookDeclaration[]
}

/** The files that are there, in the order of the places, and what is wrong with them. */
export interface SettingsReading {
  readonly files: readonly Settings[]
  readonly diagnostics: readonly FileDiagnostic[]
}

const SURFACES: readonly TrustSurface[] = ['hooks', 'mcp', 'tools']
const Names = z.union([z.string().transform((name) => [name]), z.array(z.string())])

/** Reads the files. Never rejects. */
export async function readSettings(places: readonly SettingsPlace[]): Promise<SettingsReading> {
  const diagnostics: FileDiagnostic[] = []
  const read = await Promise.all(
    places.map(async (place) => ({ place, read: await readSettingsText(place.path, place.within) })),
  )
  const files = read.flatMap(({ place, read }) => {
    if (read.kind === 'missing') return []
    const tell = teller(place.path, diagnostics)
    if (read.kind === 'text') return [settingsIn(read.text, place, tell)]
    const code = read.kind === 'outside' ? 'settings-outside' : 'settings-unreadable'
    tell('error', code, `The settings are not in force: ${read.reason}.`)
    return [nothingIn(place)]
  })
  return { files, diagnostics }
}

/** What holds where a file says nothing that can be read. */
function nothingIn(place: SettingsPlace): Settings {
  return {
    ...place,
    mcpServers: {},
    enableAllProjectMcpServers: false,
    enabledMcpjsonServers: [],
    disabledMcpjsonServers: [],
    // A policy that cannot be read may have reserved anything.
    strictPluginOnlyCustomization: place.scope === 'policy' ? SURFACES : [],
    hooks: [],
  }
}

function settingsIn(text: string, place: SettingsPlace, tell: Tell): Settings {
  const parsed = parseJsonObject(text)
  if (parsed.kind === 'broken') {
    const effect = place.scope === 'policy' ? '; until then all that can be is reserved for plugins' : ''
    tell(
      'error',
      'settings-unreadable',
      `The settings are not in force: ${parsed.reason}. Correct the file${effect}.`,
      parsed.line,
    )
    return nothingIn(place)
  }
  const { value } = parsed
  const field = <T>(key: string, schema: z.ZodType<T>, otherwise: T): T => {
    if (value[key] === undefined) return otherwise
    const read = schema.safeParse(value[key])
    if (read.success) return read.data
    const message = `\`${key}\` is not in force: ${printable(read.error.issues[0]?.message ?? 'it cannot be read')}.`
    tell('error', 'settings-field-unreadable', message, lineOfKey(text, key))
    return otherwise
  }
  const isProjects = place.scope === 'project' || place.scope === 'local'
  if (isProjects) {
    for (const key of OWN_KEYS.filter((each) => value[each] !== undefined)) {
      const message = `\`${key}\` has no force here: a project does not decide what it is trusted with. Put it into your own settings.`
      tell('warning', 'settings-not-honoured', message, lineOfKey(text, key))
    }
  }
  const own = <T>(key: string, schema: z.ZodType<T>, otherwise: T): T =>
    isProjects ? otherwise : field(key, schema, otherwise)
  const servers = value['mcpServers']
  if (servers !== undefined && !isObject(servers))
    tell(
      'error',
      'settings-field-unreadable',
      '`mcpServers` is not in force: it must be an object of servers.',
      lineOfKey(text, 'mcpServers'),
    )
  return {
    ...place,
    mcpServers: isObject(servers) ? servers : {},
    enableAllProjectMcpServers: own('enableAllProjectMcpServers', z.boolean(), false),
    enabledMcpjsonServers: own('enabledMcpjsonServers', Names, []),
    // Less is always allowed.
    disabledMcpjsonServers: field('disabledMcpjsonServers', Names, []),
    strictPluginOnlyCustomization: isProjects
      ? []
      : surfacesIn(value['strictPluginOnlyCustomization'], text, tell),
    hooks: hooksIn(value['hooks'], text, tell),
  }
}

function hooksIn(value: unknown, text: string, tell: Tell): readonly HookDeclaration[] {
  if (value === undefined) return []
  const { hooks, problems } = readHooks(value)
  for (const { code, message } of problems) tell('warning', code, message, lineOfKey(text, 'hooks'))
  return hooks
}

const OWN_KEYS = [
  'enableAllProjectMcpServers',
  'enabledMcpjsonServers',
  'strictPluginOnlyCustomization',
] as const

function surfacesIn(value: unknown, text: string, tell: Tell): readonly TrustSurface[] {
  if (value === undefined || value === false) return []
  if (value === true) return SURFACES
  const line = lineOfKey(text, 'strictPluginOnlyCustomization')
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
