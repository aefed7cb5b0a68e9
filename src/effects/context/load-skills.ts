/**
 * The skills that are on disk: `skills/<folder>/SKILL.md` of the person, the project and plugins.
 *
 * K1 Of one name the project's comes before the person's, as with agents; of two of a project the one in the nearer
 *    folder. Plugins' names have a prefix and meet no others.
 * K2 A project's or a plugin's skill lies inside of it with links resolved; the person's own may lie anywhere.
 * K3 The result depends on what the files hold only, not on the order in which they were read: sorted by name.
 * K4 Never throws. What is not loaded, or not as it is written, is a diagnostic.
 */
import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type {
  ContextDiagnostic,
  ContextDiagnosticCode,
} from '../../definitions/context/context-diagnostic.ts'
import { parseSkill, type SkillReading } from '../../definitions/context/parse-skill.ts'
import type { Skill, SkillOrigin, SkillSource } from '../../definitions/context/skill.ts'
import { byCodeUnits, printable, withMarker } from '../../definitions/context/text.ts'
import { mapBounded } from '../map-bounded.ts'
import { isInside } from '../tools/confinement.ts'
import { locate, readTextFile } from './read-text-file.ts'
import { realFolder } from './repository-root.ts'

/** Bounds. */
export const SKILL_LIMITS = {
  /** Of a `SKILL.md`; what is longer is cut. */
  fileBytes: 256 * 1024,
  /** Folders that are looked at in one `skills` folder. */
  folders: 500,
  /** Files that are read at once. */
  readsAtOnce: 8,
} as const

/** Folders that may hold a folder `skills`. All absolute. */
export interface SkillPlaces {
  /** The person's settings folder, `~/.claude`. */
  readonly userDir?: string | undefined
  /** `.claude` folders of the project, the nearest to the working directory first. */
  readonly projectDirs: readonly string[]
  /** Root of the repository: links may lead anywhere inside. Default for each: the folder that holds its `.claude`. */
  readonly stopAt?: string | undefined
  readonly plugins: readonly { readonly name: string; readonly dir: string }[]
}

/** What was loaded. */
export interface SkillsReading {
  /** Sorted by name, one of each. */
  readonly skills: readonly Skill[]
  readonly diagnostics: readonly ContextDiagnostic[]
}

/** Loads all skills. */
export async function loadSkills(places: SkillPlaces): Promise<SkillsReading> {
  const found: Found[] = []
  const diagnostics: ContextDiagnostic[] = []
  for (const source of sourcesOf(places)) {
    const { folders, dropped } = await foldersIn(source)
    found.push(...folders)
    diagnostics.push(...dropped)
  }
  const readings = await mapBounded(found, SKILL_LIMITS.readsAtOnce, readSkill)
  const skills = new Map<string, Skill>()
  for (const reading of readings) {
    diagnostics.push(...reading.diagnostics)
    const { skill } = reading
    if (skill === undefined) continue
    const winner = skills.get(skill.name)
    if (winner === undefined) skills.set(skill.name, skill)
    else {
      const message = `The skill ${skill.name} is not used: ${printable(winner.filename)} comes first. Give one of them another name.`
      diagnostics.push(diagnostic('warning', 'skill-shadowed', skill.filename, message))
    }
  }
  const sorted = [...skills.values()].sort((left, right) => byCodeUnits(left.name, right.name))
  return { skills: sorted, diagnostics }
}

interface Source {
  readonly source: SkillSource
  /** Holds `skills`. */
  readonly folder: string
  /** What its files must lie in, resolved; undefined: anywhere. */
  readonly boundary: string | undefined
  readonly plugin?: string
}

interface Found {
  readonly origin: SkillOrigin
  readonly boundary: string | undefined
}

/** In the order of precedence. The person's own folder stays the person's, also where a project holds it. */
function sourcesOf({ userDir, projectDirs, stopAt, plugins }: SkillPlaces): readonly Source[] {
  const root = stopAt === undefined ? undefined : realFolder(stopAt)
  const boundaryOf = (folder: string): string => {
    const own = realFolder(dirname(folder))
    return root !== undefined && isInside(root, own) ? root : own
  }
  const user: readonly Source[] =
    userDir === undefined ? [] : [{ source: 'userSettings', folder: userDir, boundary: undefined }]
  const project = projectDirs
    .filter((folder) => userDir === undefined || realFolder(folder) !== realFolder(userDir))
    .map((folder): Source => ({ source: 'projectSettings', folder, boundary: boundaryOf(folder) }))
  const others = plugins.map(
    ({ name, dir }): Source => ({ source: 'plugin', folder: dir, boundary: realFolder(dir), plugin: name }),
  )
  return [...project, ...user, ...others]
}

