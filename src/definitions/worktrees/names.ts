/** Names of worktrees and of their branches. Pure. */

/** Digits of an agent's id that a name begins with; more where they are taken. */
const FIRST_DIGITS = 8
const MAX_NAME = 64
const SEGMENT = /^[A-Za-z0-9._-]+$/

/** Names for an agent's worktree, in the order in which they are tried: `agent-<8 digits>`, then longer ones. */
export function agentTreeNames(agentId: string): readonly string[] {
  // The `a` in front of every id tells nothing apart.
  const digits = agentId.replace(/^a/, '')
  const lengths = Array.from(
    { length: Math.max(1, digits.length - FIRST_DIGITS + 1) },
    (_, i) => FIRST_DIGITS + i,
  )
  return lengths.map((length) => `agent-${digits.slice(0, length)}`)
}

/** The branch of a worktree of that name. */
export const branchOfTree = (name: string): string => `worktree-${name}`

/** The folder of a worktree of that name, below the folder of all of them. A `/` in a name makes no folder in a folder. */
export const folderOfTree = (name: string): string => name.replaceAll('/', '+')

/** What is wrong with a name that a person or a model gives; undefined when nothing is. */
export function treeNameProblem(name: string): string | undefined {
  if (name === '') return 'it is empty'
  if (name.length > MAX_NAME) return `it has ${name.length} characters; ${MAX_NAME} are allowed`
  const segments = name.split('/')
  const bad = segments.find((segment) => !SEGMENT.test(segment))
  if (bad !== undefined)
    return `"${bad}" is no part of a name: letters, digits, dots, dashes and underscores, separated by "/"`
  // What git refuses in the name of a branch, or what a path would be led astray by.
  const misleading = segments.find(
    (segment) =>
      segment.startsWith('.') ||
      segment.startsWith('-') ||
      segment.endsWith('.') ||
      segment.endsWith('.lock') ||
      segment.includes('..'),
  )
  return misleading === undefined
    ? undefined
    : `"${misleading}" cannot be part of it: no part begins with a dot or a dash, ends with a dot or ".lock", or holds two dots in a row`
}
