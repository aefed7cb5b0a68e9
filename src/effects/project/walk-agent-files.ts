/**
 * Which files of agents a place holds: the Markdown files of a folder and all below it, or one file.
 *
 * W1 A path is judged by where it leads with every link resolved. What leaves the place is neither opened nor
 *    listed; it is told.
 * W2 Each folder and each file is taken once, so that no link leads round for ever. What stands there itself goes
 *    before what a link leads to.
 * W3 The answer depends on what is on disk only, not on the order in which it was read.
 * W4 Bounded: folders, files and depth. What is beyond is told.
 * W5 Never throws.
 */
import { type Dirent, realpathSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { byCodeUnits, printable } from '../../definitions/context/text.ts'
import type { AgentFile, FileOrigin } from '../../definitions/files/agent-file.ts'
import { messageOf } from '../../definitions/message-of.ts'
import { type Located, locate } from '../context/read-text-file.ts'
import { mapBounded } from '../map-bounded.ts'
import { isInside } from '../tools/confinement.ts'
import { failedPlace, type ProjectDiagnosticCode, passedOver } from './diagnostic.ts'

/** Bounds of one place. */
export const AGENT_PLACE_LIMITS = { files: 5_000, folders: 2_000, depth: 20, readsAtOnce: 16 } as const

/** A folder or file that may describe agents. */
export interface AgentPlace {
  /** Absolute, as it is named. What does not exist holds nothing. */
  readonly path: string
  /** Folders, resolved, in one of which everything must lie. */
  readonly within: readonly string[]
  readonly origin: Omit<FileOrigin, 'path'>
  /** Which of a folder's files count, by their path in it with `/`; default: those that end in `.md`. */
  readonly selects?: (relativePath: string) => boolean
  /** It was asked for by name: it may be a file, and that there is nothing is worth a word. */
  readonly isExpected?: boolean
}

/** A file to read. */
export interface FoundFile {
  /** Absolute, as it is named. */
  readonly path: string
  /** With links resolved. The only one of the two to open. */
  readonly real: string
}

/** What is in a place. */
export interface PlaceListing {
  /** Sorted by path. */
  readonly files: readonly FoundFile[]
  /** What is not read, each with its reason. */
  readonly refused: readonly AgentFile[]
}

/** Is it the name of a file of agents? */
export const isMarkdown = (path: string): boolean => /\.md$/i.test(path)

/** Lists a place. */
export async function walkAgentFiles(place: AgentPlace): Promise<PlaceListing> {
  const walk: Walk = {
    place,
    root: place.path,
    files: new Map(),
    refused: [],
    folders: new Set(),
    links: [],
    isFull: false,
  }
  const located = await locate(place.path)
  if (located.kind === 'missing') {
    if (place.isExpected) refuse(walk, place.path, 'agent-file-unreadable', 'There is no such file or folder')
    return listingOf(walk)
  }
  await take(walk, { path: place.path, depth: 0 }, located, true)
  // A folder that a link leads to may hold links of its own.
  for (let link = walk.links.shift(); link !== undefined; link = walk.links.shift())
    await take(walk, link, await locate(link.path), false)
  return listingOf(walk)
}

interface Walk {
  readonly place: AgentPlace
  /** The place, resolved. */
  root: string
  /** By resolved path. */
  readonly files: Map<string, FoundFile>
  readonly refused: AgentFile[]
  /** Resolved paths of the folders that were listed. */
  readonly folders: Set<string>
  readonly links: Entry[]
  /** It was said that there is too much. */
  isFull: boolean
}

interface Entry {
  readonly path: string
  /** Folders between it and the place. */
  readonly depth: number
}

function listingOf({ files, refused }: Walk): PlaceListing {
  return { files: [...files.values()].sort((left, right) => byCodeUnits(left.path, right.path)), refused }
}

/** The place itself, or a link in it. */
async function take(walk: Walk, entry: Entry, located: Located, isPlace: boolean): Promise<void> {
  const { path } = entry
  const { within } = walk.place
  if (located.kind === 'missing') return
  if (located.kind === 'refused')
    return refuse(walk, path, 'agent-file-unreadable', `It cannot be read: ${located.reason}`)
  const { real } = located
  if (!within.some((folder) => isInside(folder, real))) {
    const bounds = within.map(printable).join(' and ')
    return refuse(
      walk,
      path,
      'agent-file-outside',
      `It leads out of ${bounds} and is not read. Copy it there instead of linking to it`,
    )
  }
  if (located.kind === 'file') {
    if (isPlace && walk.place.isExpected !== true)
      refuse(walk, path, 'agent-folder-unreadable', 'It is a file, where a folder of agents should be')
    else if (isPlace || selects(walk, path)) addFile(walk, { path, real }, isPlace)
    return
  }
  if (isPlace) walk.root = real
  // A folder above would bring in everything beside the place, and the place once more.
  const isAbove = !isPlace && isInside(real, walk.root)
  if (isAbove || walk.folders.has(real)) {
    const why = isAbove ? 'which holds it' : 'which is read already'
    const message = `It leads to ${printable(real)}, ${why}. Remove the link.`
    walk.refused.push(passedOver(path, 'agent-file-repeated', message))
    return
  }
  await listFolders(walk, [{ path, real, depth: entry.depth }])
}

interface Folder extends Entry {
  readonly real: string
}

/** Level by level, so that many folders are listed at once and the order is still always the same. */
async function listFolders(walk: Walk, level: readonly Folder[]): Promise<void> {
  const { folders, depth, readsAtOnce } = AGENT_PLACE_LIMITS
  const next: Folder[] = []
  const listed = await mapBounded(level, readsAtOnce, async (folder) => ({
    folder,
    entries: await entriesOf(folder),
  }))
  for (const { folder, entries } of listed) {
    walk.folders.add(folder.real)
    if (typeof entries === 'string')
      refuse(walk, folder.path, 'agent-folder-unreadable', `The folder cannot be read: ${entries}`)
    else next.push(...sort(walk, folder, entries))
  }
  const isTooDeep = next.some((folder) => folder.depth > depth)
  const isTooMany = walk.folders.size + next.length > folders
  if (isTooDeep) full(walk, `Folders more than ${depth} deep are not looked at`)
  else if (isTooMany) full(walk, `At most ${folders} folders are looked at`)
  else if (next.length > 0 && walk.files.size < AGENT_PLACE_LIMITS.files) await listFolders(walk, next)
}

async function entriesOf({ real }: Folder): Promise<readonly Dirent[] | string> {
  try {
    // What was judged may be a link by now.
    if (realpathSync(real) !== real) return 'it was moved while it was read'
    const entries = await readdir(real, { withFileTypes: true })
    return entries.sort((left, right) => byCodeUnits(left.name, right.name))
  } catch (error) {
    return messageOf(error)
  }
}

/** Puts the entries of a folder where they belong; folders come back. */
function sort(walk: Walk, folder: Folder, entries: readonly Dirent[]): readonly Folder[] {
  // Each name is one part of a path, so that joining them needs no look at what they are.
  const [named, resolved] = [join(folder.path, sep), join(folder.real, sep)]
  const depth = folder.depth + 1
  const folders: Folder[] = []
  for (const entry of entries) {
    const { name } = entry
    // Of editors, version control and installers.
    if (name.startsWith('.') || name === 'node_modules') continue
    const [path, real] = [named + name, resolved + name]
    if (entry.isDirectory()) folders.push({ path, real, depth })
    else if (entry.isSymbolicLink()) walk.links.push({ path, depth })
    else if (selects(walk, path)) {
      if (entry.isFile()) addFile(walk, { path, real }, false)
      else refuse(walk, path, 'agent-file-unreadable', 'It cannot be read: it is no plain file')
    }
  }
  return folders
}

function addFile(walk: Walk, file: FoundFile, isPlace: boolean): void {
  const { files } = AGENT_PLACE_LIMITS
  const known = walk.files.get(file.real)
  if (known !== undefined && !isPlace) {
    const message = `It is the same file as ${printable(known.path)}, which is read already. Remove the link.`
    walk.refused.push(passedOver(file.path, 'agent-file-repeated', message))
  } else if (walk.files.size >= files) full(walk, `At most ${files} files are read`)
  else walk.files.set(file.real, file)
}

function selects({ place }: Walk, path: string): boolean {
  if (place.selects === undefined) return isMarkdown(path)
  return place.selects(relative(place.path, path).split(sep).join('/'))
}

function refuse(walk: Walk, path: string, code: ProjectDiagnosticCode, message: string): void {
  walk.refused.push(failedPlace(path, code, `${message}.`))
}

/** Once: what is beyond the bounds could be a million things. */
function full(walk: Walk, what: string): void {
  if (walk.isFull) return
  walk.isFull = true
  refuse(
    walk,
    walk.place.path,
    'agent-files-too-many',
    `${what}, so not all of its agents are there. Remove what is no agent`,
  )
}
