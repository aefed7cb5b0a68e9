/**
 * Takes the values of secrets out of what agents, logs and models get.
 *
 *   S1  In what comes out no value stands that is long enough to be masked, and no value as JSON would escape it.
 *   S2  Values are searched for as they are: nothing in one is a pattern. The time grows with the text, once for each
 *       value.
 *   S3  A short value is not masked: it would stand everywhere by chance, and each place would tell it. It is told.
 */

/** Shorter values are not masked. */
export const MIN_SECRET_CHARS = 8

/** A name and the value that nobody is shown. */
export interface Secret {
  readonly name: string
  readonly value: string
}

export interface SecretMask {
  /** The text with `[secret NAME]` in place of each value. */
  text(text: string): string
  /** The same for every text in a plain value, keys included. What has none comes back as it is. */
  plain<T>(value: T): T
  /** Names whose values are too short. */
  readonly unmasked: readonly string[]
}

/** A mask for these secrets. Of two names with one value the first is told. */
export function createSecretMask(secrets: readonly Secret[]): SecretMask {
  const isLong = ({ value }: Secret): boolean => value.length >= MIN_SECRET_CHARS
  const needles = new Map<string, string>()
  for (const { name, value } of secrets.filter(isLong)) {
    for (const needle of [value, JSON.stringify(value).slice(1, -1)])
      if (!needles.has(needle)) needles.set(needle, `[secret ${name}]`)
  }
  // The longest first: one value may be a part of another.
  const ordered = [...needles].sort(([a], [b]) => b.length - a.length)

  const text = (original: string): string => {
    let masked = original
    for (const [value, instead] of ordered) {
      // The function keeps `$&` and the like in a name from meaning anything.
      if (masked.includes(value)) masked = masked.replaceAll(value, () => instead)
    }
    return masked
  }

  const plain = (value: unknown): unknown => {
    if (typeof value === 'string') return text(value)
    if (Array.isArray(value)) {
      const items = value.map(plain)
      return items.every((item, i) => item === value[i]) ? value : items
    }
    if (typeof value !== 'object' || value === null) return value
    let isSame = true
    const entries = Object.entries(value).map(([key, inner]) => {
      const entry = [text(key), plain(inner)] as const
      isSame &&= entry[0] === key && entry[1] === inner
      return entry
    })
    return isSame ? value : Object.fromEntries(entries)
  }

  return {
    text: ordered.length === 0 ? (original) => original : text,
    // Only texts change, each into another text, so the type stays.
    plain: <T>(value: T): T => (ordered.length === 0 ? value : (plain(value) as T)),
    unmasked: [
      ...new Set(secrets.filter((secret) => secret.value !== '' && !isLong(secret)).map(({ name }) => name)),
    ],
  }
}
