/** One way to settle every value of a spawn: candidates in order of strength, each with the rule that speaks for it. */

/** A value and the rule that decided it, so that anyone can ask why. */
export interface Resolved<T> {
  readonly value: T
  readonly rule: string
}

/** Somebody who may decide a value. Undefined: has no opinion. */
export interface Candidate<T> {
  readonly rule: string
  readonly value: T | undefined
}

/** The first candidate that has an opinion, or undefined. */
export function resolveFirst<T>(candidates: readonly Candidate<T>[]): Resolved<T> | undefined {
  for (const { rule, value } of candidates) if (value !== undefined) return { value, rule }
  return undefined
}

/** The first candidate that has an opinion, or what holds when none has. */
export function resolve<T>(candidates: readonly Candidate<T>[], otherwise: Resolved<T>): Resolved<T> {
  return resolveFirst(candidates) ?? otherwise
}
