/**
 * What a settings file says, field by field: a broken field is told and left out, the others hold (law 11).
 *
 * Owns: the shape of `permissions`, `env`, `secrets`, `statusLine`, `worktree`, `sandbox`. Does not own: `hooks` and `mcpServers`, which are
 * kept as written, and the keys about trust, which are read where they are needed (`effects/project/settings.ts`).
 */
import * as z from 'zod'
import { printable } from '../../definitions/context/text.ts'
import { PermissionMode } from '../../definitions/permission-mode.ts'
import { SandboxOptions, unknownSandboxKeys } from '../../definitions/sandbox/options.ts'
import { WorktreeOptions } from '../../definitions/worktrees/options.ts'
import type { SettingsDiagnosticCode } from './diagnostic.ts'
import { jsonPlaces, type TextPlace } from './json-places.ts'

/** A rule as it stands in a file. */
export interface WrittenRule {
  readonly text: string
  /** From 1. */
  readonly line: number | undefined
}

/** The mode of a session that settings may choose: `bubble` is for definitions. */
export type SettingsMode = Exclude<PermissionMode, 'bubble'>

/** Settings in force. */
export interface Settings {
  readonly permissions: {
    readonly allow: readonly WrittenRule[]
    readonly deny: readonly WrittenRule[]
    readonly ask: readonly WrittenRule[]
    readonly defaultMode: SettingsMode | undefined
    /** As written. */
    readonly additionalDirectories: readonly string[]
    /** Nobody may choose `bypassPermissions`. */
    readonly isBypassDisabled: boolean
  }
  /** For the environment of commands. */
  readonly env: Readonly<Record<string, string>>
  /** Names of environment variables whose values nobody is shown. */
  readonly secrets: readonly string[]
  /** As written. */
  readonly hooks: unknown
  readonly statusLine: StatusLine | undefined
  readonly worktree: WorktreeOptions | undefined
  /** `problem`: it cannot be read, so nobody knows what it forbids. */
  readonly sandbox: SandboxOptions | { readonly problem: string } | undefined
  /** As written. */
  readonly mcpServers: Readonly<Record<string, unknown>>
  /** Everything in the file, also what means nothing here. */
  readonly raw: Readonly<Record<string, unknown>>
  /** The line, from 1, on which a key at the top stands. */
  lineOf(key: string): number | undefined
}

/** A command whose output is shown as the status line. */
export const StatusLine = z.looseObject({
  type: z.literal('command'),
  command: z.string().min(1),
  padding: z.int().nonnegative().optional(),
})
export type StatusLine = z.infer<typeof StatusLine>

/** Tells one thing of the file. */
export type TellSettings = (
  severity: 'error' | 'warning',
  code: SettingsDiagnosticCode,
  message: string,
  place?: TextPlace | undefined,
) => void

/** What a file says that says nothing. */
export const NO_SETTINGS: Settings = {
  permissions: {
    allow: [],
    deny: [],
    ask: [],
    defaultMode: undefined,
    additionalDirectories: [],
    isBypassDisabled: false,
  },
  env: {},
  secrets: [],
  hooks: undefined,
  statusLine: undefined,
  worktree: undefined,
  sandbox: undefined,
  mcpServers: {},
  raw: {},
  lineOf: () => undefined,
}

