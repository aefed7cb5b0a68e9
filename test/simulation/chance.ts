/** Chance that a seed decides: streams of numbers with a name, independent of each other. */

export interface Chance {
  /** A number in [0, 1). */
  next(): number
  /** A whole number from 0 up to, and without, `limit`. */
  below(limit: number): number
  /** True once in 1/`probability` times. */
  happens(probability: number): boolean
  /** One of the things; throws when there is none. */
  pick<T>(things: readonly T[]): T
  /** One of the keys, as often as its weight says. */
  weigh<K extends string>(weights: Readonly<Record<K, number>>): K
}

/** The stream of this name (Mulberry32, started from the hash of seed and name). */
export function chanceFrom(seed: number, stream: string): Chance {
  let state = hash(`${seed}/${stream}`)
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number): number => Math.floor(next() * limit)
  return {
    next,
    below,
    happens: (probability) => next() < probability,
    pick: (things) => {
      const thing = things[below(things.length)]
      if (thing === undefined) throw new Error('there is nothing to pick from')
      return thing
    },
    weigh: (weights) => {
      const keys = Object.keys(weights) as (keyof typeof weights)[]
      let rest = next() * keys.reduce((sum, key) => sum + weights[key], 0)
      for (const key of keys) {
        rest -= weights[key]
        if (rest < 0) return key
      }
      throw new Error('the weights add up to nothing')
    },
  }
}

/** FNV-1a, 32 bits. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193)
  return value | 0
}
