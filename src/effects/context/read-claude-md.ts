/**
 * The CLAUDE.md files that hold for a working directory, with what they import.
 *
 * Owns which files are read and in which order; how they are shown is `renderContext`'s.
 *
 * M1 Order: the person's own; then from the repository root down to the working directory, in each folder
 *    `CLAUDE.md`, `.claude/CLAUDE.md`, `CLAUDE.local.md`; each file followed by its imports, in the order in which
 *    they are mentioned. A file is read once, where it comes first.
 * M2 A project's file, and all that it imports at any depth, lies inside the repository with links resolved. Only
 *    what hangs from the person's own files may lie elsewhere, and what these import out of the repository is the
 *    project's again. A path outside is refused by its name already: not even its existence is looked at.
 * M3 Bounded: bytes of a file and of all, depth, number of files and of imports that are looked at.
 * M4 Never throws. What is refused, cut or left out is a diagnostic.
 */
import { dirname, join, resolve } from 'node:path'
import { importsIn, looksLikePath } from '../../definitions/context/claude-md-imports.ts'
import type {
  ContextDiagnostic,
  ContextDiagnosticCode,
} from '../../definitions/context/context-diagnostic.ts'
import { byteLength, printable, withMarker } from '../../definitions/context/text.ts'
import type { ClaudeMdFile, ClaudeMdScope } from '../../definitions/context/user-context.ts'
import { isInside } from '../tools/confinement.ts'
import { type Located, locate, readTextFile } from './read-text-file.ts'
import { realFolder } from './repository-root.ts'

/** Bounds. Sizes in bytes of UTF-8, markers included. */
export const CLAUDE_MD_LIMITS = {
  fileBytes: 40 * 1024,
  allBytes: 200 * 1024,
  /** An import of an import has depth 2. */
  depth: 5,
  files: 100,
  /** Imports that are looked for on disk. */
  imports: 1000,
} as const

/** Whose files to read. */
export interface ClaudeMdPlaces {
  /** The agent's working directory. */
  readonly cwd: string
  /** The person's home folder, for `~/` in imports. */
  readonly home: string
  /** The person's settings folder; default `<home>/.claude`. */
  readonly configDir?: string | undefined
  /** Root of the repository; without one, or when `cwd` is not inside, only `cwd` itself is the project. */
  readonly stopAt?: string | undefined
}

/** What was read. */
export interface ClaudeMdReading {
  readonly files: readonly ClaudeMdFile[]
  readonly diagnostics: readonly ContextDiagnostic[]
}

/** Reads all files that hold for `cwd`. */
export async function readClaudeMd(places: ClaudeMdPlaces): Promise<ClaudeMdReading> {
  const cwd = realFolder(places.cwd)
  const stopAt = places.stopAt === undefined ? cwd : realFolder(places.stopAt)
  const root = isInside(stopAt, cwd) ? stopAt : cwd
  const home = realFolder(places.home)
  const configDir = realFolder(places.configDir ?? join(home, '.claude'))
  const reading: Reading = {
    home,
    project: root,
    isOwn: (real) => isInside(configDir, real) || !isInside(root, real),
    files: [],
    diagnostics: [],
    seen: new Set(),
    bytesLeft: CLAUDE_MD_LIMITS.allBytes,
    importsLeft: CLAUDE_MD_LIMITS.imports,
  }
  await addFirst(reading, join(configDir, 'CLAUDE.md'), 'user', undefined)
  for (const folder of foldersBetween(root, cwd)) {
    // A root that holds the whole home folder says nothing of trust: there each folder is on its own.
    const boundary = isInside(root, home) ? folder : root
    await addFirst(reading, join(folder, 'CLAUDE.md'), 'project', boundary)
    await addFirst(reading, join(folder, '.claude', 'CLAUDE.md'), 'project', boundary)
    await addFirst(reading, join(folder, 'CLAUDE.local.md'), 'local', boundary)
  }
  return { files: reading.files, diagnostics: reading.diagnostics }
}

interface Reading {
  readonly home: string
  readonly project: string
  /** Is a file that was reached from the person's own one the person's too? */
  readonly isOwn: (real: string) => boolean
  readonly files: ClaudeMdFile[]
  readonly diagnostics: ContextDiagnostic[]
  /** Resolved paths. */
  readonly seen: Set<string>
  bytesLeft: number
  importsLeft: number
}

/** A file on its way in. */
interface Candidate {
  readonly path: string
  readonly scope: ClaudeMdScope
  /** Folder that it and its imports must lie in; undefined: anywhere. */
  readonly boundary: string | undefined
  /** Resolved paths of the files that lead here, the first one first. */
  readonly chain: readonly string[]
  readonly importedBy?: string
}

async function addFirst(
  reading: Reading,
  path: string,
  scope: ClaudeMdScope,
  boundary: string | undefined,
): Promise<void> {
  const located = await locate(path)
  if (located.kind !== 'missing') await add(reading, { path, scope, boundary, chain: [] }, located)
}

