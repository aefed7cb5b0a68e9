/** The prompt: the words of the command line, and what is piped in. */

import { messageOf } from '../definitions/message-of.ts'
import { CliError } from './errors.ts'
import type { Host } from './host.ts'

/**
 * Milliseconds that piped input may take to begin when there is something to ask without it. A parent process
 * often leaves a pipe open that nobody ever writes to.
 */
const PATIENCE_MS = 3000

type Source = Pick<Host, 'stdin' | 'stderr' | 'clock'>

/**
 * The words, then a blank line, then the piped text; undefined when there is neither. Waits for the end of the
 * input once it has begun; `isOptional` says that the run makes sense without any.
 */
export async function readPrompt(
  words: string | undefined,
  host: Source,
  isOptional = words !== undefined,
): Promise<string | undefined> {
  const piped = host.stdin.isTTY
    ? undefined
    : await readInput(host, isOptional ? PATIENCE_MS : undefined).catch(unreadable)
  const parts = [words, piped?.trim()].filter((part) => part !== undefined && part !== '')
  return parts.length === 0 ? undefined : parts.join('\n\n')
}

function unreadable(error: unknown): never {
  const reason = messageOf(error)
  throw new CliError(`standard input cannot be read: ${reason}; give it a file or a pipe, or < /dev/null`, {
    cause: error,
  })
}

async function readInput(
  { stdin, stderr, clock }: Source,
  patienceMs: number | undefined,
): Promise<string | undefined> {
  const chunks = stdin[Symbol.asyncIterator]()
  const first = chunks.next()
  const begun =
    patienceMs === undefined ||
    (await new Promise<boolean>((resolve, reject) => {
      const cancel = clock.setTimer(patienceMs, () => resolve(false))
      first.then(() => resolve(true), reject).finally(cancel)
    }))
  if (!begun) {
    stderr.write(`troupe: nothing came from standard input in ${PATIENCE_MS / 1000} s, going on without it\n`)
    return undefined
  }
  const decoder = new TextDecoder()
  let text = ''
  for (let next = await first; !next.done; next = await chunks.next()) {
    text += typeof next.value === 'string' ? next.value : decoder.decode(next.value, { stream: true })
  }
  return text + decoder.decode()
}
