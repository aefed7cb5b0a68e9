/**
 * Path patterns of rules, and paths, as text: no disk is looked at. Symlinks are resolved by whoever asks.
 *
 * `./rel/**` and `rel/**` start at the working directory, `//abs/**` at the root, `~/x` at home. `*` and `?` stay
 * within a name, `**` spans folders (none included), `{a,b}` is either. An allow rule is read as narrowly as its
 * text permits, a deny rule as widely: it ignores case, covers what lies under the path, and a bare name
 * (`.env`) holds in any folder.
 */
import type { RuleKind } from './rule.ts'
import { matchesSequence, matchesWildcard } from './wildcard.ts'

/** Where relative things start: absolute paths. `home` unknown: `~/x` allows nothing and denies any such path. */
export interface PathBase {
  readonly cwd: string
  readonly home?: string | undefined
}

/** Does the pattern, read as an allow or a deny rule means it, cover the path (absolute, or relative to `cwd`)? */
export function coversPath(pattern: string, path: string, base: PathBase, kind: RuleKind): boolean {
  // Folded before anything is compared, so that both sides are the same in every reading.
  const whole = fold(pattern.trim(), kind)
  const places = {
    cwd: fold(base.cwd, kind),
    home: base.home === undefined ? undefined : fold(base.home, kind),
  }
  const names = namesOf(resolvePath(places.cwd, fold(path, kind)))
  const texts = bracesExpanded(whole)
  if (texts === undefined) return kind === 'deny'
  return [whole, ...texts].some((text) =>
    readingsOf(text, places, kind).some((elements) =>
      matchesSequence(elements, names, isAnyDepth, (element, name) => matchesElement(element, name, kind)),
    ),
  )
}

/** The absolute path with `.` and `..` worked out. Both separators count where `cwd` starts with a drive. */
export function resolvePath(cwd: string, path: string): string {
  const isWindows = /^[a-z]:[\\/]/iu.test(cwd)
  const [from, to] = isWindows ? [cwd, path].map((text) => text.replaceAll('\\', '/')) : [cwd, path]
  const isAbsolute = to?.startsWith('/') || (isWindows && /^[a-z]:\//iu.test(to ?? ''))
  return `/${namesOf(isAbsolute ? (to ?? '') : `${from}/${to}`).join('/')}`
}

/** One step of a pattern: a folder's own name, taken as it is, or a glob. */
type Element = { readonly name: string } | { readonly glob: string }

/** The ways in which a pattern can be meant, each from the root. */
function readingsOf(text: string, base: PathBase, kind: RuleKind): readonly (readonly Element[])[] {
  const globs = (rest: string): readonly Element[] => namesOf(rest).map((glob) => ({ glob }))
  const literal = (path: string): readonly Element[] =>
    namesOf(resolvePath('/', path)).map((name) => ({ name }))
  // Relative patterns climb with `..` from the working directory.
  const below = (root: string, rest: string): readonly Element[] => {
    const climbs = /^(?:\.{0,2}\/)*(?:\.\.$)?/u.exec(rest)?.[0] ?? ''
    return [...literal(resolvePath(root, climbs.replace(/^\/+/u, ''))), ...globs(rest.slice(climbs.length))]
  }
  const anyDepth: Element = { glob: '**' }
  const whole = text.endsWith('/') ? `${text}**` : text
  const readings: (readonly Element[])[] = []
  if (whole.startsWith('//')) readings.push(globs(whole))
  else if (whole === '~' || whole.startsWith('~/')) {
    if (base.home !== undefined) readings.push(below(base.home, whole.slice(2)))
    else if (kind === 'deny') readings.push([anyDepth, ...globs(whole.slice(2))])
  } else {
    readings.push(below(base.cwd, whole))
    if (kind === 'deny' && whole.startsWith('/')) readings.push(globs(whole))
    if (kind === 'deny' && (!whole.includes('/') || whole.startsWith('**/')))
      readings.push([anyDepth, ...globs(whole)])
  }
  return kind === 'allow' ? readings : readings.map((elements) => [...elements, anyDepth])
}

function isAnyDepth(element: Element): boolean {
  return 'glob' in element && element.glob === '**'
}

function matchesElement(element: Element, name: string, kind: RuleKind): boolean {
  if ('name' in element) return element.name === name
  const { glob } = element
  if (matchesWildcard(glob, name)) return true
  // `[…]` is a folder's name in many projects. To a deny rule it may also be a set of characters.
  return kind === 'deny' && glob.includes('[') && matchesWildcard(setsAsOne(glob), name)
}

/** `[…]` as `?`. Looks no further than the last bracket: a search from each of many `[` to the end is quadratic. */
function setsAsOne(glob: string): string {
  const end = glob.lastIndexOf(']') + 1
  return glob.slice(0, end).replaceAll(/\[[^\]]*\]/gu, '?') + glob.slice(end)
}

/** Deny rules see through what file systems that ignore case, or normalise names, see through. */
function fold(text: string, kind: RuleKind): string {
  return kind === 'deny' ? text.normalize('NFC').toLowerCase() : text
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
