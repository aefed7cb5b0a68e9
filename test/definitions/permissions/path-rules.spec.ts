import fc from 'fast-check'
import ignore from 'ignore'
import { describe, expect, it } from 'vitest'
import { findRule, matchesRule, rulesThatAllow } from '../../../src/definitions/permissions/match.ts'
import { coversPath, resolvePath } from '../../../src/definitions/permissions/path-pattern.ts'
import { CWD, matches, request, rules } from './rules-for-tests.ts'

const base = { cwd: CWD, home: '/home/ada' }
const allows = (pattern: string, path: string): boolean => coversPath(pattern, path, base, 'allow')
const denies = (pattern: string, path: string): boolean => coversPath(pattern, path, base, 'deny')

describe('a path pattern of an allow rule', () => {
  it.each([
    ['src/a.ts', 'src/a.ts', true],
    ['src/a.ts', `${CWD}/src/a.ts`, true],
    ['./src/a.ts', 'src/a.ts', true],
    ['src/a.ts', 'src/b.ts', false],
    ['src/a.ts', 'lib/src/a.ts', false],
    ['src/**', 'src/a.ts', true],
    ['src/**', 'src/x/y/a.ts', true],
    ['src/**', 'src', true],
    ['src/', 'src/x/a.ts', true],
    ['src', 'src/a.ts', false],
    ['src/**', 'srcs/a.ts', false],
    ['src/**', 'src/../secret', false],
    ['src/**', '../src/a.ts', false],
    ['src/*', 'src/x/a.ts', false],
    ['src/*.ts', 'src/a.ts', true],
    ['src/?.ts', 'src/ab.ts', false],
    ['src/**/a.ts', 'src/a.ts', true],
    ['src/**/a.ts', 'src/x/y/a.ts', true],
    ['**/a.ts', 'x/a.ts', true],
    ['**/a.ts', '/x/a.ts', false],
    ['src/{a,b}.ts', 'src/b.ts', true],
    ['src/{a,{b,c}}.ts', 'src/c.ts', true],
    ['app/[id]/page.tsx', 'app/[id]/page.tsx', true],
    ['app/[id]/page.tsx', 'app/i/page.tsx', false],
    ['//etc/**', '/etc/hosts', true],
    ['//etc/**', 'etc/hosts', false],
    ['/etc/**', '/etc/hosts', false],
    ['/etc/**', 'etc/hosts', true],
    ['../other/**', '../other/a.ts', true],
    ['../other/**', 'other/a.ts', false],
    ['~/notes/**', '/home/ada/notes/x', true],
    ['~/notes/**', 'notes/x', false],
    ['.env', 'x/.env', false],
    ['SRC/a.ts', 'src/a.ts', false],
  ])('%j on %j: %j', (pattern, path, isCovered) => {
    expect(allows(pattern, path)).toBe(isCovered)
  })
})

