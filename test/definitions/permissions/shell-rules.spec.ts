/** The shell table: what an allow rule must never let through, and a deny rule must never miss. */
import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { simpleCommandTokens } from '../../../src/definitions/permissions/simple-command.ts'
import { matches, request } from './rules-for-tests.ts'

const allows = (rule: string, command: string): boolean => matches('allow', rule, request('Bash', command))
const denies = (rule: string, command: string): boolean => matches('deny', rule, request('Bash', command))

/** The value of a token: quotes stand around all of it, or around what follows its first quote. */
function withoutQuotes(token: string): string {
  const quoted = /^(?<before>[^"']*)(?<quote>["'])(?<value>.*)\k<quote>$/u.exec(token)?.groups
  return quoted === undefined ? token : `${quoted['before']}${quoted['value']}`
}

describe('Bash(git log:*) as an allow rule', () => {
  it.each([
    'git log',
    'git log --oneline',
    '  git   log -n 5  ',
    'git log HEAD~3..HEAD -- src/a.ts',
    'git log HEAD^ --author=ada@example.org',
    'git log --grep="a b; c | d > e"',
    "git log --format='%h $(x) `y`' src",
    'git log "a file"',
    'git log issue#12',
    'git log -- Größe.md',
  ])('lets %j pass', (command) => {
    expect(allows('Bash(git log:*)', command)).toBe(true)
  })

  it.each([
    ['another command', 'git push'],
    ['a longer word', 'git logs'],
    ['a longer word', 'git log-x'],
    ['nothing', ''],
    ['blanks', '   '],
    ['a chain', 'git log && rm -rf x'],
    ['a chain', 'git log || rm x'],
    ['a chain', 'git log ; rm x'],
    ['a chain without blanks', 'git log;rm x'],
    ['a chain before', 'cd / && git log'],
    ['the background', 'git log & rm x'],
    ['the background', 'git log &'],
    ['a pipe', 'git log | sh'],
    ['a pipe', 'git log |& sh'],
    ['a substitution', 'git log $(rm x)'],
    ['a substitution in quotes', 'git log "$(rm x)"'],
    ['a substitution in quotes', 'git log "`rm x`"'],
    ['backticks', 'git log `rm x`'],
    ['a process substitution', 'git log <(rm x)'],
    ['arithmetic', 'git log $((1))'],
    ['a variable', 'git log $X'],
    ['a variable', 'git log $' + '{X:-y}'],
    ['a variable in quotes', 'git log "$X"'],
    ['an ANSI-C quote', "git log $'\\n'"],
    ['a quote within a word', "git lo'g'"],
    ['a quote within a word', 'g"i"t log'],
    ['a quoted name', "'git' log"],
    ['a quoted name', '"git" log'],
    ['quotes side by side', `git log "a"'b'`],
    ['an open quote', 'git log "a'],
    ['an open quote', "git log 'a"],
    ['an escape', 'git\\ log'],
    ['an escape', 'git log \\; rm'],
    ['an escape in quotes', 'git log "a\\" ; rm x "'],
    ['an assignment before', 'GIT_PAGER=evil git log'],
    ['an assignment before', 'env X=1 git log'],
    ['a redirect', 'git log > x'],
    ['a redirect', 'git log >x'],
    ['a redirect', 'git log 2>&1'],
    ['a redirect', 'git log >> ~/.bashrc'],
    ['a redirect', 'git log < x'],
    ['a here-document', 'git log <<EOF\nx\nEOF'],
    ['a here-string', 'git log <<< x'],
    ['a new line', 'git log\nrm x'],
    ['a new line', 'git log\r\nrm x'],
    ['a carriage return', 'git log\rrm x'],
    ['a new line in quotes', 'git log "a\nb"'],
    ['a continued line', 'git log \\\n rm'],
    ['a comment', 'git log # x'],
    ['a comment', '# x\nrm x'],
    ['a wildcard', 'git log *'],
    ['a wildcard', 'git log a?c'],
    ['a wildcard', 'git log [ab]'],
    ['braces', 'git log {a,b}'],
    ['a group', '(git log)'],
    ['a group', '{ git log; }'],
    ['home', 'git log ~/x'],
    ['home', 'git log --output=~/x'],
    ['history', 'git log !!'],
    ['negation', '! git log'],
    ['a tab', 'git\tlog'],
    ['a null byte', 'git log \0'],
    ['a vertical tab', 'git log\vx'],
    ['a no-break space', 'git\u00a0log'],
    ['a line separator', 'git log\u2028rm x'],
    ['an invisible character in quotes', 'git log "\u202e"'],
  ])('lets nothing pass that is hidden in %s: %j', (_what, command) => {
    expect(allows('Bash(git log:*)', command)).toBe(false)
  })

  it('lets nothing pass that has a shell character outside of quotes, wherever it stands', () => {
    const arbitrary = fc.tuple(
      fc.array(fc.constantFrom('log', '-x', 'a.ts', ' ', '="v w"', "'q'")),
      fc.constantFrom(...';&|<>()$`\\{}*?[]!\n\r\t\0'),
      fc.array(fc.constantFrom('rm', ' ', 'x', '-y')),
    )
    fc.assert(
      fc.property(arbitrary, ([before, character, after]) => {
        const command = `git log ${before.join('')}${character}${after.join('')}`
        expect(allows('Bash(git log:*)', command)).toBe(false)
      }),
    )
  })

  it('reads a command that it accepts as bash does', () => {
    const pieces = fc.array(
      fc.constantFrom(
        'a',
        'b=c',
        ' ',
        '"x y"',
        "'p;q'",
        '--k=',
        '"',
        "'",
        '~',
        '#',
        '^',
        '%',
        'é',
        '@{',
        ',',
      ),
      { minLength: 1, maxLength: 8 },
    )
    const accepted = fc
      .sample(pieces, { numRuns: 3000, seed: 7 })
      .map((parts) => `printf 1 ${parts.join('')}`)
      .filter((command) => simpleCommandTokens(command) !== undefined)
    expect(accepted.length).toBeGreaterThan(50)
    const script = accepted
      .map((command) => `set -- ${command}; printf '%s\\0' "$@"; printf '\\1\\0'`)
      .join('\n')
    const output = execFileSync('bash', ['-c', script], { encoding: 'utf8' })
    const words = output.split('\u0001\0').slice(0, -1)
    const expected = accepted.map((command) =>
      (simpleCommandTokens(command) ?? []).map((token) => `${withoutQuotes(token)}\0`).join(''),
    )
    expect(words).toEqual(expected)
  })
})

describe('an allow rule for git that ends in a star', () => {
  it.each([
    'git log -1 --output=/tmp/x',
    'git log --output /tmp/x',
    'git log --outp=/tmp/x',
    'git log "--output=/tmp/x"',
    "git log --output='a b'",
    'git diff --ext-diff',
    'git diff --ext',
    'git show --textconv HEAD:x',
    'git grep --open-files-in-pager=vim x',
    'git grep --open x',
    'git grep -Ovim x',
    'git grep "-Ovim" x',
    'git grep -nOvim x',
  ])('never lets an option pass that writes a file or runs a program: %j', (command) => {
    expect(allows('Bash(git:*)', command)).toBe(false)
    expect(allows(`Bash(${command.split(' ').slice(0, 2).join(' ')}:*)`, command)).toBe(false)
  })

  it.each(['git log --oneline -SFOO', 'git log --output-indicator-new=x', 'git diff -- a', 'git grep -n x'])(
    'lets %j pass',
    (command) => {
      expect(allows('Bash(git:*)', command)).toBe(true)
    },
  )

  it('lets such an option pass where the rule itself names it, whole or in its prefix', () => {
    expect(allows('Bash(git log --output=x)', 'git log --output=x')).toBe(true)
    expect(allows('Bash(git log --output=x:*)', 'git log --output=x -1')).toBe(true)
    expect(allows('Bash(git log --output=x:*)', 'git log --output=x --output=y')).toBe(false)
    expect(allows('Bash(tool:*)', 'tool --output=x')).toBe(true)
  })
})

describe('other allow rules for Bash', () => {
  it.each([
    ['Bash(npm test)', 'npm test', true],
    ['Bash(npm test)', 'npm test -- x', false],
    ['Bash(npm run test:*)', 'npm run test --silent', true],
    ['Bash(npm run test:*)', 'npm run test:unit', false],
    ['Bash(npm *)', 'npm install', true],
    ['Bash(npm *)', 'npmx', false],
    ['Bash(git commit -m "x y")', 'git commit -m "x y"', true],
    ['Bash(a && b)', 'a && b', false],
    ['Bash', 'anything | at > all', true],
  ])('%j on %j: %j', (rule, command, isAllowed) => {
    expect(allows(rule, command)).toBe(isAllowed)
  })
})

describe('deny rules for Bash', () => {
  it.each([
    'rm x',
    'RM x',
    '/bin/rm x',
    'r\\m x',
    `r"m" x`,
    `r''m x`,
    'ls; rm x',
    'ls&&rm x',
    'ls | xargs rm',
    'ls\nrm x',
    'ls \\\n; r\\\nm x',
    '(rm x)',
    '{ rm x; }',
    '{rm,-rf,x}',
    'if true; then rm x; fi',
    '! rm x',
    'X=1 rm x',
    'sudo -u ada rm x',
    'env -i rm x',
    'find . -exec rm {} ;',
    'bash -c "rm x"',
    "sh -c'rm x'",
    'eval "r""m x"',
    'echo $(rm x)',
    'echo "`rm x`"',
    'cat <(rm x)',
    'cat <<EOF | sh\nrm x\nEOF',
    'bash <<<"rm x"',
    '>x rm y',
    '2>/dev/null rm y',
    'r$EMPTY' + 'm x',
    'r$' + '{X}m x',
    'r$()m x',
    '$X y',
    '"$X" y',
    '$(echo rm) x',
    '`echo rm` x',
    "$'\\x72m' x",
    'X=rm; $X y',
    'sudo $X',
    'eval $X',
    '/bin/r? x',
    '/bin/r[m] x',
    'r{m,} x',
    "echo '$" + "{' ; rm x '}'",
    "echo '$(' ; rm x ')'",
    "echo '`' ; rm x '`'",
    'r$@m x',
    'rm$@ x',
    'r$!m x',
    'r$*m x',
    'r$-m x',
    '/bin/rm$@ x',
    "sh -c 'r$@m x'",
    '/bin/[]r]m x',
    '/bin/[!]x]m x',
    '/bin/[r\\ ]m x',
    '[\\ r]m x',
    "/bin/[r' ']m x",
    '/bin/[r\\;]m x',
    '[\\>r]m x',
    '/bin/[[r]m x',
    '/bin/[[:alpha:]]m x',
    'sh -c "/bin/[r\\\\ ]m x"',
    '/bin/@(r)m x',
    '/bin/r@(m) x',
    '/bin/r?(x|m) x',
    `/bin/r@(${'('.repeat(20)}m${')'.repeat(20)}) x`,
  ])('Bash(rm:*) catches %j', (command) => {
    expect(denies('Bash(rm:*)', command)).toBe(true)
  })

  it.each([
    'git push',
    'git  push --force',
    'git -C /x push',
    'git -c a=b push',
    'git --no-pager push',
    'git "push"',
    'git pu"sh"',
    'git $EMPTY push',
    'git $X',
    'git pu$X',
    'git 2>/dev/null push',
    'git >x push',
    'git p*',
    'true && git push',
    'GIT=git; $GIT push',
    'git p$@ush',
    'git pus$!h',
    'git p[]u]sh',
    'git pus[[h]',
    'git pus@(h)',
  ])('Bash(git push:*) catches %j', (command) => {
    expect(denies('Bash(git push:*)', command)).toBe(true)
  })

  it.each([
    ['Bash(rm:*)', 'git status'],
    ['Bash(rm:*)', 'npm test'],
    ['Bash(rm:*)', 'rmdir x'],
    ['Bash(rm:*)', 'ls *.ts "$HOME"'],
    ['Bash(rm:*)', 'find . -name "*.ts" | head -5'],
    ['Bash(rm:*)', 'if [ -f x ]; then cat x; fi'],
    ['Bash(rm:*)', 'X=1 npm test 2>&1 | tail -n 3'],
    ['Bash(rm:*)', 'if [[ -f a && -f b ]]; then cat a; fi'],
    ['Bash(rm:*)', 'list[0]=x; echo "$' + '{list[@]}"'],
    ['Bash(rm:*)', "grep -n '[^ ]*x' a"],
    ['Bash(rm:*)', 'ls !(a)'],
    ['Bash(git push:*)', 'git log --oneline'],
    ['Bash(git push:*)', 'git stash'],
    ['Bash(git push:*)', 'git commit -m "$(cat x)"'],
    ['Bash(rm -rf:*)', 'rm x'],
  ])('%j leaves %j alone', (rule, command) => {
    expect(denies(rule, command)).toBe(false)
  })

  it('denies an exact command also with more behind it', () => {
    expect(denies('Bash(npm publish)', 'npm publish --tag x')).toBe(true)
    expect(denies('Bash(git * main)', 'git checkout -f main')).toBe(true)
    expect(denies('Bash(git * main)', 'git checkout dev')).toBe(false)
    expect(denies('Bash(/bin/rm:*)', 'rm x')).toBe(true)
  })

  it('catches whatever the allow rule of the same text allows', () => {
    const word = fc.constantFrom('git', 'log', 'push', '-x', '--y=z', '"a b"', "'c'", 'd/e')
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 3 }), fc.array(word), (prefix, rest) => {
        const rule = `Bash(${prefix.join(' ')}:*)`
        const command = [...prefix, ...rest].join(' ')
        if (allows(rule, command)) expect(denies(rule, command)).toBe(true)
      }),
    )
  })

  it('finds the denied command in whatever is put around it', () => {
    const around = fc.constantFrom(
      (inner: string) => `true; ${inner}`,
      (inner: string) => `( ${inner} )`,
      (inner: string) => `echo $( ${inner} )`,
      (inner: string) => `echo "\`${inner}\`"`,
      (inner: string) => `bash -c "${inner}"`,
      (inner: string) => `X=1 ${inner}`,
      (inner: string) => `cat x | ${inner}`,
      (inner: string) => `while true\ndo\n${inner}\ndone`,
      (inner: string) => `>out ${inner} 2>&1 # done`,
      (inner: string) => `sudo -E ${inner}`,
    )
    fc.assert(
      fc.property(fc.array(around, { maxLength: 6 }), (layers) => {
        const command = layers.reduce((inner, wrap) => wrap(inner), 'git push origin')
        expect(denies('Bash(git push:*)', command)).toBe(true)
      }),
    )
  })

  // Code with mutants in it is slow, and nothing is learnt from how slow.
  it.skipIf(process.env['TROUPE_MUTATION'] !== undefined)(
    'takes no more than its share of time on hostile commands',
    () => {
      const hostile = [
        '[',
        "['",
        `["['"`,
        '[\\',
        '[a',
        '@(',
        '$@',
        '{',
        '{,',
        '$(',
        '`',
        '1',
        '"',
        '-',
        'git ',
        'git push - ',
        '<',
        '$',
        '\\',
      ].map((text) => text.repeat(100_000 / text.length))
      const start = performance.now()
      for (const command of hostile) denies('Bash(git push x:*)', command)
      expect(performance.now() - start).toBeLessThan(10_000)
    },
  )

  it('counts a command that is too long to look at as one that could be denied', () => {
    expect(denies('Bash(rm:*)', `echo ${'x'.repeat(100_000)}`)).toBe(true)
    expect(allows('Bash(echo:*)', `echo ${'x'.repeat(20_000)}`)).toBe(false)
  })
})
