import { fork } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Example, examplesIn } from './markdown-examples.ts'
import type { ExampleReport } from './run-examples.ts'

const root = path.resolve(import.meta.dirname, '../..')
const TIMEOUT_MS = 60_000
/** How long the process may live on after its last example. */
const GRACE_MS = 3_000

/** What a reader of the examples has installed besides Troupe. */
const PACKAGES = ['zod', 'rxjs', 'xstate', '@statelyai/inspect', 'ws', '@types/node', '@types/ws']

const documents = [
  'README.md',
  ...readdirSync(path.join(root, 'docs'), { recursive: true, encoding: 'utf8' }).map(
    (file) => `docs/${file}`,
  ),
]
  .filter((file) => file.endsWith('.md') && (file !== 'README.md' || readdirSync(root).includes(file)))
  .sort()
const examples = documents.flatMap((document) =>
  examplesIn(document, readFileSync(path.join(root, document), 'utf8')),
)
const runnable = examples.filter(({ kind }) => kind === 'run')
const nameOf = ({ document, line }: Example) => `${document}:${line}`

describe('the examples of the documentation', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'troupe-examples-'))
  const fileOf = (example: Example) => path.join(folder, `${nameOf(example).replace(/\W+/g, '-')}.ts`)
  let reports: ReadonlyMap<string, ExampleReport>
  let exit: { readonly code: number | null; readonly signal: string | null }
  let complaints: string

  beforeAll(async () => {
    layOut(folder)
    for (const example of runnable) writeFileSync(fileOf(example), example.code)
    const files = runnable.map(fileOf)
    const running = runAll(files, await freePort())
    complaints = typeErrors(folder, files)
    ;({ reports, exit } = await running)
  }, 2 * TIMEOUT_MS)

  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('are marked as run, or as a sketch', () => {
    expect(examples.filter(({ kind }) => kind === 'unmarked').map(nameOf)).toEqual([])
    expect(runnable.length).toBeGreaterThan(10)
  })

  it.each(runnable.map((example) => [nameOf(example), example] as const))(
    '%s runs and prints what it says',
    (_, example) => {
      const report = reports.get(fileOf(example))
      expect(report, 'it, or one before it, did not come to its end').toBeDefined()
      expect(report?.error).toBeUndefined()
      if (example.output !== undefined) expect(report?.output).toBe(example.output)
    },
  )

  it('leave nothing running', () => {
    expect(exit).toEqual({ code: 0, signal: null })
  })

  it('type-check as they stand, under strict rules', () => {
    expect(complaints).toBe('')
  })
})

describe('the reader of examples', () => {
  it('finds the marks and what an example must print', () => {
    const markdown = [
      ['<!-- runs -->', '', '```ts', 'console.log(1)', '```', '', '```text', '1', '```'],
      ['<!-- sketch -->', '```ts', '…', '```', 'and then', '```text', 'no output', '```'],
      ['```ts', '```', '```sh', 'ls', '```'],
    ]
    const read = examplesIn('a.md', markdown.flat().join('\n'))
    expect(read.map(({ line, kind, code, output }) => [line, kind, code, output])).toEqual([
      [3, 'run', 'console.log(1)\n', '1\n'],
      [11, 'sketch', '…\n', undefined],
      [18, 'unmarked', '', undefined],
    ])
  })
})

/** A project that has Troupe installed, from its sources. */
function layOut(folder: string): void {
  const modules = path.join(folder, 'node_modules')
  for (const name of PACKAGES) {
    mkdirSync(path.dirname(path.join(modules, name)), { recursive: true })
    symlinkSync(path.join(root, 'node_modules', name), path.join(modules, name))
  }
  const troupe = path.join(modules, 'troupe')
  mkdirSync(troupe)
  const entries = { '.': './index.ts', './testing': './testing.ts' }
  writeFileSync(
    path.join(troupe, 'package.json'),
    JSON.stringify({ name: 'troupe', type: 'module', exports: entries }),
  )
  for (const entry of Object.values(entries)) {
    const source = path.join(root, 'src', entry)
    writeFileSync(path.join(troupe, entry), `export * from ${JSON.stringify(source)}\n`)
  }
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
  const tsconfig = {
    extends: path.join(root, 'tsconfig.json'),
    compilerOptions: { noEmit: true, types: ['node'], typeRoots: [path.join(modules, '@types')] },
    include: ['*.ts'],
  }
  writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify(tsconfig))
}

async function runAll(files: readonly string[], inspectorPort: number) {
  const reports = new Map<string, ExampleReport>()
  const child = fork(path.join(import.meta.dirname, 'run-examples.ts'), files, {
    cwd: root,
    execArgv: ['--import', 'tsx'],
    env: { ...process.env, INSPECTOR_PORT: String(inspectorPort), NO_COLOR: '1' },
    timeout: TIMEOUT_MS,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  // Sent by `run-examples.ts`, which is written to that type.
  child.on('message', (message) => reports.set((message as ExampleReport).file, message as ExampleReport))
  let waiting: NodeJS.Timeout | undefined
  child.on('disconnect', () => {
    waiting = setTimeout(() => child.kill(), GRACE_MS)
  })
  const [code, signal]: (number | string | null)[] = await once(child, 'exit')
  clearTimeout(waiting)
  return {
    reports,
    exit: {
      code: typeof code === 'number' ? code : null,
      signal: typeof signal === 'string' ? signal : null,
    },
  }
}

/** Type errors in the examples, one a line. Only they are checked: errors of the sources are told by `npm run types`. */
function typeErrors(folder: string, files: readonly string[]): string {
  const config = ts.getParsedCommandLineOfConfigFile(
    path.join(folder, 'tsconfig.json'),
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: ({ messageText }) => {
        throw new Error(ts.flattenDiagnosticMessageText(messageText, ' '))
      },
    },
  )
  if (config === undefined) throw new Error(`there is no configuration of TypeScript in ${folder}`)
  const program = ts.createProgram(files, config.options)
  const problems = files.flatMap((file) => {
    const source = program.getSourceFile(file)
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)]
  })
  return ts.formatDiagnostics(problems, {
    getCurrentDirectory: () => folder,
    getCanonicalFileName: (name) => name,
    getNewLine: () => '\n',
  })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0)
  await once(server, 'listening')
  const address = server.address()
  server.close()
  if (address === null || typeof address === 'string') throw new Error('a listening server has no port')
  return address.port
}
