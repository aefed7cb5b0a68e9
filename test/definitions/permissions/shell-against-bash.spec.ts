/** The reading of command lines against the one that counts: bash itself says what it would have run. */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readPlainShell } from '../../../src/definitions/permissions/shell/read-shell.ts'
import type { ShellCommand } from '../../../src/definitions/permissions/shell/reading.ts'
import { readBash } from './rules-for-tests.ts'

/** Commands that exist nowhere: bash hands each to its handler, with its words. */
const name = fc.constantFrom('aa', 'bb', 'cc', "a'a'", '"bb"', 'c\\c', '$(aa)', '$X', 'a$X', 'a?', '{aa,bb}')
const piece = fc.constantFrom(
  ...[
    'x',
    '-y',
    '"x y"',
    "'p;q'",
    "$'\\x41\\''",
    '\\ ',
    '\\;',
    '"a\\"b"',
    '"$(bb)"',
    '$(cc x)',
    '`aa`',
    '"`bb y`"',
  ],
  ...[
    '$X',
    '"$X"',
    '$' + '{X:-$(bb)}',
    '$((1 + 2))',
    '*',
    '[ab]',
    '{a,b}',
    '~',
    '#',
    '=',
    '^',
    '"',
    "'",
    '\\',
    '<(cc)',
  ],
)
const word = fc.array(piece, { minLength: 1, maxLength: 3 }).map((pieces) => pieces.join(''))
const redirect = fc.constantFrom(
  '',
  '',
  '',
  ' 2>&1',
  ' >/dev/null',
  ' <<<"$(aa)"',
  ' <<E\n$(bb)\nE\n',
  " <<'E'\n$(bb)\nE\n",
)
const simple = fc
  .tuple(fc.constantFrom('', '', 'Y=1 ', 'Y=$(cc) '), name, fc.array(word, { maxLength: 3 }), redirect)
  .map(([before, first, rest, after]) => `${before}${[first, ...rest].join(' ')}${after}`)
const programs = (hasFunctions: boolean): fc.Arbitrary<string> =>
  fc.letrec<{ program: string }>((tie) => ({
    program: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      simple,
      fc
        .tuple(
          tie('program'),
          fc.constantFrom(' ; ', ' && ', ' || ', ' | ', ' & ', '\n', ' # c\n'),
          tie('program'),
        )
        .map((parts) => parts.join('')),
      tie('program').map((inner) => `(${inner}\n)`),
      tie('program').map((inner) => `{ ${inner}\n}`),
      tie('program').map((inner) => `if ${inner}\nthen aa; else bb; fi`),
      tie('program').map((inner) => `for v in 1 2; do ${inner}\ndone`),
      tie('program').map((inner) => `case x in (y) aa;; *) ${inner}\n;; esac`),
      ...(hasFunctions ? [tie('program').map((inner) => `f() { ${inner}\n}; f`)] : []),
      tie('program').map((inner) => `! time aa $( ${inner}\n)`),
      tie('program').map((inner) => `[[ -n x || $(cc) ]] && ${inner}`),
      tie('program').map((inner) => `eval '${inner.replaceAll("'", "'\\''")}'`),
    ),
  })).program

/** Somebody's slip: a character more or less, anywhere. */
const slipped = fc
  // Without functions: one that calls itself by a slip would never end.
  .tuple(programs(false), fc.nat(), fc.constantFrom('', ...'\'"`$(){}[]<>|&;#\\ \n!'))
  .map(([text, at, character]) => {
    const place = at % (text.length + 1)
    return character === ''
      ? text.slice(0, place) + text.slice(place + 1)
      : text.slice(0, place) + character + text.slice(place)
  })

// A log for each program: what a process substitution runs may come late.
const SCRIPT = `
command_not_found_handle() { printf '%s\\0' "$@" $'\\1' >> "$TROUPE_TEST_LOG$number"; return 1; }
number=0
# Functions that call each other end, in whatever number of processes.
FUNCNEST=4
ulimit -t 20 -u 200
while IFS= read -r -d '' program; do
  ( eval "$program"; wait ) >/dev/null 2>&1 </dev/null
  number=$((number + 1))
done < "$TROUPE_TEST_PROGRAMS"
`

