/** Names of agents: what others may call one instead of its id. */

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/u

/** As ids of agents look: a name must not pass for one. */
const LIKE_AN_ID = /^a[0-9a-f]{16}$/u

/** What messages are sent to besides agents with names. */
const RESERVED: readonly string[] = ['main', 'parent']

/** Why a name cannot be one; undefined: it can. */
export function nameProblem(name: string): string | undefined {
  if (!NAME.test(name))
    return 'a name has 1 to 64 letters, digits, dots, dashes and underscores, and begins with a letter or digit'
  if (LIKE_AN_ID.test(name)) return 'it looks like the id of an agent'
  if (RESERVED.includes(name.toLowerCase()))
    return `"${name.toLowerCase()}" is taken: messages to it go elsewhere`
  return undefined
}
