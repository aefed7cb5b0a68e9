/**
 * Finds out that a command waits for somebody to type: it has been silent for a while, and the line that it stopped
 * in looks like a question. A guess, so it only ever leads to a word to the agent, never to an end.
 */
import type { CancelTimer, Clock } from '../clock.ts'
import { withoutSequences } from '../terminal-text.ts'

/** Milliseconds from one look to the next. */
export const LOOK_EVERY_MS = 5_000
/** Milliseconds without output after which a line counts as a question. */
export const SILENT_FOR_MS = 45_000
/** Characters of an unfinished line that are kept: its end is what matters. */
const MAX_LINE = 300

/** Follows the output of one command. */
export interface InputWatch {
  saw(chunk: Buffer): void
  /** The command has ended. */
  stop(): void
}

/** Calls `onPrompt` once, with the line, when the command seems to wait. */
export function watchForInput(clock: Clock, onPrompt: (line: string) => void): InputWatch {
  let line = ''
  let lastOutputAt = clock.now()
  let cancel: CancelTimer | undefined
  const look = (): void => {
    cancel = undefined
    const shown = plainText(line)
    if (clock.now() - lastOutputAt >= SILENT_FOR_MS && looksLikePrompt(shown)) onPrompt(shown)
    else cancel = clock.setTimer(LOOK_EVERY_MS, look)
  }
  cancel = clock.setTimer(LOOK_EVERY_MS, look)
  return {
    saw(chunk) {
      lastOutputAt = clock.now()
      const text = chunk.subarray(-4 * MAX_LINE).toString()
      const start = text.lastIndexOf('\n') + 1
      line = (start > 0 ? text.slice(start) : line + text).slice(-MAX_LINE)
    },
    stop() {
      cancel?.()
      cancel = undefined
    },
  }
}

/** The words of a line as a terminal shows them. */
const plainText = (line: string): string =>
  // What was drawn over is not seen any more.
  withoutSequences(line.trimEnd().replace(/^.*\r/s, ''))
    .replace(/\p{Cc}/gu, '')
    .trim()

/** Does a line that was left unfinished look as if an answer were to follow? */
export function looksLikePrompt(line: string): boolean {
  return (
    /[?:>❯»]$/u.test(line) ||
    /[([](?:y(?:es)?\s*[/|]\s*no?|n(?:o)?\s*[/|]\s*y(?:es)?)(?:[/|][^)\]]*)?[)\]]\W*$/iu.test(line) ||
    /\b(?:password|passphrase|pin|otp|verification code|username|login)\b[^.]{0,60}$/iu.test(line) ||
    /\b(?:press|hit|type|enter)\b.{0,40}\b(?:enter|return|any key|yes|y)\b.{0,40}$/iu.test(line)
  )
}

/** How the programs that ask most often are told not to, the first that fits. */
const ANSWERS: readonly (readonly [command: RegExp, advice: string])[] = [
  [/\bsudo\b/, '`sudo -n`, which fails instead of asking for a password'],
  [/\b(?:ssh|scp|sftp|rsync)\b/, '`-o BatchMode=yes`, which fails instead of asking'],
  [/\bgit\b/, '`GIT_TERMINAL_PROMPT=0`, `--no-edit` or `-m "message"`'],
  [/\b(?:apt|apt-get|dpkg)\b/, '`DEBIAN_FRONTEND=noninteractive` with `-y`'],
  [/\b(?:npm|npx|pnpm|yarn|bunx?)\b/, '`--yes`, or `CI=1` in the environment'],
  [/\b(?:pip|conda|mamba)\b/, '`--yes`, or `--no-input`'],
  [/\bterraform\b/, '`-input=false` and `-auto-approve`'],
  [/\b(?:rm|cp|mv|unzip)\b/, '`-f`, or for unzip `-o`'],
  [
    /\b(?:psql|mysql|sqlite3|mongo(?:sh)?|redis-cli)\b/,
    'the statements as an argument, and the password in the environment',
  ],
  [/\b(?:python3?|node|irb|ghci|R)\b\s*$/, 'the program as an argument (`-c`, `-e`) or a file'],
]

/** One text for the agent and the person: what seems to happen and how to avoid it. */
export function inputNotice(command: string, line: string): string {
  const first = command.split('\n', 1)[0] ?? ''
  const shown = first.length > 120 ? `${first.slice(0, 119)}…` : first
  const known = ANSWERS.find(([pattern]) => pattern.test(command))?.[1]
  const advice = known ?? 'a flag that answers beforehand (`--yes`, `--force`, `--no-input`)'
  return `The command \`${shown}\` seems to wait for an answer: it has written nothing for ${SILENT_FOR_MS / 1000} s and stopped in the line "${line}". Nothing can be typed in. End it and use a form that does not ask: ${advice}; or pipe the answers in.`
}
