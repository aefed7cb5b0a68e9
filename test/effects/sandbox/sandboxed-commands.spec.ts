/** Commands in the real sandbox, without an engine: real processes, real git. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { SandboxPlan } from '../../../src/definitions/sandbox/options.ts'
import { createLocalProcessRunner } from '../../../src/effects/process/local-process-runner.ts'
import type { ProcessOutcome, ProcessRequest } from '../../../src/effects/process/process-runner.ts'
import { readProcessTable, startedWith } from '../../../src/effects/process/process-table.ts'
import { sandboxedRunner } from '../../../src/effects/process/sandboxed-runner.ts'
import { createSandbox, type Sandbox } from '../../../src/effects/sandbox/sandbox.ts'
import { onceWritten } from '../../helpers/real-processes.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import { git, repository, scratch, write } from '../worktrees/world.ts'
import { noSandboxHere } from './real-sandbox.ts'

const MARK = 'a0000000000000bb1/1.2.0'
const plan: SandboxPlan = {
  wantedBy: ['a test'],
  allowedDomains: [],
  deniedDomains: [],
  allowWrite: [],
  denyWrite: [],
  denyRead: [],
}
const inner = createLocalProcessRunner({ graceMs: 3_000 })

/** One for most tests: each start costs 150 ms. */
let shared: Sandbox
beforeAll(async () => {
  shared = createSandbox({ plan, records: [], warn: () => {} })
  if (noSandboxHere === undefined) await shared.open()
})
afterAll(() => shared.close())

function run(
  command: string,
  cwd: string,
  more: Partial<ProcessRequest> & { readonly sandbox?: Sandbox; readonly roots?: readonly string[] } = {},
): Promise<ProcessOutcome> {
  const { sandbox = shared, roots = [], ...rest } = more
  return sandboxedRunner(inner, sandbox, { cwd, writableRoots: roots }).run({
    ...{ command, cwd, mark: MARK, timeoutMs: 20_000, maxOutputBytes: 10_000 },
    signal: new AbortController().signal,
    ...rest,
  })
}

/** Ids of what carries the mark. */
const marked = (mark = MARK): readonly number[] =>
  (readProcessTable() ?? [])
    .filter(({ pid, isDead }) => !isDead && startedWith(pid, 'TROUPE_CALL') === mark)
    .map(({ pid }) => pid)

