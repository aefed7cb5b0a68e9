/** The state of a git repository as agents are told it. */
import { byteLength, cutText, printable, printableLines, startOfText, withMarker } from './text.ts'

/** What was found out. Texts are as git prints them. */
export interface GitFacts {
  /** Undefined: no branch is checked out. */
  readonly branch: string | undefined
  /** The branch that work is merged into. */
  readonly mainBranch: string | undefined
  /** Output of `git status --short`; undefined: it could not be taken. */
  readonly status: string | undefined
  /** True when `status` is only the start of it. */
  readonly isStatusCut: boolean
  /** Output of `git log`, one line a commit; undefined: it could not be taken. */
  readonly commits: string | undefined
}

/** Bytes of UTF-8, marker included. */
export const MAX_GIT_STATUS_BYTES = 40 * 1024

const MAX_COMMITS = 5
const MAX_COMMIT_BYTES = 300
const MAX_NAME_BYTES = 1024

/** The facts as text, at most `maxBytes` bytes: of too many changed files the first ones, with a marker. */
export function renderGitStatus(facts: GitFacts, maxBytes: number = MAX_GIT_STATUS_BYTES): string {
  const head = [
    'The git repository when the session started. This is a snapshot and may be out of date: run git before you rely on it.',
    `Branch: ${facts.branch === undefined ? 'none checked out (detached HEAD)' : name(facts.branch)}`,
    ...(facts.mainBranch === undefined ? [] : [`Main branch: ${name(facts.mainBranch)}`]),
  ].join('\n')
  const tail = commitsText(facts)
  const room = maxBytes - byteLength(head) - byteLength(tail) - 4
  return cutText([head, statusText(facts, room), tail].join('\n\n'), maxBytes, '[Cut]')
}

function statusText({ status, isStatusCut }: GitFacts, maxBytes: number): string {
  if (status === undefined) return 'Changed files: not known, git status did not answer'
  // Its first column may be a blank: only the end is trimmed.
  const lines = printableLines(status.trimEnd())
  if (lines === '') return 'Changed files: none'
  const text = `Changed files (git status --short):\n${lines}`
  const marker = '[Cut: more files have changed. For all of them run git status --short]'
  return isStatusCut ? withMarker(text, maxBytes, marker) : cutText(text, maxBytes, marker)
}

function commitsText({ commits }: GitFacts): string {
  if (commits === undefined) return 'Latest commits: not known, git log did not answer'
  const lines = commits.split('\n').filter((line) => line.trim() !== '')
  if (lines.length === 0) return 'Latest commits: none'
  return ['Latest commits:', ...lines.slice(0, MAX_COMMITS).map(shortened)].join('\n')
}

const shortened = (line: string): string => {
  const start = startOfText(printable(line), MAX_COMMIT_BYTES)
  return start.length < printable(line).length ? `${start}…` : start
}

const name = (branch: string): string => cutText(printableLines(branch.trim()), MAX_NAME_BYTES, '[Cut]')