/** For each program the commands that bash ran, each with its words. Whatever is left over is ended. */
async function runInBash(texts: readonly string[]): Promise<readonly (readonly (readonly string[])[])[]> {
  const folder = mkdtempSync(path.join(tmpdir(), 'troupe-shell-'))
  const [log, list] = [path.join(folder, '.log'), path.join(folder, '.programs')]
  try {
    writeFileSync(list, texts.map((text) => `${text}\0`).join(''))
    const bash = spawn('/bin/bash', ['--norc', '-c', SCRIPT], {
      cwd: folder,
      env: { PATH: '/nonexistent', TROUPE_TEST_LOG: log, TROUPE_TEST_PROGRAMS: list },
      stdio: 'ignore',
      detached: true,
    })
    const { pid } = bash
    if (pid === undefined) throw new Error('bash could not be started')
    const endGroup = (): void => {
      try {
        process.kill(-pid, 'SIGKILL')
      } catch {
        // All have ended by themselves.
      }
    }
    const timer = setTimeout(endGroup, 60_000)
    const code = await new Promise((resolve) => bash.once('exit', resolve))
    clearTimeout(timer)
    endGroup()
    if (code !== 0) throw new Error(`bash did not get through the programs (${code})`)
    return texts.map((_, index) => (existsSync(`${log}${index}`) ? wordsIn(`${log}${index}`) : []))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function wordsIn(file: string): readonly (readonly string[])[] {
  const commands = readFileSync(file, 'utf8').split('\u0001\0')
  return commands.slice(0, -1).map((words) => words.split('\0').slice(0, -1))
}

function allCommands(commands: readonly ShellCommand[]): readonly ShellCommand[] {
  return commands.flatMap((command) => [
    command,
    ...(command.runs?.kind === 'known' ? allCommands(command.runs.commands) : []),
  ])
}

/** Could the command, as read, have been run with these words? Where it is written out it must be just so. */
function explains({ words }: ShellCommand, ran: readonly string[]): boolean {
  const isKnown = words.every(({ value }) => value !== undefined)
  if (isKnown) return words.length === ran.length && words.every(({ value }, index) => value === ran[index])
  const open = words.findIndex(({ value }) => value === undefined)
  return words.slice(0, open).every(({ value }, index) => value === ran[index])
}

/** More of them, and others, by hand: `TROUPE_SHELL_RUNS=2000 TROUPE_SHELL_SEED=7`. */
const RUNS = Number(process.env['TROUPE_SHELL_RUNS'] ?? 130)
const SEED = Number(process.env['TROUPE_SHELL_SEED'] ?? 11)
const hasBash = existsSync('/bin/bash')

/**
 * By hand only: what chance writes may define functions that start each other, and a loaded machine is no proof.
 */
const isWanted = hasBash && process.env['TROUPE_SHELL_RUNS'] !== undefined

/** Every command that bash runs must be among those that were read, word for word. Gives how many there were. */
async function expectSeen(texts: readonly string[]): Promise<number> {
  const ran = await runInBash(texts)
  let compared = 0
  for (const [index, text] of texts.entries()) {
    const reading = readBash(text)
    // Neither is ever allowed, and both are denied whatever is denied.
    if (reading.kind === 'unclear' || reading.isOpen) continue
    const commands = allCommands(reading.commands)
    for (const words of ran[index] ?? []) {
      compared += 1
      const isSeen = commands.some((command) => explains(command, words))
      if (!isSeen) expect.fail(`bash runs ${JSON.stringify(words)} in ${JSON.stringify(text)}`)
    }
  }
  return compared
}

/** Written by hand, each with an end. */
const LINES = [
  ...[
    'aa x; bb',
    'aa && bb || cc',
    'aa | bb |& cc',
    'aa & bb',
    '(aa; bb)',
    '{ aa; }',
    '! aa',
    'time -p aa',
    'aa # bb',
  ],
  ...[
    'aa\nbb',
    'aa \\\n x',
    'a\\\na x',
    'aa "x y" \'p;q\' \\;',
    "aa $'\\x41\\t'",
    'aa a"b"\'c\'d',
    'aa "" \'\'',
    'aa {}',
  ],
  ...[
    'aa $(bb $(cc))',
    'aa "$(bb "$(cc)")"',
    'aa `bb \\`cc\\``',
    'aa "`bb \\"x\\"`"',
    'aa $' + '{X:-$(bb)}',
    'aa <(bb)',
    'aa >(bb)',
  ],
  ...[
    'aa <<E\n$(bb) `cc`\nE\ncc',
    "aa <<'E'\n$(bb)\nE",
    'aa <<-E\n\t$(bb)\n\tE',
    'aa <<E; bb\nx\nE',
    'aa <<E <<F\n1\nE\n2\nF\nbb',
  ],
  ...[
    'aa <<< "$(bb)"',
    'aa 2>&1 >/dev/null x',
    '2>/dev/null aa',
    'Y=$(bb) aa',
    'Y=(1 $(bb)); aa',
    'aa $((1 + $(bb; echo 1)))',
  ],
  ...[
    'if aa; then bb; elif cc; then aa; else bb x; fi',
    'while aa; do bb; done',
    'until true; do aa; done; bb',
  ],
  ...[
    'for v in a $(bb); do aa "$v"; done',
    'for ((i = 0; i < 2; i++)); do aa; done',
    'case x in (y) aa;; x|z) bb;& *) cc;; esac',
  ],
  ...[
    'f() { aa "$1"; }; f x',
    'function g { bb; }; g',
    'f() (aa); f; bb',
    '[[ -n $(aa) && x == x ]] && bb',
    '(( 1 )) && aa',
  ],
  ...[
    "eval 'aa; bb' x",
    'eval aa \'"x y"\'',
    "trap 'aa' EXIT; bb",
    'aa a?c [ab] {x,y}',
    'aa=1; bb',
    'coproc aa; bb',
    'aa;:;bb',
  ],
  ...[
    "'aa'() { bb; }; cc",
    'a\\a() { bb; }; aa',
    'aa x<(bb)',
    'aa <(bb)#$(cc)',
    'aa#bb',
    'aa ;# bb\ncc',
    'aa\\\n; bb',
    '!(aa)',
  ],
  ...[
    'aa "a\nb"',
    'aa a\\ b',
    'aa !x !',
    'aa =x',
    'command aa x',
    'exec 2>&1; aa',
    'set -- a; aa "$@"',
    'aa ~x',
    'echo x | aa',
  ],
]

describe.skipIf(!hasBash)('what bash runs', () => {
  it('was seen in the reading, word for word, for each kind of line', async () => {
    expect(await expectSeen(LINES)).toBeGreaterThan(LINES.length)
  })

  it.skipIf(!isWanted)(
    'was seen in the reading, word for word, unless that is unclear',
    async () => {
      const texts = [
        ...fc.sample(programs(true), { numRuns: RUNS, seed: SEED }),
        ...fc.sample(slipped, { numRuns: 2 * RUNS, seed: SEED + 1 }),
      ].filter((text) => text.length < 2_000)
      expect(await expectSeen(texts)).toBeGreaterThan(RUNS)
    },
    120_000,
  )
})

describe('a plain command', () => {
  const words = fc.array(
    fc.constantFrom('git', 'log', '-x', '--y=z', '"a b"', "'c'", 'd/e', 'n="v w"', 'é', 'a,b', '@', '^'),
    {
      minLength: 1,
      maxLength: 6,
    },
  )

  it('reads the same with the parser and without', () => {
    fc.assert(
      fc.property(words, fc.constantFrom(' ', '  '), (parts, blank) => {
        const text = parts.join(blank)
        const plain = readPlainShell(text)
        if (plain.kind === 'unclear') return
        const strip = (reading: ReturnType<typeof readBash>): unknown =>
          reading.kind === 'unclear'
            ? reading
            : { ...reading, commands: reading.commands.map(({ words }) => words.map(({ value }) => value)) }
        expect(strip(plain)).toEqual(strip(readBash(text)))
      }),
    )
  })
})
