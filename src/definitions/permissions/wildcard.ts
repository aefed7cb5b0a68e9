/** Matching a sequence against a pattern with stars, in time that no pattern can blow up. */

/**
 * Does the whole subject match? `isStar` says which elements of the pattern stand for any run of elements,
 * none included; every other element must match exactly one. Backtracks to the last star only, which is enough.
 */
export function matchesSequence<P, S>(
  pattern: readonly P[],
  subject: readonly S[],
  isStar: (element: P) => boolean,
  matches: (element: P, item: S) => boolean,
): boolean {
  let at = 0
  let next = 0
  let star: { readonly at: number; readonly next: number } | undefined
  while (next < subject.length) {
    const element = pattern[at]
    const item = subject[next]
    if (at < pattern.length && element !== undefined && isStar(element)) {
      star = { at, next }
      at += 1
    } else if (element !== undefined && item !== undefined && matches(element, item)) {
      at += 1
      next += 1
    } else if (star !== undefined) {
      star = { at: star.at, next: star.next + 1 }
      at = star.at + 1
      next = star.next
    } else return false
  }
  return pattern.slice(at).every(isStar)
}

/** `*` any run of characters, `?` any one, everything else itself. */
export function matchesWildcard(pattern: string, text: string): boolean {
  return matchesSequence(
    [...pattern],
    [...text],
    (character) => character === '*',
    (character, given) => character === '?' || character === given,
  )
}