async function foldersIn({ source, folder, boundary, plugin }: Source): Promise<{
  readonly folders: readonly Found[]
  readonly dropped: readonly ContextDiagnostic[]
}> {
  const parent = join(folder, 'skills')
  // A link that leads out must not even be listed: names of folders are told in diagnostics.
  const located = await locate(parent)
  if (located.kind === 'missing') return { folders: [], dropped: [] }
  const nothing = (
    reason: string,
  ): { readonly folders: []; readonly dropped: readonly ContextDiagnostic[] } => ({
    folders: [],
    dropped: [
      diagnostic('error', 'skill-unreadable', parent, `${printable(parent)} cannot be read: ${reason}.`),
    ],
  })
  if (located.kind !== 'folder') return nothing(located.kind === 'file' ? 'it is a file' : located.reason)
  if (boundary !== undefined && !isInside(boundary, located.real)) {
    return { folders: [], dropped: [outside(parent, boundary)] }
  }
  const entries = await readdir(located.real, { withFileTypes: true }).catch(() => undefined)
  if (entries === undefined) return nothing('its folder cannot be listed')
  const names = entries
    .filter((entry) => !entry.name.startsWith('.') && (entry.isDirectory() || entry.isSymbolicLink()))
    .map((entry) => entry.name)
    .sort(byCodeUnits)
  const left = names.slice(SKILL_LIMITS.folders)
  const message = `${printable(parent)} has ${names.length} folders; only the first ${SKILL_LIMITS.folders} are read.`
  return {
    folders: names.slice(0, SKILL_LIMITS.folders).map((folderName) => {
      const baseDir = join(parent, folderName)
      const path = join(baseDir, 'SKILL.md')
      return {
        origin: { path, baseDir, folderName, source, ...(plugin !== undefined && { plugin }) },
        boundary,
      }
    }),
    dropped: left.length === 0 ? [] : [diagnostic('error', 'skills-too-many', parent, message)],
  }
}

async function readSkill({ origin, boundary }: Found): Promise<SkillReading> {
  const { path } = origin
  const none = (reason: ContextDiagnostic): SkillReading => ({ skill: undefined, diagnostics: [reason] })
  const unreadable = (reason: string): SkillReading =>
    none(diagnostic('error', 'skill-unreadable', path, `${printable(path)} cannot be read: ${reason}.`))
  const located = await locate(path)
  // A folder without the file is a folder of something else.
  if (located.kind === 'missing') return { skill: undefined, diagnostics: [] }
  if (located.kind === 'refused') return unreadable(located.reason)
  if (located.kind === 'folder') return unreadable('it is a folder')
  if (boundary !== undefined && !isInside(boundary, located.real)) return none(outside(path, boundary))
  const read = await readTextFile(located.real, SKILL_LIMITS.fileBytes)
  if (read.kind === 'failed') return unreadable(read.reason)
  if (!read.isStart) return parseSkill(read.text, origin)
  const size = `${SKILL_LIMITS.fileBytes / 1024} KB`
  const text = withMarker(
    read.text,
    SKILL_LIMITS.fileBytes,
    `[Cut here: ${printable(path)} has more than ${size}.]`,
  )
  const { skill, diagnostics } = parseSkill(text, origin)
  const message = `${printable(path)} is cut to ${size}. Move details into other files of its folder.`
  return { skill, diagnostics: [diagnostic('warning', 'skill-cut', path, message), ...diagnostics] }
}

function outside(file: string, boundary: string): ContextDiagnostic {
  const message = `${printable(file)} leads out of ${printable(boundary)} and is not read. Copy it there instead of linking to it.`
  return diagnostic('error', 'skill-outside', file, message)
}

function diagnostic(
  severity: ContextDiagnostic['severity'],
  code: ContextDiagnosticCode,
  file: string,
  message: string,
): ContextDiagnostic {
  return { severity, code, message, file }
}