describe('a path pattern of a deny rule', () => {
  it.each([
    ['.env', '.env', true],
    ['.env', 'x/y/.env', true],
    ['.env', '/other/.env', true],
    ['.env', '.ENV', true],
    ['.env', '.env.local', false],
    ['*.pem', 'keys/a.pem', true],
    ['secrets', 'secrets/x/y', true],
    ['./secrets/**', 'secrets', true],
    ['secrets/**', 'x/secrets/a', false],
    ['**/secrets/**', '/other/secrets/a', true],
    ['/etc/**', '/etc/hosts', true],
    ['/etc/**', 'etc/hosts', true],
    ['*.{key,pem}', 'a.pem', true],
    ['a[bc]', 'ab', true],
    ['a[bc]', 'a[bc]', true],
    ['café', 'cafe\u0301', true],
    ['src/a.ts', 'src/x/../a.ts', true],
    ['build/', 'x/build/a', true],
    ['./build/', 'x/build/a', false],
    ['a\\*b', 'a*b', true],
    ['a\\[b', 'a[b', true],
    ['?.pem', 'ab.pem', false],
    // What file systems that ignore case take for one name.
    ['STRASSE', 'straße', true],
    ['straße', 'STRASSE', true],
    ['ma?e', 'maße', true],
    ['secret', '\u017fecret', true],
    ['key', '\u212aey', true],
    ['οδος', 'ΟΔΟΣ', true],
    ['οδοσ/**', 'οδος/x', true],
    ['ﬁle', 'file', true],
    ['i\u0307', 'İ', true],
  ])('%j on %j: %j', (pattern, path, isCovered) => {
    expect(denies(pattern, path)).toBe(isCovered)
  })

  it('covers what git would ignore by the same pattern', () => {
    const name = fc.constantFrom('a', 'b', 'a.ts', '.env', 'ab', 'A', 'a b')
    const glob = fc.oneof(
      name,
      fc.constantFrom('*', '**', '?', '*.ts', 'a*', '[ab]', '[!b]', '[a-c].ts', '\\*', 'a\\ b'),
    )
    const pattern = fc
      .tuple(
        fc.constantFrom('', '/', '**/'),
        fc.array(glob, { minLength: 1, maxLength: 3 }),
        fc.constantFrom('', '/'),
      )
      .map(([start, globs, end]) => `${start}${globs.join('/')}${end}`)
    const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'))
    fc.assert(
      fc.property(pattern, path, (text, file) => {
        if (ignore().add(text).ignores(file)) expect(denies(text, file), `${text} on ${file}`).toBe(true)
      }),
      { numRuns: 1_000 },
    )
  })

  it('sees through what Windows leaves out of names', () => {
    const windows = { cwd: 'C:\\p' }
    for (const path of ['.env.', '.env ', '.ENV::$DATA', 'x\\.env'])
      expect(coversPath('.env', path, windows, 'deny'), path).toBe(true)
    expect(coversPath('.env', '.env.', { cwd: '/p' }, 'deny')).toBe(false)
  })

  it('covers any such path when home is not known, where an allow rule covers none', () => {
    expect(coversPath('~/.ssh/**', '/anywhere/.ssh/id', { cwd: CWD }, 'deny')).toBe(true)
    expect(coversPath('~/.ssh/**', '/home/ada/.ssh/id', { cwd: CWD }, 'allow')).toBe(false)
  })

  it('covers everything when its braces have too many readings, where an allow rule covers nothing', () => {
    const pattern = '{a,b}'.repeat(12)
    expect(denies(pattern, 'x')).toBe(true)
    expect(allows(pattern, 'ababababab'.padEnd(12, 'a'))).toBe(false)
  })

  it('covers whatever the same pattern allows', () => {
    const name = fc.constantFrom('src', 'a.ts', '.env', '..', '.', 'X', '[id]')
    const glob = fc.oneof(name, fc.constantFrom('*', '**', '?', '*.ts', '{a,src}', '~', ''))
    fc.assert(
      fc.property(fc.array(glob, { minLength: 1, maxLength: 4 }), fc.array(name), (globs, names) => {
        const [pattern, path] = [globs.join('/'), names.join('/')]
        if (allows(pattern, path)) expect(denies(pattern, path)).toBe(true)
      }),
      { numRuns: 500 },
    )
  })
})

describe('a path pattern of a settings file', () => {
  const inFolder = { cwd: `${CWD}/sub`, home: '/home/ada', root: CWD }
  const covers = (pattern: string, path: string, kind: 'allow' | 'deny'): boolean =>
    coversPath(pattern, path, inFolder, kind)

  it('starts at the folder that the file speaks for when it starts with a slash', () => {
    expect(covers('/src/**', `${CWD}/src/a.ts`, 'allow')).toBe(true)
    expect(covers('/src/**', 'src/a.ts', 'allow')).toBe(false)
    expect(covers('./src/**', 'src/a.ts', 'allow')).toBe(true)
    expect(covers('./src/**', `${CWD}/src/a.ts`, 'allow')).toBe(false)
  })

  it('of a deny rule starts in every folder that it might be meant from', () => {
    for (const path of [`${CWD}/src/a.ts`, 'src/a.ts']) {
      expect(covers('/src/**', path, 'deny'), path).toBe(true)
      expect(covers('./src/**', path, 'deny'), path).toBe(true)
    }
    const above = { ...inFolder, also: ['/srv'] }
    expect(coversPath('./src/**', '/srv/src/x', above, 'deny')).toBe(true)
    expect(coversPath('./src/**', '/srv/src/x', above, 'allow')).toBe(false)
  })
})