async function add(
  reading: Reading,
  candidate: Candidate,
  located: Exclude<Located, { kind: 'missing' }>,
): Promise<void> {
  const { path, scope, boundary, chain, importedBy } = candidate
  const tell = teller(reading, path)
  if (located.kind === 'refused')
    return tell('error', 'claude-md-unreadable', `cannot be read: ${located.reason}`)
  if (located.kind === 'folder') return tell('error', 'claude-md-unreadable', 'is a folder.')
  const { real } = located
  if (boundary !== undefined && !isInside(boundary, real))
    return tell('error', 'claude-md-outside', outside(boundary))
  if (reading.seen.has(real)) return
  reading.seen.add(real)
  const room = Math.min(CLAUDE_MD_LIMITS.fileBytes, reading.bytesLeft)
  if (reading.files.length >= CLAUDE_MD_LIMITS.files || room < SMALLEST_START) {
    const { files, allBytes } = CLAUDE_MD_LIMITS
    return tell(
      'error',
      'claude-md-left-out',
      `is left out: at most ${files} files and ${allBytes / 1024} KB are given. Shorten them.`,
    )
  }
  const file = await readTextFile(real, room)
  if (file.kind === 'failed') return tell('error', 'claude-md-unreadable', `cannot be read: ${file.reason}.`)
  const marker = `[Cut here: the file has ${file.size} bytes. Read the rest in ${printable(path)} when you need it.]`
  const text = file.isStart ? withMarker(file.text, room, marker) : file.text
  if (file.isStart) {
    tell(
      'warning',
      'claude-md-cut',
      `is cut to ${room} of its ${file.size} bytes. Move details into files that are read when needed.`,
    )
  }
  reading.bytesLeft -= byteLength(text)
  reading.files.push({ path, scope, ...(importedBy !== undefined && { importedBy }), text })
  const inherited = scope === 'user' && !reading.isOwn(real) && chain.length > 0 ? reading.project : boundary
  await addImports(reading, { ...candidate, boundary: inherited, chain: [...chain, real] }, text)
}

async function addImports(reading: Reading, importer: Candidate, text: string): Promise<void> {
  const { path, scope, boundary, chain } = importer
  for (const { target, line } of importsIn(text)) {
    const tell = teller(reading, path, line)
    const shown = `@${printable(target)}`
    if (reading.importsLeft === 0) {
      // Told once, here: whoever leads here stops at its own next import.
      return tell(
        'error',
        'claude-md-left-out',
        `has imports that are left out from ${shown} on: at most ${CLAUDE_MD_LIMITS.imports} are looked at.`,
      )
    }
    reading.importsLeft -= 1
    const place = target.startsWith('~/')
      ? join(reading.home, target.slice(2))
      : resolve(dirname(path), target)
    if (boundary !== undefined && !isInside(boundary, place)) {
      tell('error', 'claude-md-outside', `imports ${shown}, which ${outside(boundary)}`)
      continue
    }
    const located = await locate(place)
    if (located.kind === 'missing' || (located.kind === 'folder' && !looksLikePath(target))) {
      if (looksLikePath(target)) {
        tell(
          'warning',
          'claude-md-import-missing',
          `imports ${shown}, but there is no ${printable(place)}. Correct the path, or write it as code if it is no import.`,
        )
      }
    } else if (located.kind === 'file' && chain.includes(located.real)) {
      tell(
        'warning',
        'claude-md-import-cycle',
        `imports ${shown}, which leads back to it. Take one of the imports out.`,
      )
    } else if (chain.length > CLAUDE_MD_LIMITS.depth) {
      tell(
        'error',
        'claude-md-import-too-deep',
        `imports ${shown}, which is left out: imports go at most ${CLAUDE_MD_LIMITS.depth} files deep. Import it from a file further up.`,
      )
    } else {
      await add(reading, { path: place, scope, boundary, chain, importedBy: path }, located)
    }
  }
}

/** Less of a file than this is of no use. */
const SMALLEST_START = 1024

const outside = (boundary: string): string =>
  `lies outside ${printable(boundary)} and is not read: a project's files may import only from the project. Copy it there, or import it from your own CLAUDE.md.`

type Tell = (severity: ContextDiagnostic['severity'], code: ContextDiagnosticCode, what: string) => void

function teller(reading: Reading, file: string, line?: number): Tell {
  return (severity, code, what) => {
    reading.diagnostics.push({
      severity,
      code,
      message: `${printable(file)} ${what}`,
      file,
      ...(line !== undefined && { line }),
    })
  }
}

/** The folders from `root` down to `folder`, both included. */
function foldersBetween(root: string, folder: string): readonly string[] {
  return folder === root ? [root] : [...foldersBetween(root, dirname(folder)), folder]
}
