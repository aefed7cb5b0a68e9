/**
 * Path patterns of rules, and paths, as text: no disk is looked at. Symlinks are resolved by whoever asks.
 *
 * `./rel/**` and `rel/**` start at the working directory, `/x` at the folder that the rule's file speaks for, `//abs`
 * at the root, `~/x` at home. `*` and `?` stay within a name, `**` spans folders (none included), `{a,b}` is either.
 *
 *   T1  An allow rule is read as narrowly as its text permits.
 *   T2  Deny and ask rules are read as widely: case and accents' forms do not count, what lies under a path is
 *       covered, a bare name (`.env`) holds in any folder, a relative path from every folder it might be meant from,
 *       and whatever git would ignore by the pattern is covered too.
 *   T3  Matching takes time in proportion to pattern and path, whoever wrote them: a project's rules are read
 *       before anybody trusts it. Patterns as regular expressions would not do.
 */
import { isWide, type RuleKind } from './rule-kind.ts'
import { matchesSequence, matchesWildcard } from './wildcard.ts'

/** Where relative patterns start: absolute paths. */
export interface PathBase {
  readonly cwd: string
  /** Unknown: `~/x` allows nothing and denies any such path. */
  readonly home?: string | undefined
  /** The folder that the rule's file speaks for: `/x` starts there. Default: `cwd`. */
  readonly root?: string | undefined
  /** More folders that a relative pattern of a deny or ask rule may start from, as an ancestor's. */
  readonly also?: readonly string[] | undefined
}

/** A path made ready, in the form that rules of one kind compare. */
export interface PathNames {
  /** From the root. */
  readonly names: readonly string[]
  /** It is not all ASCII, so that folding may have made several characters of one, or one of several. */
  readonly isFolded: boolean
}

/** A pattern made ready. */
export interface PathMatcher {
  /** Does it cover the path? */
  covers(path: PathNames): boolean
  /** What a path must have to be covered: so long lists need not be gone through (`path-index.ts`). */
  readonly needs: readonly PathNeed[]
}

/** The names that a path must start with, or one that it must hold. One of several needs is enough. */
export type PathNeed = { readonly start: readonly string[] } | { readonly name: string }

/** Makes a pattern ready, read as a rule of this kind means it. */
export function pathMatcher(pattern: string, base: PathBase, kind: RuleKind): PathMatcher {
  // Folded before anything is compared, so that both sides are the same in every reading.
  const whole = fold(pattern.trim(), kind)
  const places: Places = {
    relative: [base.cwd, ...(isWide(kind) ? [base.root ?? base.cwd, ...(base.also ?? [])] : [])].map(
      (folder) => fold(folder, kind),
    ),
    rooted: fold(base.root ?? base.cwd, kind),
    home: base.home === undefined ? undefined : fold(base.home, kind),
  }
  const texts = bracesExpanded(whole)
  if (texts === undefined) return { covers: () => isWide(kind), needs: isWide(kind) ? [{ start: [] }] : [] }
  const readings = new Map<string, readonly Element[]>()
  for (const text of new Set([whole, ...texts]))
    for (const elements of readingsOf(text, places, kind)) readings.set(JSON.stringify(elements), elements)
  const all = [...readings.values()]
  const matches = isWide(kind) ? matchesWidely : matchesNarrowly
  return {
    covers: ({ names, isFolded }) =>
      all.some((elements) =>
        matchesSequence(elements, names, isAnyDepth, (element, name) => matches(element, name, isFolded)),
      ),
    needs: all.map(needOf),
  }
}

/** What comes before the first glob, or behind a `**` at the start. */
function needOf(elements: readonly Element[]): PathNeed {
  const end = elements.findIndex((element) => !('name' in element))
  const [first, second] = elements
  if (first !== undefined && isAnyDepth(first) && second !== undefined && 'name' in second)
    return { name: second.name }
  return {
    start: elements
      .slice(0, end === -1 ? elements.length : end)
      .flatMap((each) => ('name' in each ? [each.name] : [])),
  }
}

/** Makes a path ready (absolute, or relative to `cwd`) for matchers of rules of this kind. */
export function pathNames(cwd: string, path: string, kind: RuleKind): PathNames {
  const names = namesOf(resolvePath(fold(cwd, kind), fold(path, kind)))
  const isFolded = isWide(kind) && NOT_ASCII.test(path)
  return { names: isWide(kind) && isWindows(cwd) ? names.map(withoutDecoration) : names, isFolded }
}

/** Does the pattern, read as a rule of this kind means it, cover the path (absolute, or relative to `cwd`)? */
export function coversPath(pattern: string, path: string, base: PathBase, kind: RuleKind): boolean {
  return pathMatcher(pattern, base, kind).covers(pathNames(base.cwd, path, kind))
}

