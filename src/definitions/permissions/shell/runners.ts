/**
 * Commands that run what they are given: which of their words are the command that is run.
 *
 *   R1  A runner's options are known here, each with or without a value; with one that is not, what it runs is unknown.
 *   R2  Thin runners add nothing of their own: who may run the command may run it through them.
 */
import { knownWord } from './plain-words.ts'
import { type ShellWord, UNKNOWN } from './reading.ts'
import { isHarmlessToPrograms } from './variables.ts'

/** What a command runs, by its words. */
export type Inner =
  /** Commands, the first of which begins at the index `from`. */
  | {
      readonly kind: 'commands'
      readonly from: number
      readonly commands: readonly (readonly ShellWord[])[]
      readonly isThin: boolean
    }
  /** A text in the language of bash. */
  | { readonly kind: 'code'; readonly from: number; readonly code: ShellWord; readonly isThin: boolean }
  /** A shell that takes its commands from its input. */
  | { readonly kind: 'input' }
  /** Some of what stands behind its name. */
  | { readonly kind: 'opaque' }
  /** Something that may not even be written here. */
  | { readonly kind: 'unknown' }

/** What the command runs in turn; undefined for one that runs nothing but itself, as far as is known. */
export function innerOf(words: readonly ShellWord[]): Inner | undefined {
  const name = words[0]?.value
  if (name === undefined) return undefined
  const program = programOf(name)
  const inner = innerOfProgram(program, words)
  // `./timeout` is anybody's.
  const isThin = inner !== undefined && 'isThin' in inner && inner.isThin && name === program
  return inner !== undefined && 'isThin' in inner ? { ...inner, isThin } : inner
}

function innerOfProgram(program: string, words: readonly ShellWord[]): Inner | undefined {
  const wrapper = WRAPPERS.get(program)
  if (wrapper !== undefined) return wrapped(words, wrapper)
  if (SHELLS.has(program)) return innerOfShell(words, program)
  if (OPAQUE.has(program)) return { kind: 'opaque' }
  switch (program) {
    case 'xargs':
      return innerOfXargs(words)
    case 'env':
      return innerOfEnv(words)
    case 'find':
      return innerOfFind(words)
    case 'fd':
    case 'fdfind':
      return words.some((word) => mayStartWith(word, '-') || /^(?:-[^-]*[xX]|--exec)/u.test(word.value ?? ''))
        ? { kind: 'unknown' }
        : undefined
    case 'eval':
      return innerOfEval(words)
    case 'trap':
      return innerOfTrap(words)
    default:
      return undefined
  }
}

/** Does a rule for it that ends in a star right behind the name allow nothing by itself? */
export function isOpaqueRunner(name: string): boolean {
  return OPAQUE.has(programOf(name))
}

/** Does the program run what it is given, one way or another? */
export function isRunner(name: string): boolean {
  const program = programOf(name)
  return WRAPPERS.has(program) || SHELLS.has(program) || OPAQUE.has(program) || OTHER_RUNNERS.has(program)
}

/** Could a word that is not wholly known start with one of these characters, or words that come of it? */
export function mayStartWith(word: ShellWord, characters: string): boolean {
  if (word.value !== undefined) return false
  const first = word.pattern.charAt(0)
  return !word.keepsItsStart || first === UNKNOWN || characters.includes(first)
}

/** The name without its folder. One that ends in a slash is a folder and keeps its name. */
export function programOf(name: string): string {
  return name.slice(name.lastIndexOf('/', name.length - 2) + 1)
}

/** Shells whose `-c` is read. Others have languages of their own. */
const BASH_LIKE: ReadonlySet<string> = new Set(['bash', 'sh'])
const SHELLS: ReadonlySet<string> = new Set(
  'bash sh ash csh dash fish ksh mksh rbash tcsh yash zsh'.split(' '),
)

/** They run what they are given, in ways that are not looked into. */
const OPAQUE: ReadonlySet<string> = new Set(
  [
    'busybox chroot coproc dbus-run-session entr expect fakeroot faketime firejail flock gdb ltrace nsenter parallel',
    'pkexec proxychains proxychains4 runuser script setarch setsid setpriv start-stop-daemon strace su systemd-run',
    'taskset toybox torify torsocks toysh unbuffer unshare valgrind watch watchexec xvfb-run chpst cpulimit catchsegv',
  ].flatMap((line) => line.split(' ')),
)

