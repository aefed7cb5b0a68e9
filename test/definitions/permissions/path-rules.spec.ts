import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { coversPath, resolvePath } from '../../../src/definitions/permissions/path-pattern.ts'
import { CWD, matches, request } from './rules-for-tests.ts'

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
  ])('%j on %j: %j', (pattern, path, isCovered) => {
    expect(denies(pattern, path)).toBe(isCovered)
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
  ] as const)('%s %s on %s %s: %j', (kind, rule, toolName, subject, isMatch) => {
    expect(matches(kind, rule, request(toolName, subject))).toBe(isMatch)
  })
})