/** Reads the text of a settings file; undefined when it is no JSON object. Never throws. */
export function settingsIn(text: string, tell: TellSettings): Settings | undefined {
  const places = jsonPlaces(text)
  if (places.kind === 'broken') {
    tell(
      'error',
      'settings-unreadable',
      `None of it is in force: ${places.problem}. Correct the file.`,
      places.place,
    )
    return undefined
  }
  const raw: unknown = JSON.parse(text.replace(/^\ufeff/, ''))
  if (!isObject(raw)) {
    tell(
      'error',
      'settings-unreadable',
      'None of it is in force: it must be a JSON object {…}.',
      places.placeOf([]),
    )
    return undefined
  }
  for (const { key, place } of places.repeated)
    tell(
      'warning',
      'settings-key-repeated',
      `${show(key)} stands more than once; only the last counts.`,
      place,
    )
  tellUnknown(raw, KNOWN_KEYS, [], places.placeOf, tell)

  /** `instead`: what holds where the value cannot be read. */
  const read = <T>(path: readonly string[], schema: z.ZodType<T>, otherwise: T, instead = otherwise): T => {
    const value = valueAt(raw, path)
    if (value === undefined) return otherwise
    const parsed = schema.safeParse(value)
    if (parsed.success) return parsed.data
    const issue = parsed.error.issues[0]
    const where = [...path, ...(issue?.path ?? [])].filter((key) => typeof key !== 'symbol')
    const message = `${show(path.join('.'))} is not in force: ${printable(issue?.message ?? 'it cannot be read')}.`
    tell('error', 'settings-field-unreadable', message, places.placeOf(where) ?? places.placeOf(path))
    return instead
  }
  const texts = (path: readonly string[]): readonly WrittenRule[] => textsAt(raw, path, places.placeOf, tell)
  const isPermissions = valueAt(raw, ['permissions']) === undefined || isObject(raw['permissions'])
  if (!isPermissions)
    tell(
      'error',
      'settings-field-unreadable',
      '"permissions" is not in force: it must be an object with "allow", "deny" or "ask".',
      places.placeOf(['permissions']),
    )
  if (isObject(raw['permissions']))
    tellUnknown(raw['permissions'], PERMISSION_KEYS, ['permissions'], places.placeOf, tell)
  return {
    permissions: {
      allow: texts(['permissions', 'allow']),
      deny: texts(['permissions', 'deny']),
      ask: texts(['permissions', 'ask']),
      defaultMode: read(['permissions', 'defaultMode'], Mode, undefined),
      additionalDirectories: texts(['permissions', 'additionalDirectories']).map(
        ({ text: folder }) => folder,
      ),
      // Whatever was meant to be disabled stays disabled.
      isBypassDisabled: read(['permissions', 'disableBypassPermissionsMode'], Disabled, false, true),
    },
    env: envIn(raw, places.placeOf, tell),
    secrets: texts(['secrets']).map(({ text: name }) => name),
    hooks: raw['hooks'],
    statusLine: read(['statusLine'], StatusLine.optional(), undefined),
    worktree: read(['worktree'], WorktreeOptions.optional(), undefined),
    sandbox: sandboxIn(raw, places.placeOf, tell),
    mcpServers: read(['mcpServers'], z.record(z.string(), z.unknown()), {}),
    raw,
    lineOf: (key) => places.placeOf([key])?.line,
  }
}

const Mode = PermissionMode.exclude(['bubble']).optional()
const Disabled = z.union([z.literal('disable'), z.boolean()]).transform((value) => value !== false)

const KNOWN_KEYS: readonly string[] = [
  ...['$schema', 'permissions', 'env', 'secrets', 'hooks', 'statusLine', 'mcpServers', 'worktree', 'sandbox'],
  // Read by `effects/project`.
  ...['enableAllProjectMcpServers', 'enabledMcpjsonServers', 'disabledMcpjsonServers'],
  'strictPluginOnlyCustomization',
]
const PERMISSION_KEYS: readonly string[] = [
  ...['allow', 'deny', 'ask', 'defaultMode', 'additionalDirectories', 'disableBypassPermissionsMode'],
]

type PlaceOf = (path: readonly (string | number)[]) => TextPlace | undefined

