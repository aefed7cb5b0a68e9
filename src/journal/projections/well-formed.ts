/**
 * Strings that can be sent: a lone surrogate (half of a character, what cutting a text by code units leaves) has no
 * UTF-8 form, and a request that holds one is refused.
 */

/** Levels of nesting that a request keeps. JSON writers recurse: without a bound one absurd input blocks an agent for good. */
export const MAX_NESTING = 200

const TOO_DEEP = '(left out: nested too deeply)'

/** Part of every Node that we run on, though not yet of the library types that we compile with (ES2024). */
type RepairableString = string & { isWellFormed(): boolean; toWellFormed(): string }

/**
 * The same value with each lone surrogate, in keys and strings at any depth, replaced by U+FFFD, and what is nested
 * deeper than {@link MAX_NESTING} levels by a remark. Copies only what it changes: a clean value comes back itself.
 */
export function wellFormed<T>(value: T): T {
  // The shape stays; only strings change, except below the bound, where no typed field is.
  return isSendable(value, 0) ? value : (repaired(value, 0) as T)
}

/** Nearly everything is: asking first makes nothing. */
function isSendable(value: unknown, depth: number): boolean {
  if (typeof value === 'string') return (value as RepairableString).isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  if (depth >= MAX_NESTING) return false
  if (Array.isArray(value)) return value.every((item) => isSendable(item, depth + 1))
  return Object.entries(value).every(([key, field]) => isSendable(key, depth) && isSendable(field, depth + 1))
}

function repaired(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return (value as RepairableString).toWellFormed()
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_NESTING) return TOO_DEEP
  if (Array.isArray(value)) {
    const items = value.map((item) => repaired(item, depth + 1))
    return items.some((item, i) => !Object.is(item, value[i])) ? items : value
  }
  let changed = false
  const fields = Object.entries(value).map(([key, field]) => {
    const pair = [repaired(key, depth), repaired(field, depth + 1)] as const
    if (pair[0] !== key || !Object.is(pair[1], field)) changed = true
    return pair
  })
  // Not by assignment: a key named `__proto__` is data.
  return changed ? Object.fromEntries(fields) : value
}