const OTHER_RUNNERS: ReadonlySet<string> = new Set([
  'env',
  'eval',
  'find',
  'fd',
  'fdfind',
  'ssh',
  'trap',
  'xargs',
])

/** Programs whose command comes after their options, and after so many words of their own. */
interface Wrapper {
  /** Short options without a value, in one text. */
  readonly flags: string
  /** Short options with one. */
  readonly valued: string
  /** Long options; with a `=` at the end where the value must stand in the same word. */
  readonly long: readonly string[]
  /** Words of its own before the command, as the time of `timeout`. */
  readonly operands: number
  readonly isThin: boolean
}

const thin = (more: Partial<Wrapper> = {}): Wrapper => ({
  flags: '',
  valued: '',
  long: [],
  operands: 0,
  isThin: true,
  ...more,
})

const WRAPPERS: ReadonlyMap<string, Wrapper> = new Map([
  ['nohup', thin()],
  [
    'timeout',
    thin({ flags: 'v', valued: 'ks', long: ['foreground', 'preserve-status', 'verbose'], operands: 1 }),
  ],
  ['nice', thin({ flags: '0123456789', valued: 'n' })],
  ['ionice', thin({ flags: 't', valued: 'cn' })],
  ['stdbuf', thin({ valued: 'ioe' })],
  ['command', thin({ flags: 'p' })],
  ['builtin', thin()],
  ['exec', thin()],
  ['time', thin({ flags: 'p' })],
  [
    'sudo',
    thin({
      flags: 'AbEHknPS',
      valued: 'CgpRrtTuUD',
      long: ['preserve-env', 'non-interactive'],
      isThin: false,
    }),
  ],
  ['doas', thin({ flags: 'n', valued: 'Cu', isThin: false })],
  ['caffeinate', thin({ flags: 'dimsu', valued: 't', isThin: false })],
])

function wrapped(words: readonly ShellWord[], wrapper: Wrapper): Inner | undefined {
  const from = afterOptions(words, 1, wrapper)
  if (from === undefined) {
    // `command -v x` only tells what x is.
    return words[0]?.value === 'command' && /^-[vV]$/u.test(words[1]?.value ?? '')
      ? undefined
      : { kind: 'unknown' }
  }
  const start = from + wrapper.operands
  // An operand that is not known may be none, or several.
  if (words.slice(from, start).some(({ value }) => value === undefined)) return { kind: 'unknown' }
  if (start >= words.length) return undefined
  return { kind: 'commands', from: start, commands: [words.slice(start)], isThin: wrapper.isThin }
}

/** Where the first word stands that is no option; undefined for an option that is not known (R1). */
function afterOptions(
  words: readonly ShellWord[],
  start: number,
  { flags, valued, long }: Pick<Wrapper, 'flags' | 'valued' | 'long'>,
): number | undefined {
  let at = start
  while (at < words.length) {
    const { value } = words[at] ?? knownWord('')
    if (value === '--') return at + 1
    if (value === undefined) return mayStartWith(words[at] ?? knownWord(''), '-') ? undefined : at
    if (!value.startsWith('-') || value === '-') return at
    if (value.startsWith('--')) {
      if (!long.includes(value.slice(2).replace(/(?<==).*/su, ''))) return undefined
      at += 1
      continue
    }
    const letters = value.slice(1)
    const end = [...letters].findIndex((letter) => !flags.includes(letter))
    if (end === -1) at += 1
    else if (!valued.includes(letters[end] ?? '')) return undefined
    else at += end === letters.length - 1 ? 2 : 1
  }
  return at
}

const XARGS: Pick<Wrapper, 'flags' | 'valued' | 'long'> = {
  flags: '0rtxop',
  valued: 'nPLsdaEI',
  long: ['null', 'no-run-if-empty', 'verbose', 'exit', 'max-args=', 'max-procs=', 'delimiter=', 'max-lines='],
}

function innerOfXargs(words: readonly ShellWord[]): Inner {
  const from = afterOptions(words, 1, XARGS)
  if (from === undefined) return { kind: 'unknown' }
  const options = words.slice(1, from)
  const at = options.findIndex(({ value }) => /^-[^-]*I/u.test(value ?? ''))
  // Only written plainly is it certain what the placeholder is.
  const placeholder = options[at]?.value === '-I' ? options[at + 1]?.value : options[at]?.value?.slice(2)
  if (at !== -1 && (placeholder === undefined || !options[at]?.value?.startsWith('-I')))
    return { kind: 'unknown' }
  const given: ShellWord = { text: '…', value: undefined, pattern: UNKNOWN, keepsItsStart: false }
  const inner = words
    .slice(from)
    .map((word) => (placeholder !== undefined && word.pattern.includes(placeholder) ? given : word))
  return { kind: 'commands', from, commands: inner.length === 0 ? [] : [[...inner, given]], isThin: true }
}

