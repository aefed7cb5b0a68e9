/** The calls of an exploring child: what to search for, and what to read around the hits. */
import type { Angle } from './angle.ts'
import { ANGLES } from './angle.ts'
import {
  broadPattern,
  declarationPattern,
  fileNamePattern,
  memberPattern,
  mentionPattern,
  togetherPattern,
} from './patterns.ts'
import { spread } from './rank.ts'
import type { Call } from './step.ts'
import type { Task } from './task.ts'
import type { SeenLine } from './tool-text.ts'
import type { TellingWord } from './words.ts'

/** Lines of one search. More would hide the rare words behind the common ones. */
const LINES = 80
/** Files that explain nothing by their lines. Documents have an angle of their own. */
const CODE_ONLY = '!*.{md,mdx,rst,txt,lock,map,svg,csv,jsonl,snap}'
const DOCUMENTS = '*.{md,mdx,rst,adoc,txt}'
const TESTS =
  '{**/test/**,**/tests/**,**/spec/**,**/specs/**,**/__tests__/**,**/test_*,**/*_test.*,**/*.test.*,**/*.spec.*}'

/** How many windows are read, and how large they are, in lines. */
const WINDOWS = 8
const BEFORE = 16
const WINDOW = 52
const HEAD_OF_FILE = 45

/** The first searches: all at once, because none depends on another. */
export function firstSearches(task: Task, offered: ReadonlySet<string>): readonly Call[] {
  const angles: readonly Angle[] = task.angle === undefined ? ANGLES : [task.angle]
  const greps = angles.flatMap((angle) => SEARCHES[angle](task.words))
  const distinct = [...new Map(greps.map((call) => [JSON.stringify(call.input), call])).values()]
  const names = fileNamePattern(task.words.filter((word) => !word.weak))
  const byName = names !== undefined && offered.has('Glob') && task.angle !== 'usages'
  return [...distinct, ...(byName ? [{ name: 'Glob', input: { pattern: names } }] : [])]
}

/** The search after a first one that found nothing. */
export function broaderSearch(task: Task): Call {
  return grep(broadPattern(task.words), undefined, { '-i': true })
}

/** What to read: around the best hits, and the beginnings of files that are named after the words. */
export function reads(hits: readonly SeenLine[], files: readonly string[]): readonly Call[] {
  const windows: SeenLine[] = []
  for (const hit of spread(hits, 4 * WINDOWS, 6)) {
    const covered = windows.some(
      ({ path, line }) => path === hit.path && Math.abs(line - hit.line) < WINDOW / 2,
    )
    if (!covered && windows.length < WINDOWS) windows.push(hit)
  }
  const around = windows.map(({ path, line }) => read(path, Math.max(1, line - BEFORE), WINDOW))
  const known = new Set(windows.filter(({ line }) => line <= BEFORE).map(({ path }) => path))
  const heads = files.filter((file) => !known.has(file)).map((file) => read(file, 1, HEAD_OF_FILE))
  return [...around, ...heads]
}

const SEARCHES: Readonly<Record<Angle, (words: readonly TellingWord[]) => readonly Call[]>> = {
  definitions: (words) => [
    ...words.filter(isNameable).map((word) => grep(declarationPattern([word]), CODE_ONLY)),
    ...present(
      memberPattern,
      words.filter((word) => isNameable(word) && !word.weak),
    ),
    ...together(words, CODE_ONLY),
    // Comments above a definition speak of it in other words than its name.
    ...telling(words).map((word) => grep(mentionPattern([word]), CODE_ONLY)),
  ],
  usages: (words) => [
    ...telling(words).map((word) => grep(mentionPattern([word]), CODE_ONLY)),
    ...together(words, CODE_ONLY),
  ],
  'docs-and-tests': (words) => {
    const pattern = togetherPattern(words)
    return [DOCUMENTS, TESTS].flatMap((glob) => [
      grep(mentionPattern(telling(words)), glob),
      ...(pattern === undefined ? [] : [grep(pattern, glob)]),
    ])
  },
}

/** Common words alone find everything: they are searched for alone only where there are no others. */
function telling(words: readonly TellingWord[]): readonly TellingWord[] {
  const strong = words.filter((word) => !word.weak)
  return strong.length === 0 ? words : strong
}

const isNameable = (word: TellingWord): boolean => word.kind === 'name' || word.kind === 'word'

const present = (
  pattern: (words: readonly TellingWord[]) => string,
  words: readonly TellingWord[],
): readonly Call[] => (words.length === 0 ? [] : [grep(pattern(words), CODE_ONLY)])

function together(words: readonly TellingWord[], glob: string): readonly Call[] {
  const pattern = togetherPattern(words)
  return pattern === undefined ? [] : [grep(pattern, glob)]
}

function grep(pattern: string, glob?: string, more: Readonly<Record<string, unknown>> = {}): Call {
  const where = glob === undefined ? {} : { glob }
  return {
    name: 'Grep',
    input: { pattern, ...where, output_mode: 'content', '-n': true, head_limit: LINES, ...more },
  }
}

const read = (path: string, offset: number, limit: number): Call => ({
  name: 'Read',
  input: { file_path: path, offset, limit },
})
