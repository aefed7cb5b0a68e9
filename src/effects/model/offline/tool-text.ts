/**
 * What the texts of `Grep`, `Glob` and `Read` results say. Lines of no known form are left out. Only `\n` ends a
 * line: a file may hold the other separators that a `.` does not match.
 */

/** One line of a file, seen in a result. */
export interface SeenLine {
  /** As the tool named it. */
  readonly path: string
  /** Counts from 1. */
  readonly line: number
  readonly text: string
}

/** Matching lines of a `Grep` in content mode, `path:line:text`. */
export function grepLines(result: string): readonly SeenLine[] {
  return result.split('\n').flatMap((row) => {
    const match = /^(.+?):(\d+):(.*)$/s.exec(row.replace(/\r$/, ''))
    if (match === null) return []
    const [, path = '', line = '', text = ''] = match
    return [{ path: tidy(path), line: Number(line), text }]
  })
}

/** Lines of a `Read` of `path`: a number, a tab, the text. */
export function readLines(path: string, result: string): readonly SeenLine[] {
  return result.split('\n').flatMap((row) => {
    const match = /^\s*(\d+)\t(.*)$/s.exec(row.replace(/\r$/, ''))
    return match === null ? [] : [{ path: tidy(path), line: Number(match[1]), text: match[2] ?? '' }]
  })
}

/** Paths of a `Glob`, one on a line. Sentences, such as «No files found», are no paths. */
export function globPaths(result: string): readonly string[] {
  return result
    .split('\n')
    .map((row) => tidy(row.trim()))
    .filter((row) => row !== '' && !/\s\w+\s/.test(row) && /[./]/.test(row) && !row.endsWith('.'))
}

const tidy = (path: string): string => path.replace(/^\.\//, '')
