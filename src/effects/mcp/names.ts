/**
 * Names of servers and of their tools: `mcp__<server>__<tool>`.
 *
 * N1 A rule that names a server covers its tools and no others: a server's name holds no `__` and does not end
 *    in `_`, and the prefix of a tool's name is always whole.
 * N2 A tool's name is at most {@link MAX_TOOL_NAME} long, of `A-Za-z0-9_-`, and depends on the set of the
 *    server's tools only, never on their order.
 */
import { createHash } from 'node:crypto'

const MAX_TOOL_NAME = 64
const MAX_SERVER_NAME = 40
const HASH_LENGTH = 8

/** The name in the form that tools' names can carry (N1). A good name stays as it is. */
export function normalServerName(name: string): string {
  const plain = name
    .trim()
    .replace(/[^A-Za-z0-9_-]+/g, '_')
    .replace(/_{2,}/g, '_')
    .replace(/^_|_$/g, '')
  if (plain === '') return `server-${hashOf(name)}`
  return plain.length <= MAX_SERVER_NAME ? plain : shortened(plain, name, MAX_SERVER_NAME)
}

/** What a model calls each of a server's tools, by the tool's own name (N2). */
export function toolNames(server: string, tools: readonly string[]): ReadonlyMap<string, string> {
  const prefix = `mcp__${normalServerName(server)}__`
  const room = MAX_TOOL_NAME - prefix.length
  const own = [...new Set(tools)]
  const stems = own.map((tool) => tool.replace(/[^A-Za-z0-9_-]/g, '_'))
  // Rules do not distinguish case.
  const holders = new Map<string, number>()
  for (const stem of stems) holders.set(stem.toLowerCase(), (holders.get(stem.toLowerCase()) ?? 0) + 1)
  return new Map(
    own.map((tool, index) => {
      const stem = stems[index] ?? ''
      const isClear = stem !== '' && stem.length <= room && holders.get(stem.toLowerCase()) === 1
      return [tool, prefix + (isClear ? stem : shortened(stem, tool, room))]
    }),
  )
}

/** As much of `text` as there is room for, told apart by a hash of what it stands for. */
function shortened(text: string, whole: string, room: number): string {
  return `${text.slice(0, room - HASH_LENGTH - 1)}-${hashOf(whole)}`
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, HASH_LENGTH)
}