describe('a long list of path rules', () => {
  it('decides as its rules one by one', () => {
    const text = fc.constantFrom(
      ...[
        'src/**',
        './src/*.ts',
        '.env',
        '//etc/**',
        '~/x',
        '**/a',
        'a/',
        '[ab]',
        '{a,src}/b',
        '../**',
        '*',
        'src/a.ts',
        '/src/',
      ],
    )
    const path = fc.constantFrom(
      'src/a.ts',
      'a',
      'x/a/b',
      '/etc/x',
      '~',
      '/home/ada/x',
      'src/.env',
      '..',
      '.',
      'src/b',
    )
    fc.assert(
      fc.property(fc.array(text), path, fc.constantFrom('allow', 'deny', 'ask'), (texts, asked, kind) => {
        const call = request('Read', asked, { resolvedPath: asked })
        const all = rules(kind, ...texts.map((each) => `Read(${each})`))
        const together = kind === 'allow' ? rulesThatAllow(all, call) : findRule(all, call, kind)
        const alone = all.some((rule) => matchesRule(rule, call, kind))
        expect(together !== undefined).toBe(alone)
      }),
      { numRuns: 300 },
    )
  })
})

describe('paths', () => {
  it('takes the names of the working directory as they are, not as patterns', () => {
    const odd = { cwd: '/srv/p [a]*/p' }
    expect(coversPath('x', '/srv/p [a]*/p/x', odd, 'allow')).toBe(true)
    expect(coversPath('x', '/srv/p a-/p/x', odd, 'allow')).toBe(false)
  })

  it('works out dots, and never climbs over the root', () => {
    expect(resolvePath('/a/b', '../c/./d')).toBe('/a/c/d')
    expect(resolvePath('/a', '../../../x')).toBe('/x')
    expect(resolvePath('C:\\p', 'src\\a.ts')).toBe('/C:/p/src/a.ts')
  })

  // Code with mutants in it is slow, and nothing is learnt from how slow.
  it.skipIf(process.env['TROUPE_MUTATION'] !== undefined)(
    'takes no more than its share of time on hostile patterns',
    () => {
      const start = performance.now()
      coversPath(`${'**/a*'.repeat(200)}b`, 'a/'.repeat(1_000), base, 'deny')
      coversPath(`${'*a'.repeat(1_000)}b`, 'a'.repeat(2_000), base, 'allow')
      expect(performance.now() - start).toBeLessThan(5_000)
    },
  )
})

describe('which tools a path rule speaks of', () => {
  it.each([
    ['allow', 'Edit(src/**)', 'Write', true],
    ['allow', 'Write(src/**)', 'Edit', false],
    ['deny', 'Write(src/**)', 'Edit', true],
    ['allow', 'Read(src/**)', 'Grep', true],
    ['deny', 'Grep(src/**)', 'Read', true],
    ['deny', 'Read(src/**)', 'Edit', false],
    ['deny', 'Edit', 'Write', false],
    ['deny', 'edit', 'Edit', true],
  ] as const)('%s %s on %s: %j', (kind, rule, toolName, isMatch) => {
    expect(matches(kind, rule, request(toolName, 'src/a.ts'))).toBe(isMatch)
  })

  it('follows symlinks: to allow both ends must be covered, to deny one is enough', () => {
    const call = request('Read', 'src/link', { resolvedPath: '/etc/passwd' })
    expect(matches('allow', 'Read(src/**)', call)).toBe(false)
    expect(matches('deny', 'Read(//etc/**)', call)).toBe(true)
  })

  it('takes a search without a path as one of the working directory', () => {
    expect(matches('allow', 'Grep(./**)', request('Grep'))).toBe(true)
    expect(matches('allow', 'Grep(src/**)', request('Grep'))).toBe(false)
  })
})