/** The absolute path with `.` and `..` worked out. Both separators count where `cwd` starts with a drive. */
export function resolvePath(cwd: string, path: string): string {
  const [from, to] = isWindows(cwd) ? [cwd, path].map((text) => text.replaceAll('\\', '/')) : [cwd, path]
  const isAbsolute = to?.startsWith('/') || (isWindows(cwd) && /^[a-z]:\//iu.test(to ?? ''))
  return `/${namesOf(isAbsolute ? (to ?? '') : `${from}/${to}`).join('/')}`
}

/** One step of a pattern: a folder's own name, taken as it is, or a glob. */
type Element = { readonly name: string } | { readonly glob: string }

interface Places {
  readonly relative: readonly string[]
  readonly rooted: string
  readonly home: string | undefined
}

/** The ways in which a pattern can be meant, each from the root. */
function readingsOf(text: string, places: Places, kind: RuleKind): readonly (readonly Element[])[] {
  const globs = (rest: string): readonly Element[] =>
    namesOf(rest).map((text) => (/[*?[\\]/u.test(text) ? { glob: text } : { name: text }))
  const literal = (path: string): readonly Element[] =>
    namesOf(resolvePath('/', path)).map((name) => ({ name }))
  // Relative patterns climb with `..` from where they start.
  const below = (root: string, rest: string): readonly Element[] => {
    const climbs = /^(?:\.{0,2}\/)*(?:\.\.$)?/u.exec(rest)?.[0] ?? ''
    return [...literal(resolvePath(root, climbs.replace(/^\/+/u, ''))), ...globs(rest.slice(climbs.length))]
  }
  const anyDepth: Element = { glob: '**' }
  const whole = text.endsWith('/') ? `${text}**` : text
  const readings: (readonly Element[])[] = []
  if (whole.startsWith('//')) readings.push(globs(whole))
  else if (whole === '~' || whole.startsWith('~/')) {
    if (places.home !== undefined) readings.push(below(places.home, whole.slice(2)))
    else if (isWide(kind)) readings.push([anyDepth, ...globs(whole.slice(2))])
  } else {
    if (whole.startsWith('/')) readings.push(below(places.rooted, whole))
    if (isWide(kind) || !whole.startsWith('/'))
      for (const folder of places.relative) readings.push(below(folder, whole))
    if (isWide(kind) && whole.startsWith('/')) readings.push(globs(whole))
    // To git a slash at the end says only that it is a folder.
    if (isWide(kind) && (!text.slice(0, -1).includes('/') || whole.startsWith('**/')))
      readings.push([anyDepth, ...globs(whole)])
  }
  return isWide(kind) ? readings.map((elements) => [...elements, anyDepth]) : readings
}

function isAnyDepth(element: Element): boolean {
  return 'glob' in element && element.glob === '**'
}

function matchesNarrowly(element: Element, name: string): boolean {
  return 'name' in element ? element.name === name : matchesWildcard(element.glob, name)
}

/** Also the other ways to read a name of a pattern: `[…]` as a set of characters, `\*` as a star that is none. */
function matchesWidely(element: Element, name: string, isFolded: boolean): boolean {
  if (matchesNarrowly(element, name)) return true
  if (!('glob' in element) || !/[?[\\]/u.test(element.glob)) return false
  const loose = isFolded ? element.glob.replaceAll('?', '*') : element.glob
  const readings = [loose, isFolded ? setsAsOne(loose).replaceAll('?', '*') : setsAsOne(loose)]
  return [...readings, ...readings.map((text) => text.replaceAll(/\\(?<next>.)/gsu, '$<next>'))].some(
    (text) => matchesWildcard(text, name),
  )
}

/** `[…]` as `?`. Looks no further than the last bracket: a search from each of many `[` to the end is quadratic. */
function setsAsOne(glob: string): string {
  const end = glob.lastIndexOf(']') + 1
  return glob.slice(0, end).replaceAll(/\[[^\]]*\]/gu, '?') + glob.slice(end)
}

const NOT_ASCII = /\P{ASCII}/u

/**
 * Deny rules see through what file systems that ignore case, or normalise names, see through. Upper case last:
 * only there `ß` and `ss`, `ſ` and `s`, `ς` and `σ` are one.
 */
function fold(text: string, kind: RuleKind): string {
  if (!isWide(kind)) return text
  // Most paths are plain, and the long way costs more than all the rest.
  if (!NOT_ASCII.test(text)) return text.toUpperCase()
  return text.normalize('NFC').toLowerCase().toUpperCase().normalize('NFC')
}

function isWindows(cwd: string): boolean {
  return /^[a-z]:[\\/]/iu.test(cwd)
}

/** Windows takes `.env.`, `.env ` and `.env::$DATA` for `.env`. */
function withoutDecoration(name: string): string {
  return name.replace(/(?<=[^:]):.*$/su, '').replace(/(?<=[^. ])[. ]{1,64}$/u, '')
}

function namesOf(path: string): readonly string[] {
  const names: string[] = []
  for (const name of path.split('/')) {
    if (name === '..') names.pop()
    else if (name !== '' && name !== '.') names.push(name)
  }
  return names
}

/** All readings of `{a,b}` (innermost first); undefined when they are too many to look at. */
function bracesExpanded(pattern: string): readonly string[] | undefined {
  let open = [pattern]
  const done: string[] = []
  while (open.length > 0) {
    if (open.length + done.length > 256) return undefined
    open = open.flatMap((text) => {
      // Up to the first comma without commas: the other way round, many of them would be tried one after the other.
      const braces = /\{(?<choices>[^{},]*,[^{}]*)\}/u.exec(text)
      if (braces === null) {
        done.push(text)
        return []
      }
      const [before, after] = [text.slice(0, braces.index), text.slice(braces.index + braces[0].length)]
      return (braces.groups?.['choices'] ?? '').split(',').map((choice) => `${before}${choice}${after}`)
    })
  }
  return done
}
