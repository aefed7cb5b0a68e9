/** Where agents keep their memory, and what is in it. */
import { constants } from 'node:fs'
import { lstat, mkdir, open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { MemoryScope } from '../../definitions/agent-definition.ts'
import {
  cutMemory,
  LOCAL_MEMORY_IGNORE_LINE,
  MEMORY_FILE,
  MEMORY_LIMITS,
  memoryFolderName,
} from '../../definitions/context/agent-memory.ts'
import type {
  ContextDiagnostic,
  ContextDiagnosticCode,
} from '../../definitions/context/context-diagnostic.ts'
import { isInside } from '../tools/confinement.ts'
import { locate, readTextFile } from './read-text-file.ts'

/** What memory folders lie in. All absolute. */
export interface MemoryPlaces {
  /** The person's home folder. */
  readonly home: string
  /** Root of the project. */
  readonly project: string
  /** The person's settings folder; default `<home>/.claude`. */
  readonly configDir?: string | undefined
}

/** The memory folder of an agent. It need not exist. */
export interface MemoryFolder {
  readonly scope: MemoryScope
  /** Absolute, as it is named. */
  readonly path: string
  /** What it must lie in once links are resolved: the person's settings folder, or the project. */
  readonly place: string
}

/** The folder of an agent type's memory: always one component below that of all memories of the scope. */
export function memoryFolder(scope: MemoryScope, agentType: string, places: MemoryPlaces): MemoryFolder {
  const name = memoryFolderName(agentType)
  if (scope === 'user') {
    const place = places.configDir ?? join(places.home, '.claude')
    return { scope, path: join(place, 'agent-memory', name), place }
  }
  const folder = scope === 'project' ? 'agent-memory' : 'agent-memory-local'
  return { scope, path: join(places.project, '.claude', folder, name), place: places.project }
}

/** What a memory holds. */
export interface MemoryReading {
  /** The start of its `MEMORY.md`; undefined when there is none or it must not be read. */
  readonly text: string | undefined
  /** The folder with links resolved, to let the agent write there; undefined when it must not. */
  readonly writableRoot: string | undefined
  readonly diagnostics: readonly ContextDiagnostic[]
}

/** Reads a memory. A folder or file that links lead out of its place is refused. Never rejects. */
export async function readMemory(folder: MemoryFolder): Promise<MemoryReading> {
  const refuse = (code: ContextDiagnosticCode, message: string, writableRoot?: string): MemoryReading => ({
    text: undefined,
    writableRoot,
    diagnostics: [{ severity: 'error', code, message, file: folder.path }],
  })
  const writableRoot = await resolvedFolder(folder)
  if (writableRoot === undefined) {
    return refuse(
      'memory-outside',
      `The memory folder ${folder.path} is no folder inside ${folder.place} and is not used. Replace the link by a folder.`,
    )
  }
  const file = join(folder.path, MEMORY_FILE)
  const located = await locate(file)
  if (located.kind === 'missing') return { text: undefined, writableRoot, diagnostics: [] }
  if (located.kind !== 'file') {
    const reason = located.kind === 'folder' ? 'it is a folder' : located.reason
    return refuse('memory-unreadable', `${file} cannot be read: ${reason}.`, writableRoot)
  }
  if (!isInside(writableRoot, located.real)) {
    return refuse(
      'memory-outside',
      `${file} leads out of its folder and is not read. Replace the link by a file.`,
      writableRoot,
    )
  }
  const read = await readTextFile(located.real, MEMORY_LIMITS.bytes)
  if (read.kind === 'failed') {
    return refuse('memory-unreadable', `${file} cannot be read: ${read.reason}.`, writableRoot)
  }
  const { text, isCut } = cutMemory(read.text, read.isStart)
  const message = `${file} is cut to ${MEMORY_LIMITS.lines} lines and ${MEMORY_LIMITS.bytes / 1024} KB. Move details into other files of the folder.`
  return {
    text,
    writableRoot,
    diagnostics: isCut ? [{ severity: 'warning', code: 'memory-cut', message, file }] : [],
  }
}

/** With links resolved, whether it exists or not; undefined where that lies outside of its place or is no folder. */
async function resolvedFolder({ path, place }: MemoryFolder): Promise<string | undefined> {
  const [inside, within] = await Promise.all([locate(path), locate(place)])
  if (within.kind === 'missing') return inside.kind === 'missing' ? path : undefined
  if (within.kind !== 'folder') return undefined
  if (inside.kind === 'folder') return isInside(within.real, inside.real) ? inside.real : undefined
  if (inside.kind !== 'missing') return undefined
  // What does not exist lies where its nearest folder does.
  const above = await resolvedFolder({ scope: 'project', path: dirname(path), place })
  return above === undefined ? undefined : join(above, path.slice(dirname(path).length))
}

/**
 * Adds the line that keeps memories of scope `local` out of git to `.git/info/exclude`, which no commit holds.
 * `not-possible`: `.git` is no plain folder (a linked worktree shares that of its repository), or the file cannot
 * be written; then the user is to add {@link LOCAL_MEMORY_IGNORE_LINE} to a `.gitignore`. Never rejects.
 */
export async function excludeLocalMemory(
  repositoryRoot: string,
): Promise<'added' | 'present' | 'not-possible'> {
  const info = join(repositoryRoot, '.git', 'info')
  try {
    if (!(await lstat(dirname(info))).isDirectory()) return 'not-possible'
    await mkdir(info, { recursive: true })
    if (!(await lstat(info)).isDirectory()) return 'not-possible'
    const flags =
      constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK
    const handle = await open(join(info, 'exclude'), flags)
    try {
      if (!(await handle.stat()).isFile()) return 'not-possible'
      const before = await handle.readFile('utf8')
      if (before.split(/\r?\n/).includes(LOCAL_MEMORY_IGNORE_LINE)) return 'present'
      const start = before === '' || before.endsWith('\n') ? '' : '\n'
      await handle.writeFile(`${start}${LOCAL_MEMORY_IGNORE_LINE}\n`)
      return 'added'
    } finally {
      await handle.close()
    }
  } catch {
    return 'not-possible'
  }
}