describe.skipIf(noSandboxHere !== undefined)('a command in the sandbox', () => {
  it('writes in its folders and for temporary files, and nowhere else', async () => {
    const [cwd, further, other] = [temporaryFolder(), temporaryFolder(), temporaryFolder()]
    const command = `echo 1 > in.txt; echo 2 > ${further}/in.txt; echo 3 > $TMPDIR/in.txt && cat $TMPDIR/in.txt; echo 4 > ${other}/out.txt`
    const { output } = await run(command, cwd, { roots: [further] })
    expect(readdirSync(cwd)).toEqual(['in.txt'])
    expect(readdirSync(further)).toEqual(['in.txt'])
    expect(readdirSync(other)).toEqual([])
    expect(output).toMatch(/^3\n.*out\.txt: Read-only file system\n$/u)
  })

  it('gives its exit code, and its output as it comes', async () => {
    let heard = ''
    const onOutput = (chunk: Buffer): void => {
      heard += chunk
    }
    const outcome = await run('echo out; echo err >&2; exit 3', temporaryFolder(), { onOutput })
    expect(outcome).toMatchObject({ output: 'out\nerr\n', exitCode: 3, ended: 'exit' })
    expect(heard).toBe('out\nerr\n')
  })

  it('makes nothing that could widen what may be done, and leaves nothing in its place', async () => {
    const cwd = scratch()
    const makes = ['.claude', '.mcp.json', '.troupe', '.git'].map(
      (name) => `mkdir -p ${name}/x && touch ${name}/x/y; rm -rf ${name}; echo 1 > ${name}`,
    )
    await run(makes.join('; '), cwd)
    expect(readdirSync(cwd)).toEqual([])
  })

  it('changes neither settings nor hooks of git, and commits', async () => {
    const root = repository()
    write(root, { '.claude/settings.json': '{}' })
    const before = readFileSync(path.join(root, '.git/config'), 'utf8')
    const { output } = await run(
      'git config core.fsmonitor ./evil; mkdir .git/hooks; echo evil > .git/hooks/pre-commit; mv .git .git2; echo "{1}" > .claude/settings.json; echo new > a.txt && git -c user.name=n -c user.email=e commit -qam second && git log --format=%s',
      root,
    )
    expect(output).toContain('second\nfirst\n')
    expect(git(root, 'log', '--format=%s')).toBe('second\nfirst')
    expect(readFileSync(path.join(root, '.git/config'), 'utf8')).toBe(before)
    expect(existsSync(path.join(root, '.git/hooks'))).toBe(false)
    expect(readFileSync(path.join(root, '.claude/settings.json'), 'utf8')).toBe('{}')
  })

  it('while it runs, git outside sees nothing of what stands for names that must not be made', async () => {
    const root = repository()
    const tree = path.join(root, '.claude/worktrees/x')
    git(root, 'worktree', 'add', '-q', tree)
    const abort = new AbortController()
    const running = run('echo 1 > started.log; sleep 30', tree, { signal: abort.signal })
    await onceWritten(path.join(tree, 'started.log'))
    expect(readdirSync(tree)).toEqual(expect.arrayContaining(['.claude', '.mcp.json', '.troupe']))
    expect(git(tree, 'status', '--porcelain')).toBe('')
    abort.abort()
    await running
    expect(readdirSync(tree)).not.toContain('.mcp.json')
  })

  it('commits from a folder of a repository', async () => {
    const root = repository()
    const command =
      'git init -q; echo 1 > b.txt && git -c user.name=n -c user.email=e commit -qam second && git log --format=%s'
    expect((await run(command, path.join(root, 'folder'))).output).toContain('second\nfirst\n')
    expect(readdirSync(path.join(root, 'folder'))).toEqual(['b.txt'])
  })

  it('commits in a worktree, and reaches neither its caller’s tree nor the settings of the repository', async () => {
    const root = repository()
    const tree = path.join(root, '.claude/worktrees/x')
    git(root, 'worktree', 'add', '-q', '-b', 'x', tree)
    const { output } = await run(
      `git config core.fsmonitor ./evil; echo gitdir: ../evil > .git; echo ../../../evil > ${root}/.git/worktrees/x/commondir; echo 1 > ${root}/a.txt; echo new > a.txt && git -c user.name=n -c user.email=e commit -qam second && git stash list && git log --format=%s`,
      tree,
    )
    expect(output).toContain('second\nfirst\n')
    expect(git(root, 'log', '--format=%s', 'x')).toBe('second\nfirst')
    expect(git(root, 'status', '--porcelain', 'a.txt')).toBe('')
    expect(git(tree, 'status', '--porcelain')).toBe('')
    expect(git(root, 'config', '--get-regexp', 'core.*')).not.toContain('fsmonitor')
  })

  it('reads what is not denied', async () => {
    const [cwd, secret] = [temporaryFolder(), temporaryFolder()]
    writeFileSync(path.join(secret, 'key'), 'the secret\n')
    const sandbox = createSandbox({ plan: { ...plan, denyRead: [secret] }, records: [], warn: () => {} })
    onTestFinished(() => sandbox.close())
    expect((await run(`cat ${secret}/key`, cwd)).output).toBe('the secret\n')
    expect((await run(`cat ${secret}/key`, cwd, { sandbox })).output).not.toContain('the secret')
  })

  it('reaches no server, of this machine or another, and is told so', async () => {
    const server = createServer((_request, response) => response.end('answer'))
    const port = await new Promise<number>((resolve) =>
      server.listen(0, '127.0.0.1', () => resolve(Reflect.get(Object(server.address()), 'port'))),
    )
    onTestFinished(() => void server.close())
    const fetching = (url: string): string =>
      `node -e 'fetch("${url}").then(() => console.log("reached"), () => console.log("refused"))'`
    const { output } = await run(
      `${fetching(`http://127.0.0.1:${port}`)}; curl -s -o /dev/null http://example.org`,
      temporaryFolder(),
    )
    expect(output).toContain('refused\n')
    expect(output).not.toContain('reached')
    expect(output).toContain('deny network-outbound example.org:80')
  })

  it('hears of its end, and has its time to end by itself', async () => {
    const cwd = temporaryFolder()
    const abort = new AbortController()
    const running = run(
      "trap 'echo bye > ended; exit' TERM; echo 1 > started; while :; do sleep 0.05; done",
      cwd,
      { signal: abort.signal },
    )
    await onceWritten(path.join(cwd, 'started'))
    abort.abort()
    expect((await running).ended).toBe('aborted')
    expect(readFileSync(path.join(cwd, 'ended'), 'utf8')).toBe('bye\n')
    expect(marked()).toEqual([])
  })

  it('is killed with everything that it has started when it does not end', async () => {
    const cwd = temporaryFolder()
    const abort = new AbortController()
    const running = sandboxedRunner(createLocalProcessRunner({ graceMs: 50 }), shared, {
      cwd,
      writableRoots: [],
    }).run({
      ...{ cwd, mark: MARK, timeoutMs: 20_000, maxOutputBytes: 1_000, signal: abort.signal },
      command: "trap '' TERM; setsid sleep 30 & (sleep 30 &) ; echo 1 > started; sleep 30",
    })
    await onceWritten(path.join(cwd, 'started'))
    expect(marked().length).toBeGreaterThan(3)
    abort.abort()
    expect((await running).ended).toBe('aborted')
    expect(marked()).toEqual([])
  })

  it('leaves nothing behind when it has ended, whatever it has started', async () => {
    const outcome = await run('setsid sleep 30 & sleep 30 & echo done', temporaryFolder())
    expect(outcome).toMatchObject({ output: 'done\n', exitCode: 0, ended: 'exit' })
    expect(marked()).toEqual([])
  })
})

