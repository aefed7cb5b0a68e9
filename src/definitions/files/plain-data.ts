/**
 * A copy of a value that a parser or a caller gave, as plain data: texts, numbers, truth values, null, lists and
 * objects. It holds no accessors, no prototypes, no shared or circular parts, and no lone surrogates.
 */

/** Plain data, or why a value is none. */
export type PlainData =
  | { readonly kind: 'plain'; readonly value: unknown }
  | { readonly kind: 'refused'; readonly reason: string }

const MOST_NODES = 20_000
const MOST_CHARACTERS = 1_000_000
const MOST_LEVELS = 64

/** Copies a value. Shared parts are copied each time, within bounds, so that no alias bomb goes off. Never throws. */
export function toPlainData(value: unknown): PlainData {
  const budget = { nodes: MOST_NODES, characters: MOST_CHARACTERS }
  try {
    return { kind: 'plain', value: copied(value, budget, 0) }
  } catch (error) {
    const reason = error instanceof Refusal ? error.message : 'it cannot be read as data'
    return { kind: 'refused', reason }
  }
}

/** Is it an object with keys, as `toPlainData` makes them? */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

class Refusal extends Error {}

interface Budget {
  nodes: number
  characters: number
}

function copied(value: unknown, budget: Budget, level: number): unknown {
  budget.nodes -= 1
  if (budget.nodes < 0)
    throw new Refusal('it comes to too many values; does it repeat itself through aliases?')
  if (level > MOST_LEVELS) throw new Refusal('it is nested too deeply')
  if (typeof value === 'string') return text(value, budget)
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return value
  if (value === undefined) return null
  if (typeof value !== 'object') throw new Refusal(`it holds a ${typeof value}`)
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'invalid date' : value.toISOString()
  if (Array.isArray(value)) {
    const items: unknown[] = []
    for (const item of value) items.push(copied(item, budget, level + 1))
    return items
  }
  if (value instanceof Uint8Array) throw new Refusal('it holds bytes')
  const copy: Record<string, unknown> = {}
  for (const [key, item] of Object.entries(value)) {
    // A key is data, never a prototype.
    if (key !== '__proto__') copy[text(key, budget)] = copied(item, budget, level + 1)
  }
  return copy
}

function text(value: string, budget: Budget): string {
  budget.characters -= value.length
  if (budget.characters < 0)
    throw new Refusal('it comes to too much text; does it repeat itself through aliases?')
  // The method is there; the compiler's library types (ES2023) do not know it yet.
  return (value as string & { toWellFormed(): string }).toWellFormed()
}