describe('rules for agents and MCP tools', () => {
  it.each([
    ['deny', 'Agent(Explore)', 'Agent', 'Explore', true],
    ['deny', 'Task(explore)', 'Agent', 'Explore', true],
    ['deny', 'Agent(a, Explore)', 'Agent', 'Explore', true],
    ['deny', 'Agent(Plan)', 'Agent', 'Explore', false],
    ['deny', 'Agent(Explore)', 'Agent', ' explore ', true],
    ['deny', 'Agent(Explore)', 'Agent', undefined, true],
    ['allow', 'Agent(Explore)', 'Agent', 'Explore', true],
    ['allow', 'Agent(explore)', 'Agent', 'Explore', false],
    ['allow', 'Agent(Explore)', 'Agent', undefined, false],
    ['deny', 'Bash(npm:*)', 'Bash', undefined, true],
    ['allow', 'Bash(npm:*)', 'Bash', undefined, false],
    ['deny', 'mcp__git', 'mcp__git__log', undefined, true],
    ['deny', 'mcp__git__*', 'mcp__git__log', undefined, true],
    ['allow', 'mcp__git__log', 'mcp__git__log', undefined, true],
    ['allow', 'mcp__git__log', 'mcp__git__log_all', undefined, false],
    ['allow', 'mcp__git', 'mcp__github__log', undefined, false],
    ['allow', 'mcp__git(x)', 'mcp__git__log', undefined, false],
    ['deny', 'mcp__git(x)', 'mcp__git__log', undefined, true],
    ['deny', '*', 'Anything', undefined, true],
    ['allow', '*', 'Anything', undefined, false],
    ['deny', '*(x)', 'Bash', 'ls', true],
    ['allow', 'Skill(deploy)', 'Skill', 'deploy', true],
    ['allow', 'Skill(deploy)', 'Skill', 'Deploy', false],
    ['allow', 'Skill(team:*)', 'Skill', 'team:deploy', true],
    ['allow', 'Skill(team:*)', 'Skill', 'teams', false],
    ['deny', 'Skill(Deploy)', 'Skill', 'deploy', true],
    ['deny', 'Skill(deploy)', 'Skill', undefined, true],
    ['allow', 'WebFetch(domain:example.org)', 'WebFetch', 'https://example.org/x?y', true],
    ['allow', 'WebFetch(domain:example.org)', 'WebFetch', 'https://EXAMPLE.org.:8443/', true],
    ['allow', 'WebFetch(domain:example.org)', 'WebFetch', 'https://a.example.org/', false],
    ['allow', 'WebFetch(domain:*.example.org)', 'WebFetch', 'https://a.example.org/', true],
    ['allow', 'WebFetch(domain:*.example.org)', 'WebFetch', 'https://example.org/', false],
    ['allow', 'WebFetch(domain:example.org)', 'WebFetch', 'https://example.org@evil.org/', false],
    ['allow', 'WebFetch(domain:example.org)', 'WebFetch', 'https://example.org.evil.org/', false],
    ['allow', 'WebFetch(domain:example.org)', 'WebFetch', 'https://evil.org/#example.org', false],
    ['allow', 'WebFetch(domain:example.org)', 'WebFetch', 'https://evil.org\\@example.org/', false],
    ['allow', 'WebFetch(domain:example.org)', 'WebFetch', 'ftp://example.org/', false],
    ['allow', 'WebFetch(domain:example.org)', 'WebFetch', undefined, false],
    ['allow', 'WebFetch(domain:bücher.example)', 'WebFetch', 'https://xn--bcher-kva.example/', true],
    ['allow', 'WebFetch(example.org)', 'WebFetch', 'https://example.org/', false],
    ['deny', 'WebFetch(domain:example.org)', 'WebFetch', 'https://a.example.org/', true],
    ['deny', 'WebFetch(domain:example.org)', 'WebFetch', 'https://notexample.org/', false],
    ['deny', 'WebFetch(domain:example.org)', 'WebFetch', 'example.org', true],
    ['ask', 'WebFetch(domain:example.org)', 'WebFetch', 'https://example.org', true],
  ] as const)('%s %s on %s %s: %j', (kind, rule, toolName, subject, isMatch) => {
    expect(matches(kind, rule, request(toolName, subject))).toBe(isMatch)
  })
})
