/** A path inside a repository, as somebody writes it. Pure. */

/** What is wrong with it; undefined: it is relative, leads to something inside, and not into git's own folder. */
export function innerPathProblem(path: string): string | undefined {
  const parts = partsOf(path)
  if (path.startsWith('/') || parts.includes('..')) return 'it must be a relative path inside the repository'
  // Git would read a line break as the end of the path.
  if (/\p{Cc}/u.test(path)) return 'it must not have control characters'
  if (parts.length === 0) return 'it must name a folder inside the repository, not the repository itself'
  // Some file systems do not tell large letters from small ones.
  if (parts.some((part) => part.toLowerCase() === '.git')) return 'it must not be in the .git folder'
  return undefined
}

/** Without what names nothing: `./a//b/` is `a/b`. */
export const innerPath = (path: string): string => partsOf(path).join('/')

const partsOf = (path: string): readonly string[] =>
  path.split('/').filter((part) => part !== '' && part !== '.')
