/** What is published: the files, the entry points, and that both agree with the sources. */
import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import ts from 'typescript'
import { beforeAll, describe, expect, it } from 'vitest'
import { createPlace, REPO, startProgram } from './support/program.ts'

const manifest: {
  readonly bin: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  readonly version: string
} = JSON.parse(readFileSync(path.join(REPO, 'package.json'), 'utf8'))

describe('the package', () => {
  /** Paths, as `npm pack` would take them. */
  let files: readonly string[] = []

  beforeAll(() => {
    const args = ['pack', '--dry-run', '--json', '--ignore-scripts']
    const stdout = execFileSync('npm', args, {
      cwd: REPO,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const [packed]: { readonly files: readonly { readonly path: string }[] }[] = JSON.parse(stdout)
    files = packed?.files.map((file) => file.path) ?? []
  })

  it('has the program, the library, its types, the guides and the licence', () => {
    const entries = [
      'dist/cli.js',
      'dist/index.js',
      'dist/index.d.ts',
      'dist/testing.js',
      'dist/testing.d.ts',
    ]
    const papers = [
      'README.md',
      'LICENSE',
      'CHANGELOG.md',
      'package.json',
      'docs/errors.md',
      'docs/statecharts.md',
    ]
    expect(files).toEqual(expect.arrayContaining([...entries, ...papers]))
  })

  it('has nothing else: no sources, tests, measurements or settings', () => {
    const wanted =
      /^(dist\/[\w-]+(\.d)?\.(js|ts|js\.map)|docs\/.+\.(md|svg|png)|README\.md|LICENSE|CHANGELOG\.md|package\.json)$/
    expect(files.filter((file) => !wanted.test(file))).toEqual([])
  })

  it('tells nobody where it was built', () => {
    const telling = files.filter((file) => readFileSync(path.join(REPO, file), 'utf8').includes(`${REPO}/`))
    expect(telling).toEqual([])
  })

  it('needs at run time only what it depends on, and loads what is optional when it is wanted', async () => {
    const { dependencies, peerDependenciesMeta } = JSON.parse(
      readFileSync(path.join(REPO, 'package.json'), 'utf8'),
    )
    const imported = new Set(
      files
        .filter((file) => file.startsWith('dist/') && file.endsWith('.js'))
        .flatMap((file) => importsOf(readFileSync(path.join(REPO, file), 'utf8')))
        .filter((name) => !name.startsWith('.') && !name.startsWith('node:'))
        .map((name) =>
          name
            .split('/')
            .slice(0, name.startsWith('@') ? 2 : 1)
            .join('/'),
        ),
    )
    const optional = [...imported].filter((name) => dependencies[name] === undefined)
    expect(optional.filter((name) => peerDependenciesMeta[name]?.optional !== true)).toEqual([])
    for (const file of files.filter((name) => name.endsWith('.js')))
      for (const name of optional)
        expect(readFileSync(path.join(REPO, file), 'utf8')).not.toMatch(
          new RegExp(`(?:from|import) ?"${name}`, 'u'),
        )
  })

  it('passes publint', async () => {
    const publint = path.join(REPO, 'node_modules/publint/src/cli.js')
    const { code, stdout, stderr } = await startProgram([publint, '--strict', '--pack', 'false'], {
      cwd: REPO,
    }).finished
    expect(code, stdout + stderr).toBe(0)
    expect(stdout).toContain('All good!')
  })
})

describe('the program', () => {
  const bin = path.join(REPO, manifest.bin['troupe'] ?? '')

  it('is executable, and starts as a command', async () => {
    expect(readFileSync(bin, 'utf8').startsWith('#!/usr/bin/env node\n')).toBe(true)
    expect(statSync(bin).mode & 0o111).toBe(0o111)
    await using place = createPlace()
    const stdout = execFileSync(bin, ['--version'], { cwd: place.project, encoding: 'utf8' })
    expect(stdout).toBe(`${manifest.version}\n`)
  })

  it('says in its help what there is to set', async () => {
    await using place = createPlace()
    const { code, stdout, stderr } = await place.troupe(['--help'])
    expect([code, stderr]).toEqual([0, ''])
    for (const word of [
      '--output-format',
      '--resume',
      'ANTHROPIC_BASE_URL',
      'TROUPE_HOME',
      'TROUPE_MAX_RETRIES',
      'TROUPE_FIRST_BYTE_MS',
      'TROUPE_GAP_MS',
      'TROUPE_OFFLINE_PACE_MS',
    ]) {
      expect(stdout).toContain(word)
    }
  })
})

describe('the library', () => {
  const sourceOf: Readonly<Record<string, string>> = { '.': 'src/index.ts', './testing': 'src/testing.ts' }
  const entries = Object.entries(manifest.exports).flatMap(([name, target]) =>
    typeof target === 'string' ? [] : [{ name, code: target['default'] ?? '', types: target['types'] ?? '' }],
  )

  it.each(entries)('$name exports what its source does, values and types', async ({ name, code, types }) => {
    const inSource = exportsOf(sourceOf[name] ?? '')
    expect(inSource.values.length).toBeGreaterThan(0)
    expect(exportsOf(types)).toEqual(inSource)
    const built: object = await import(pathToFileURL(path.join(REPO, code)).href)
    expect(Object.keys(built).sort()).toEqual(inSource.values)
  })
})

interface Exported {
  readonly values: readonly string[]
  readonly types: readonly string[]
}

/** The names in the `export { … }` of a file. Both our entry points and what is built of them have no other exports. */
function exportsOf(file: string): Exported {
  const text = readFileSync(path.join(REPO, file), 'utf8')
  const values: string[] = []
  const types: string[] = []
  for (const node of ts.createSourceFile(file, text, ts.ScriptTarget.ES2023).statements) {
    if (!ts.isExportDeclaration(node)) continue
    if (node.exportClause === undefined || !ts.isNamedExports(node.exportClause)) {
      throw new Error(`${file} exports something without naming it`)
    }
    for (const { name, isTypeOnly } of node.exportClause.elements) {
      ;(node.isTypeOnly || isTypeOnly ? types : values).push(name.text)
    }
  }
  return { values: values.sort(), types: types.sort() }
}

/** What a built file imports, at once or later. */
const importsOf = (code: string): string[] =>
  ts.preProcessFile(code, true, true).importedFiles.map(({ fileName }) => fileName)
