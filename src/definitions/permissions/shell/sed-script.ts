/** Which scripts of `sed` only print, delete and replace. `w` writes files, `e` runs programs, `r` reads any. */

// Up to the separator (group 1). In a set of characters it separates nothing, so sets are read whole.
const SET = String.raw`\[\^?\]?(?:\[[:.=][a-z]{0,20}[:.=]\]|[^\]\\\n[])*\]`
const PATTERN = String.raw`(?:\\[^\n]|${SET}|(?!\1)[^\\\n[])*\1`
const REPLACEMENT = String.raw`(?:\\[^\n]|(?!\1)[^\\\n])*\1`
const LINE = String.raw`(?:\d+|\$|\/[^/\\\n[]*\/)`
const STEP = new RegExp(
  String.raw`\s*(?:${LINE}(?:,\s*(?:\+\d+|${LINE}))?\s*!?\s*)?(?:[pPdDqQ=nNgGhHx]|s([/|#,:@!%+])${PATTERN}${REPLACEMENT}[gpIimM\d]*)\s*(?:;|$)`,
  'uy',
)
const MAX_LENGTH = 10_000

/** Does the script only print, delete and replace? */
export function isPlainSedScript(script: string): boolean {
  if (script.length > MAX_LENGTH) return false
  let at = 0
  while (at < script.length) {
    STEP.lastIndex = at
    const length = STEP.exec(script)?.[0].length ?? 0
    if (length === 0) return false
    at += length
  }
  return true
}
