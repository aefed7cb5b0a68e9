/**
 * Reads the settings files that concern a working directory. Told, never thrown: what cannot be read.
 *
 *   F1  The strongest first: policy, flags, local, project, user; of a project's folders the nearest.
 *   F2  A project's files must lie in the project, links followed.
 *   F3  The person's own folder is the person's, also where the project holds it.
 *   F4  A broken policy may have forbidden anything: at least nobody bypasses permissions under it.
 */
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { findRepositoryRoot, realFolder } from '../context/repository-root.ts'
import { readSettingsText } from '../project/read-text.ts'
import type { SettingsDiagnostic } from './diagnostic.ts'
import { NO_SETTINGS, type Settings, settingsIn, type TellSettings } from './settings.ts'

/** Whose settings they are. `local`: the person's own for one project, in the project's folder. */
export type SettingsSource = 'policy' | 'flags' | 'local' | 'project' | 'user'

/** Whether a file lies in the project, where whoever wrote the project may have written it. */
export const isOfProject = (source: SettingsSource): boolean => source === 'project' || source === 'local'

/** One file's settings. */
export interface SettingsLayer {
  readonly source: SettingsSource
  /** Absolute path, or `--settings` for a text on the command line. */
  readonly file: string
  /** The folder, absolute, that the file speaks for: `/x` in its rules starts there. */
  readonly folder: string
  readonly settings: Settings
  /** Nothing of it can be read; what holds instead is in `settings`. */
  readonly isBroken: boolean
}

/** Where to look. Paths are absolute. */
export interface SettingsPlaces {
  readonly cwd: string
  /** Of the repository; `cwd` itself where there is none. Default: found from `cwd`. */
  readonly root?: string
  /** The project's folders, the nearest first, each with the folder that its files must lie in. Default: found. */
  readonly folders?: readonly { readonly path: string; readonly within: string }[]
  /** The person's own folder of settings. */
  readonly configDir: string
  /** Folder of whoever administers the machine. */
  readonly policyDir?: string
  /** The value of `--settings`: a file, relative to `cwd`, or a JSON text. */
  readonly flags?: string
}

/** What was found. */
export interface SettingsReading {
  /** The strongest first (F1). */
  readonly layers: readonly SettingsLayer[]
  readonly diagnostics: readonly SettingsDiagnostic[]
}

/** Reads all that are there. Never rejects. */
export async function readSettings(places: SettingsPlaces): Promise<SettingsReading> {
  const read = await Promise.all(filesOf(places).map(readFile))
  return {
    layers: read.flatMap(({ layer }) => (layer === undefined ? [] : [layer])),
    diagnostics: read.flatMap(({ diagnostics }) => diagnostics),
  }
}

interface SettingsFile {
  readonly source: SettingsSource
  readonly file: string
  readonly folder: string
  /** The folder that it must lie in. */
  readonly within?: string
  /** Its text, where that was given in place of a file. */
  readonly text?: string
}

function filesOf(places: SettingsPlaces): readonly SettingsFile[] {
  const { cwd, configDir, policyDir, flags, folders = projectFolders(places) } = places
  const inPolicy = (folder: string): readonly SettingsFile[] =>
    ['managed-settings.json', 'settings.json'].map((name) => ({
      source: 'policy',
      file: join(folder, name),
      folder,
    }))
  const inProject = (source: 'local' | 'project', name: string): readonly SettingsFile[] =>
    folders.map(({ path, within }) => ({
      source,
      file: join(path, '.claude', name),
      folder: path,
      within,
    }))
  const fromFlags = (value: string): SettingsFile =>
    value.trimStart().startsWith('{')
      ? { source: 'flags', file: '--settings', folder: cwd, text: value }
      : { source: 'flags', file: resolve(cwd, value), folder: cwd }
  return [
    ...(policyDir === undefined ? [] : inPolicy(policyDir)),
    ...(flags === undefined ? [] : [fromFlags(flags)]),
    ...inProject('local', 'settings.local.json'),
    ...inProject('project', 'settings.json'),
    { source: 'user', file: join(configDir, 'settings.json'), folder: configDir },
  ]
}

/** From the working directory up to the root, the nearest first. */
function projectFolders(
  places: SettingsPlaces,
): readonly { readonly path: string; readonly within: string }[] {
  const cwd = realFolder(places.cwd)
  const root = realFolder(places.root ?? findRepositoryRoot(cwd) ?? cwd)
  const own = realFolder(places.configDir)
  const folders = [cwd]
  while (isBelow(root, folders.at(-1) ?? root)) folders.push(dirname(folders.at(-1) ?? root))
  return folders
    .filter((folder) => realFolder(join(folder, '.claude')) !== own)
    .map((path) => ({ path, within: isBelow(root, path) || path === root ? root : path }))
}

function isBelow(root: string, folder: string): boolean {
  const path = relative(root, folder)
  return path !== '' && path !== '..' && !path.startsWith(`..${sep}`) && !isAbsolute(path)
}

async function readFile(place: SettingsFile): Promise<{
  readonly layer: SettingsLayer | undefined
  readonly diagnostics: readonly SettingsDiagnostic[]
}> {
  const { source, file, folder, within } = place
  const diagnostics: SettingsDiagnostic[] = []
  const tell: TellSettings = (severity, code, message, at) => {
    diagnostics.push({ severity, code, message, file, ...at })
  }
  const layerOf = (settings: Settings | undefined): SettingsLayer => ({
    source,
    file,
    folder,
    settings: settings ?? insteadOf(source),
    isBroken: settings === undefined,
  })
  const read =
    place.text === undefined
      ? await readSettingsText(file, within)
      : ({ kind: 'text', text: place.text } as const)
  if (read.kind === 'missing') {
    if (source === 'flags')
      tell('error', 'settings-unreadable', 'There is no such file, which --settings names.')
    return { layer: undefined, diagnostics }
  }
  if (read.kind !== 'text') {
    const code = read.kind === 'outside' ? 'settings-outside' : 'settings-unreadable'
    tell('error', code, `None of it is in force: ${read.reason}.`)
    return { layer: layerOf(undefined), diagnostics }
  }
  return { layer: layerOf(settingsIn(read.text, tell)), diagnostics }
}

/** What holds in place of a file that cannot be read (F4). */
function insteadOf(source: SettingsSource): Settings {
  if (source !== 'policy') return NO_SETTINGS
  return { ...NO_SETTINGS, permissions: { ...NO_SETTINGS.permissions, isBypassDisabled: true } }
}