describe.skipIf(noSandboxHere !== undefined)('when the process of the engine is killed', () => {
  it.each(['SIGKILL', 'SIGTERM'] as const)(
    'by %s it ends, and all that runs inside with it',
    async (signal) => {
      const cwd = temporaryFolder()
      const mark = 'a0000000000000bb2/1.2.0'
      const engine = startOther(cwd, mark)
      await onceWritten(path.join(cwd, 'started'))
      expect(marked(mark).length).toBeGreaterThan(1)
      const below = (readProcessTable() ?? []).filter(({ parent }) => parent === engine.pid)
      const names = below.map(({ pid }) => readFileSync(`/proc/${pid}/comm`, 'utf8').trim())
      expect(names).toEqual(expect.arrayContaining(['bwrap', 'socat']))
      const gone = new Promise((resolve) => engine.once('exit', (_code, by) => resolve(by)))
      engine.kill(signal)
      expect(await gone).toBe(signal)
      const pids = new Set(below.map(({ pid }) => pid))
      await vi.waitFor(() => {
        const left = (readProcessTable() ?? []).filter(({ pid, isDead }) => !isDead && pids.has(pid))
        expect([marked(mark), left]).toEqual([[], []])
      })
    },
  )
})

/** A process of its own that runs one command in a sandbox. */
function startOther(cwd: string, mark: string): ChildProcess {
  const source = new URL('../../../src/effects/', import.meta.url).href
  const program = `
    const { createLocalProcessRunner } = await import('${source}process/local-process-runner.ts')
    const { sandboxedRunner } = await import('${source}process/sandboxed-runner.ts')
    const { createSandbox } = await import('${source}sandbox/sandbox.ts')
    const sandbox = createSandbox({ plan: ${JSON.stringify(plan)}, records: [], warn: () => {} })
    const place = { cwd: ${JSON.stringify(cwd)}, writableRoots: [] }
    await sandboxedRunner(createLocalProcessRunner(), sandbox, place).run({
      command: "trap '' TERM; echo 1 > started; sleep 30",
      cwd: place.cwd, mark: '${mark}', timeoutMs: 30000, maxOutputBytes: 1000, signal: new AbortController().signal,
    })`
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], {
    cwd: path.resolve(import.meta.dirname, '../../..'),
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, TMPDIR: temporaryFolder() },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}