/** Once a file and object, not once a key: files are shared with other programs. */
function tellUnknown(
  value: Readonly<Record<string, unknown>>,
  known: readonly string[],
  path: readonly string[],
  placeOf: PlaceOf,
  tell: TellSettings,
): void {
  const unknown = Object.keys(value).filter((key) => !known.includes(key))
  const [first] = unknown
  if (first === undefined) return
  const shown = unknown.slice(0, 10).map((key) => show([...path, key].join('.')))
  const more = unknown.length > shown.length ? ` and ${unknown.length - shown.length} more` : ''
  const [verb, what] = unknown.length === 1 ? ['means', 'is'] : ['mean', 'are']
  const message = `${shown.join(', ')}${more} ${verb} nothing here and ${what} not honoured.`
  tell('warning', 'settings-key-unknown', message, placeOf([...path, first]))
}

/** A list of texts. One text alone is a list of one; what is no text is told and left out. */
function textsAt(
  raw: Readonly<Record<string, unknown>>,
  path: readonly string[],
  placeOf: PlaceOf,
  tell: TellSettings,
): readonly WrittenRule[] {
  const value = valueAt(raw, path)
  if (value === undefined) return []
  if (typeof value === 'string') return [{ text: value, line: placeOf(path)?.line }]
  const name = show(path.join('.'))
  if (!Array.isArray(value)) {
    tell(
      'error',
      'settings-field-unreadable',
      `${name} is not in force: it must be a list of texts.`,
      placeOf(path),
    )
    return []
  }
  return value.flatMap((text: unknown, index): readonly WrittenRule[] => {
    const place = placeOf([...path, index])
    if (typeof text === 'string') return [{ text, line: place?.line }]
    const message = `Entry ${index + 1} of ${name} is not in force: it must be a text in quotes.`
    tell('error', 'settings-field-unreadable', message, place)
    return []
  })
}

function envIn(
  raw: Readonly<Record<string, unknown>>,
  placeOf: PlaceOf,
  tell: TellSettings,
): Readonly<Record<string, string>> {
  const value = raw['env']
  if (value === undefined) return {}
  if (!isObject(value)) {
    const message = '"env" is not in force: it must be an object of texts.'
    tell('error', 'settings-field-unreadable', message, placeOf(['env']))
    return {}
  }
  const entries = Object.entries(value).flatMap(([name, text]): readonly (readonly [string, string])[] => {
    const isName = /^[A-Za-z_]\w*$/.test(name)
    const isText =
      (typeof text === 'string' && !text.includes('\0')) ||
      typeof text === 'number' ||
      typeof text === 'boolean'
    if (isName && isText) return [[name, String(text)]]
    const message = `The variable ${show(name)} of "env" is not set: its ${isName ? 'value must be a text' : 'name must be of letters, digits and _'}.`
    tell('error', 'settings-field-unreadable', message, placeOf(['env', name]))
    return []
  })
  return Object.fromEntries(entries)
}

function sandboxIn(
  raw: Readonly<Record<string, unknown>>,
  placeOf: PlaceOf,
  tell: TellSettings,
): Settings['sandbox'] {
  const value = raw['sandbox']
  if (value === undefined) return undefined
  const parsed = SandboxOptions.safeParse(value)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const path = ['sandbox', ...(issue?.path ?? [])].filter((key) => typeof key !== 'symbol')
    const problem = `${show(path.join('.'))} cannot be read: ${printable(issue?.message ?? 'it is no sandbox')}`
    const message = `${problem}. Nobody knows what it was to forbid, so commands are not run until it is corrected.`
    tell('error', 'settings-field-unreadable', message, placeOf(path) ?? placeOf(['sandbox']))
    return { problem }
  }
  for (const path of unknownSandboxKeys(Object(value))) {
    const message = `${show(['sandbox', ...path].join('.'))} means nothing here and is not honoured.`
    tell('warning', 'settings-key-unknown', message, placeOf(['sandbox', ...path]))
  }
  return parsed.data
}

function valueAt(raw: unknown, path: readonly string[]): unknown {
  let value = raw
  for (const key of path) value = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  return value
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const show = (name: string): string => JSON.stringify(printable(name).slice(0, 80))
