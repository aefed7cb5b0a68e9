/** The reading of command lines against the one that counts: bash itself says what it would have run. */
import { execFileSync } from 'node:child_process'
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
const program: fc.Arbitrary<string> = fc.letrec<{ program: string }>((tie) => ({
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
    tie('program').map((inner) => `f() { ${inner}\n}; f`),
    tie('program').map((inner) => `! time aa $( ${inner}\n)`),
    tie('program').map((inner) => `[[ -n x || $(cc) ]] && ${inner}`),
    tie('program').map((inner) => `eval '${inner.replaceAll("'", "'\\''")}'`),
  ),
})).program

/** Somebody's slip: a character more or less, anywhere. */
const slipped = fc
  .tuple(program, fc.nat(), fc.constantFrom('', ...'\'"`$(){}[]<>|&;#\\ \n!'))
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
FUNCNEST=20
ulimit -t 20 -u 200
while IFS= read -r -d '' program; do
  ( eval "$program"; wait ) >/dev/null 2>&1 </dev/null
  number=$((number + 1))
done < "$TROUPE_TEST_PROGRAMS"
`

/** For each program the commands that bash ran, each with its words. */
function runInBash(programs: readonly string[]): readonly (readonly (readonly string[])[])[] {
  const folder = mkdtempSync(path.join(tmpdir(), 'troupe-shell-'))
  try {
    const [log, list] = [path.join(folder, '.log'), path.join(folder, '.programs')]
    writeFileSync(list, programs.map((text) => `${text}\0`).join(''))
    execFileSync('/bin/bash', ['--norc', '-c', SCRIPT], {
      cwd: folder,
      env: { PATH: '/nonexistent', TROUPE_TEST_LOG: log, TROUPE_TEST_PROGRAMS: list },
      timeout: 100_000,
      stdio: 'ignore',
    })
    return programs.map((_, index) => (existsSync(`${log}${index}`) ? wordsIn(`${log}${index}`) : []))
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

describe.skipIf(!isWanted)('what bash runs', () => {
  it('was seen in the reading, word for word, unless that is unclear', () => {
    const programs = [
      ...fc.sample(program, { numRuns: RUNS, seed: SEED }),
      ...fc.sample(slipped, { numRuns: 2 * RUNS, seed: SEED + 1 }),
    ].filter((text) => text.length < 2_000)
    const ran = runInBash(programs)
    let compared = 0
    for (const [index, text] of programs.entries()) {
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
    expect(compared).toBeGreaterThan(RUNS)
  }, 120_000)
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
