/**
 * Words with which a program does more than its rule seems to say: `git log --output=x` writes a file, `sort
 * --compress-program=x` runs one. Who allows `git log` or `sort` with a star does not mean that.
 *
 *   H1  It knows the usual programs. Of others the star covers any word, as it says.
 *   H2  A word that only a shell knows could be such an option: behind these programs the star covers none.
 *   H3  Time grows with the number of words only: a guard looks at the whole command once.
 */
import type { ShellWord } from './reading.ts'
import { mayStartWith, programOf } from './runners.ts'
import { isPlainSedScript } from './sed-script.ts'

/** The first word from the index `from` on that does more than meets the eye, as written; undefined for none. */
export function hiddenWord(words: readonly ShellWord[], from: number): string | undefined {
  const doesMore = GUARDS.get(programOf(words[0]?.value ?? ''))?.(words)
  if (doesMore === undefined) return undefined
  return words.find((word, index) => index >= Math.max(from, 1) && doesMore(word, index))?.text
}

/** Looks at the whole command; then it says of each word whether it does more. */
type Guard = (words: readonly ShellWord[]) => (word: ShellWord, index: number) => boolean

/** Long options may be cut short, as most programs take them; `short` options may stand together in one word. */
function options(long: string, short = ''): Guard {
  const names = long.split(' ')
  return (words) => {
    const end = endOfOptions(words)
    return (word, index) => {
      if (index > end) return false
      const { value } = word
      if (value === undefined) return mayStartWith(word, '-')
      if (!value.startsWith('-')) return false
      if (!value.startsWith('--')) return [...value.slice(1)].some((letter) => short.includes(letter))
      const name = value.slice(2).replace(/=.*/su, '')
      return name !== '' && names.some((option) => option.startsWith(name))
    }
  }
}

/** Options that have one dash and are written in full, as those of `find` and `go`. */
function exactly(names: string): Guard {
  const all = new Set(names.split(' '))
  return () => (word) =>
    word.value === undefined
      ? mayStartWith(word, '-')
      : all.has(word.value.replace(/^--/u, '-').replace(/=.*/su, ''))
}

function either(...guards: readonly Guard[]): Guard {
  return (words) => {
    const all = guards.map((guard) => guard(words))
    return (word, index) => all.some((doesMore) => doesMore(word, index))
  }
}

/** A word of this form. */
function matching(pattern: RegExp): Guard {
  return () => (word) => (word.value === undefined ? mayStartWith(word, '-+') : pattern.test(word.value))
}

/** The second word that is no option is a file to write. */
const writesSecond: Guard = (words) => {
  const operands = words.flatMap((word, at) => (at > 0 && !(word.value ?? '').startsWith('-') ? [at] : []))
  const second = operands[1] ?? Number.POSITIVE_INFINITY
  return (word, index) => index >= second || !word.keepsItsStart
}

/** The index of `--`, behind which nothing is an option. */
function endOfOptions(words: readonly ShellWord[]): number {
  const at = words.findIndex(({ value }) => value === '--')
  return at === -1 ? Number.POSITIVE_INFINITY : at
}

/**
 * `output` writes a file; `ext-diff`, `textconv`, `exec`, `extcmd` and the packs run programs that options or
 * settings name, `open-files-in-pager` any; `template` brings hooks, `config` settings.
 */
const gitOptions = options(
  'output ext-diff textconv open-files-in-pager exec extcmd upload-pack receive-pack template config',
)
/** Before the subcommand any other may change what git is, or where: `-c`, `-C`, `--exec-path`, `--git-dir`. */
const GIT_PLAIN: ReadonlySet<string> = new Set(
  '-P --no-pager --no-optional-locks --literal-pathspecs --no-replace-objects --version'.split(' '),
)
const GIT_VALUED: ReadonlySet<string> = new Set(
  '-c -C --git-dir --work-tree --namespace --config-env --attr-source --exec-path'.split(' '),
)
/** Subcommands that run what they are given, or make later ones do so. */
const GIT_RUNNING: ReadonlySet<string> = new Set(
  'bisect config credential daemon difftool filter-branch for-each-repo mergetool send-email submodule'.split(
    ' ',
  ),
)
/** Short options of one subcommand. Elsewhere the letter may be part of a value, as in `-SFOO`. */
const GIT_SHORT: Readonly<Record<string, RegExp>> = {
  grep: /^-[^-]*O/u,
  clone: /^-[^-]*[uc]/u,
  archive: /^-[^-]*o/u,
  rebase: /^-[^-]*x/u,
}