function innerOfEnv(words: readonly ShellWord[]): Inner | undefined {
  const from = words.findIndex((word, index) => index > 0 && !/^\w+=/u.test(word.value ?? ''))
  if (from === -1) return undefined
  const first = words[from]
  // With options it may change folders, or split a text into words.
  if (first?.value === undefined || first.value.startsWith('-')) return { kind: 'unknown' }
  const isThin = words
    .slice(1, from)
    .every(({ value }) => isHarmlessToPrograms(value?.slice(0, value.indexOf('=')) ?? ''))
  return { kind: 'commands', from, commands: [words.slice(from)], isThin }
}

const FIND_RUNS: ReadonlySet<string> = new Set(['-exec', '-execdir', '-ok', '-okdir'])

function innerOfFind(words: readonly ShellWord[]): Inner | undefined {
  const commands: ShellWord[][] = []
  let current: ShellWord[] | undefined
  let from: number | undefined
  for (const [index, word] of words.entries()) {
    // It could be `-exec`, or the end of what follows one.
    if (mayStartWith(word, '-;+')) return { kind: 'unknown' }
    const { value } = word
    if (current === undefined) {
      if (!FIND_RUNS.has(value ?? '')) continue
      current = []
      from ??= index + 1
    } else if (value === ';' || (value === '+' && current.at(-1)?.pattern === UNKNOWN)) {
      commands.push(current)
      current = undefined
    } else current.push(withFound(word))
  }
  if (from === undefined) return undefined
  if (current !== undefined || commands.some((command) => command.length === 0)) return { kind: 'unknown' }
  return { kind: 'commands', from, commands, isThin: false }
}

/** `{}` is a path that find found, wherever it stands in a word. */
function withFound(word: ShellWord): ShellWord {
  if (!word.pattern.includes('{}')) return word
  return { ...word, value: undefined, keepsItsStart: false, pattern: word.pattern.replaceAll('{}', UNKNOWN) }
}

function innerOfShell(words: readonly ShellWord[], program: string): Inner | undefined {
  let isCode = false
  let isThin = true
  let at = 1
  for (; at < words.length; at++) {
    const word = words[at] ?? knownWord('')
    if (mayStartWith(word, '-+')) return { kind: 'unknown' }
    const option = word.value ?? ''
    if (option === '--' || option === '-') {
      at += 1
      break
    }
    if (!/^[-+]/u.test(option)) break
    if (option === '--norc' || option === '--noprofile') continue
    const letters = option.slice(1)
    if (!/^[a-z]+$/u.test(letters)) return { kind: 'unknown' }
    if (letters.includes('s')) return { kind: 'input' }
    if (option.startsWith('-') && letters.includes('c')) isCode = true
    // `-l` and `-i` read files of their own first, `-o` takes a word.
    if (/[^ceufx]/u.test(letters)) isThin = false
    if (letters.includes('o')) at += 1
  }
  const first = words[at]
  if (first === undefined) return { kind: 'input' }
  if (!isCode) return undefined
  if (!BASH_LIKE.has(program)) return { kind: 'unknown' }
  return { kind: 'code', from: at, code: first, isThin }
}

function innerOfEval(words: readonly ShellWord[]): Inner | undefined {
  const rest = words.slice(1)
  if (rest.length === 0) return undefined
  const pattern = rest.map((word) => word.pattern).join(' ')
  const isKnown = rest.every(({ value }) => value !== undefined)
  const code: ShellWord = {
    text: pattern,
    value: isKnown ? pattern : undefined,
    pattern,
    keepsItsStart: false,
  }
  return { kind: 'code', from: 1, code, isThin: true }
}

function innerOfTrap(words: readonly ShellWord[]): Inner | undefined {
  const code = words[1]
  if (code === undefined || words.length < 3 || code.value === '' || code.value === '-') return undefined
  if (code.value?.startsWith('-')) return { kind: 'unknown' }
  return { kind: 'code', from: 1, code, isThin: true }
}
