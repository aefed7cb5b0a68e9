/** Runs ripgrep, the program behind Grep and Glob: bounded in time and output, gone when the call is. */
import { spawn } from 'node:child_process'
import { counted } from './lines.ts'
import { printable } from './printable.ts'
import type { SearchTarget } from './search-target.ts'
import type { ToolContext } from './tool.ts'
import { ToolRefusal } from './tool-refusal.ts'

export interface RipgrepRequest {
  readonly args: readonly string[]
  /** What is searched. Globs with a slash count from there. */
  readonly target: SearchTarget
  /** Bytes of output after which it is ended. */
  readonly maxBytes: number
  readonly context: ToolContext
}

export interface RipgrepOutput {
  readonly text: string
  /** Ended before it was through: `text` stops somewhere in the middle. */
  readonly cut: 'size' | 'time' | undefined
  /** Folders and files that could not be read, as ripgrep names them. */
  readonly unreadable: readonly string[]
}

/** Milliseconds that one search may take. */
const SEARCH_TIME_LIMIT_MS = 20_000
/** Bytes of its complaints that are read. */
const MAX_ERRORS = 64 * 1024

/** For every search: no configuration file, hidden files too. */
const COMMON_ARGS = ['--no-config', '--color=never', '--no-ignore-messages', '--hidden']
/** Version control's own folders. Last of all globs: a later one wins. */
export const WITHOUT_VCS = ['!**/.git', '!**/.hg', '!**/.svn', '!**/.jj'].map((glob) => `--glob=${glob}`)

/** How to search in a folder: from the very root, file systems below it are left out, `/proc` first of all. */
export const boundsOf = (realRoot: string): readonly string[] =>
  realRoot === '/' ? ['--one-file-system'] : []

/** Throws a {@link ToolRefusal} when ripgrep is not installed, does not take the arguments, or is interrupted. */
export async function runRipgrep(request: RipgrepRequest): Promise<RipgrepOutput> {
  const program = await ripgrepPath()
  const { context } = request
  const interrupted = new ToolRefusal('Interrupted. The search was ended.')
  if (context.signal.aborted) throw interrupted
  if (request.args.some((arg) => arg.includes('\0'))) {
    throw new ToolRefusal(
      'A NUL character cannot be searched for. Leave it out, or use Bash with a fitting program.',
    )
  }
  return new Promise((resolve, reject) => {
    const { cwd, stdin, args } = request.target
    const child = spawn(program, [...COMMON_ARGS, ...request.args, ...args], {
      cwd,
      stdio: [stdin, 'pipe', 'pipe'],
      // Nothing of the person's own settings; and found like any process of the call should this one die first.
      env: { TROUPE_CALL: `${context.agentId}/${context.callId}` },
    })
    const chunks: Buffer[] = []
    let bytes = 0
    let errors = ''
    let cut: RipgrepOutput['cut']
    const end = (): boolean => child.kill('SIGKILL')
    context.signal.addEventListener('abort', end, { once: true })
    const cancelLimit = context.clock.setTimer(SEARCH_TIME_LIMIT_MS, () => {
      cut = 'time'
      end()
    })
    const release = (): void => {
      cancelLimit()
      context.signal.removeEventListener('abort', end)
    }
    child.stdout?.on('data', (chunk: Buffer) => {
      if (bytes >= request.maxBytes) return
      chunks.push(chunk.subarray(0, request.maxBytes - bytes))
      bytes += chunk.length
      if (bytes < request.maxBytes) return
      cut = 'size'
      end()
    })
    child.stderr?.on('data', (chunk: Buffer) => {
      if (errors.length < MAX_ERRORS) errors += chunk.toString('latin1')
    })
    child.once('error', (cause) => {
      release()
      reject(new ToolRefusal(`ripgrep could not be started: ${cause.message}`, { cause }))
    })
    child.once('close', (code) => {
      release()
      const text = Buffer.concat(chunks).toString()
      const { unreadable, others } = readErrors(Buffer.from(errors, 'latin1').toString())
      if (context.signal.aborted) reject(interrupted)
      // 1 is "nothing found"; 2 is also "some files could not be read", and the rest counts. What is wrong with the
      // search itself comes before any output.
      else if (cut === undefined && code === 2 && others !== '' && text === '')
        reject(new ToolRefusal(explain(others)))
      else resolve({ text, cut, unreadable })
    })
  })
}

const GONE = 2

/** Parts what went wrong with single files from what went wrong with the search. */
export function readErrors(errors: string): {
  readonly unreadable: readonly string[]
  readonly others: string
} {
  const unreadable = new Set<string>()
  let others = ''
  for (const message of errors.split(/^rg: /m).slice(1)) {
    const single = /^(?<path>.*): [^:]* \(os error (?<code>\d+)\)\s*$/s.exec(message)?.groups
    if (single === undefined) others += message
    // What went away while the search ran is no more missing from it than what went away before.
    else if (Number(single['code']) !== GONE) unreadable.add(namedOnce(single['path'] ?? ''))
  }
  return { unreadable: [...unreadable], others: others.trim() }
}

/** A sorted walk names a folder twice. */
const namedOnce = (path: string): string =>
  path.replace(/^(.*): IO error for operation on \1$/s, '$1').replace(/^\.\//, '')

const NAMED = 3

/** A note on what could not be read, for the end of a result; undefined when all could. Paths as the model knows them. */
export function unreadableNote(paths: readonly string[]): string | undefined {
  if (paths.length === 0) return undefined
  const named = paths.slice(0, NAMED).map(printable).join(', ')
  const more = paths.length > NAMED ? ', …' : ''
  return `[${counted(paths.length, 'folder or file', 'folders or files')} could not be read and may hold more: ${named}${more}]`
}

function explain(errors: string): string {
  const message = errors.trim().replace(/^rg: /, '')
  if (message.includes('literal "\\n" is not allowed')) {
    return 'The pattern holds a line end. Set multiline to search over several lines.'
  }
  if (message.includes('regex parse error')) {
    return `The pattern is not a valid regular expression. Put a backslash before characters that are meant literally.\n${message}`
  }
  return `The search could not be done: ${message}`
}

/** Loaded at the first search: the package throws on import where it has no program for the platform. */
async function ripgrepPath(): Promise<string> {
  try {
    return (await import('@vscode/ripgrep')).rgPath
  } catch (cause) {
    throw new ToolRefusal(
      `Searching needs ripgrep, and the package @vscode/ripgrep has no program for ${process.platform}-${process.arch}. Install it with its optional dependencies (npm install --include=optional).`,
      { cause },
    )
  }
}

/** A note on a search that was ended early, for the end of its result. */
export function cutNote({ cut }: RipgrepOutput): string | undefined {
  if (cut === 'time') {
    return `[Ended after ${SEARCH_TIME_LIMIT_MS / 1000} s; there may be more. Search in a smaller folder.]`
  }
  return cut === 'size' ? '[There is more than is shown. Make the search narrower.]' : undefined
}