const git: Guard = (words) => {
  let at = 1
  while (words[at]?.value?.startsWith('-')) at += GIT_VALUED.has(words[at]?.value ?? '') ? 2 : 1
  const subcommand = words[at]?.value
  const short =
    (Object.hasOwn(GIT_SHORT, subcommand ?? '') ? GIT_SHORT[subcommand ?? ''] : undefined) ?? /^-O/u
  const end = endOfOptions(words)
  const isOption = gitOptions(words)
  return (word, index) => {
    if (index < at) return !GIT_PLAIN.has(word.value ?? '')
    if (index === at) return word.value === undefined || GIT_RUNNING.has(word.value)
    return isOption(word, index) || (index < end && short.test(word.value ?? ''))
  }
}

const SED_FLAGS =
  /^(?:-[nErsuz]+|--quiet|--silent|--regexp-extended|--separate|--unbuffered|--null-data|--posix|--)$/u
const SED_SCRIPT_NEXT = /^(?:-[nErsuz]*e|--expression)$/u
const SED_SCRIPT_HERE = /^(?:-[nErsuz]*e|--expression=)(?<script>.+)$/su

const sed: Guard = (words) => {
  const isNamed = words.some(({ value = '' }) => SED_SCRIPT_NEXT.test(value) || SED_SCRIPT_HERE.test(value))
  const first = isNamed ? -1 : words.findIndex((word, at) => at > 0 && !(word.value ?? '').startsWith('-'))
  return (word, index) => {
    const { value } = word
    const isScript = index === first || SED_SCRIPT_NEXT.test(words[index - 1]?.value ?? '')
    if (value === undefined) return isScript || mayStartWith(word, '-')
    if (isScript) return !isPlainSedScript(value)
    const script = SED_SCRIPT_HERE.exec(value)?.groups?.['script']
    if (script !== undefined) return !isPlainSedScript(script)
    return value.startsWith('-') && value !== '-' && !SED_FLAGS.test(value) && !SED_SCRIPT_NEXT.test(value)
  }
}

const awk: Guard = (words) => {
  let at = 1
  while (words[at]?.value?.startsWith('-') && words[at]?.value !== '--')
    at += /^-[Fv]$/u.test(words[at]?.value ?? '') ? 2 : 1
  const program = words[at]?.value === '--' ? at + 1 : at
  return (word, index) => {
    const { value } = word
    if (value === undefined) return index === program || mayStartWith(word, '-')
    if (index < program)
      return value.startsWith('-') && !/^-(?:[Fv]|-$)/u.test(value) && !isAwkValue(words[index - 1])
    // Programs can read, write and run: plain are those in which no way to do so is spelt.
    return index === program && /[|>@]|system|getline/u.test(value)
  }
}

const isAwkValue = (word: ShellWord | undefined): boolean => /^-[Fv]$/u.test(word?.value ?? '')

const GUARDS: ReadonlyMap<string, Guard> = new Map<string, Guard>([
  ['git', git],
  ['find', exactly('-delete -fprint -fprint0 -fprintf -fls -files0-from')],
  ['fd', options('exec exec-batch', 'xX')],
  ['fdfind', options('exec exec-batch', 'xX')],
  ['sort', options('output compress-program', 'o')],
  ['shuf', options('output', 'o')],
  ['tree', options('output', 'oR')],
  ['uniq', writesSecond],
  ['xxd', writesSecond],
  ['sed', sed],
  ['gsed', sed],
  ...['awk', 'gawk', 'mawk', 'nawk', 'original-awk'].map((name) => [name, awk] as const),
  ['rg', options('pre hostname-bin')],
  ['man', options('pager html preprocessor config-file', 'PHCp')],
  ['less', either(options('log-file LOG-FILE lesskey-file lesskey-src tag-file', 'oOkT'), matching(/^\+/u))],
  ['more', matching(/^\+/u)],
  ['bat', options('pager')],
  [
    'tar',
    either(
      options(
        'to-command checkpoint-action use-compress-program rsh-command rmt-command info-script new-volume-script index-file',
        'IF',
      ),
      // Its first word may be options without a dash.
      (words) => (word, index) =>
        index === 1 && /^[A-Za-z]*[IF]/u.test(word.value ?? 'I') && words.length > 2,
    ),
  ],
  ['zip', options('unzip-command test', 'T')],
  ['ssh', options('', 'oFSIE')],
  ['scp', options('', 'oFSD')],
  ['sftp', options('', 'oFSDb')],
  ['rsync', options('rsh rsync-path log-file', 'e')],
  ['go', exactly('-exec -toolexec -vettool -overlay -modfile -C')],
  ['yq', options('inplace split-exp', 'is')],
  ['sdiff', options('output diff-program', 'o')],
  ['date', either(options('set'), matching(/^-u?s/u))],
  ['tcpdump', options('', 'zw')],
])
