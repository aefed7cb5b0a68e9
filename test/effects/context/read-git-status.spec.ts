import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { byteLength } from '../../../src/definitions/context/text.ts'
import { readGitStatus } from '../../../src/effects/context/read-git-status.ts'
import { createGitRunner, type RunGit } from '../../../src/effects/context/run-git.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'

function git(cwd: string, ...args: readonly string[]): void {
  const who = ['-c', 'user.name=A', '-c', 'user.email=a@example.org', '-c', 'commit.gpgSign=false']
  execFileSync('git', [...who, ...args], {
    cwd,
    stdio: 'ignore',
    env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null' },
  })
}

/** A repository on the branch `main` with `a.txt` committed. */
function repository(): string {
  const folder = temporaryFolder()
  git(folder, 'init', '-q', '-b', 'main')
  writeFileSync(join(folder, 'a.txt'), 'a\n')
  git(folder, 'add', '.')
  git(folder, 'commit', '-qm', 'First one')
  return folder
}

/** Changed content of the same length at another time: git has to look into the file. */
function touch(folder: string): void {
  writeFileSync(join(folder, 'a.txt'), 'b\n')
  utimesSync(join(folder, 'a.txt'), 1, 1)
}

describe('the git status of a folder', () => {
  it('has branch, main branch, changes and commits', async () => {
    const folder = repository()
    git(folder, 'checkout', '-qb', 'topic/ä')
    touch(folder)
    writeFileSync(join(folder, 'nöw.txt'), '')
    mkdirSync(join(folder, 'sub'))
    const text = await readGitStatus(join(folder, 'sub'))
    expect(text?.split('\n').slice(1).join('\n')).toMatch(
      /^Branch: topic\/ä\nMain branch: main\n\nChanged files \(git status --short\):\n M a\.txt\n\?\? nöw\.txt\n\nLatest commits:\n[0-9a-f]+ First one$/,
    )
  })

  it('has the last five commits and the branch that the remote calls its own', async () => {
    const folder = repository()
    for (let i = 2; i <= 7; i++) git(folder, 'commit', '-qm', `Commit ${i}`, '--allow-empty')
    git(folder, 'update-ref', 'refs/remotes/origin/next', 'HEAD')
    git(folder, 'symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/next')
    git(folder, 'checkout', '-q', '--detach')
    const text = (await readGitStatus(folder)) ?? ''
    expect(text).toContain('Branch: none checked out')
    expect(text).toContain('Main branch: next')
    expect(text.match(/Commit \d/g)).toEqual(['Commit 7', 'Commit 6', 'Commit 5', 'Commit 4', 'Commit 3'])
    expect(text).toContain('Changed files: none')
  })

  it('is there before the first commit', async () => {
    const folder = temporaryFolder()
    git(folder, 'init', '-q', '-b', 'trunk')
    const text = await readGitStatus(folder)
    expect(text).toContain('Branch: trunk')
    expect(text).toContain('Latest commits: none')
  })

  it('of very many files is cut to 40 KB', async () => {
    const folder = repository()
    for (let i = 0; i < 800; i++) writeFileSync(join(folder, `${'x'.repeat(100)}${i}`), '')
    const text = (await readGitStatus(folder)) ?? ''
    expect(byteLength(text)).toBeLessThanOrEqual(40 * 1024)
    expect(text).toContain('[Cut: more files have changed.')
    expect(text).toMatch(/ First one$/)
  })

  it('is undefined outside a repository, and without git', async () => {
    const folder = temporaryFolder()
    expect(await readGitStatus(folder)).toBeUndefined()
    expect(await readGitStatus(join(folder, 'a\0b'))).toBeUndefined()
    const without = createGitRunner({ cwd: repository(), env: { PATH: folder } })
    expect(await readGitStatus(repository(), { run: without })).toBeUndefined()
  })

  it('is of the folder whatever the environment says', async () => {
    const [folder, other] = [repository(), repository()]
    git(other, 'checkout', '-qb', 'wrong')
    const env = { ...process.env, GIT_DIR: join(other, '.git'), GIT_WORK_TREE: other }
    expect(await readGitStatus(folder, { run: createGitRunner({ cwd: folder, env }) })).toContain(
      'Branch: main',
    )
  })

  it('says what git had no time to answer', async () => {
    const folder = repository()
    const real = createGitRunner({ cwd: folder })
    const slow: RunGit = (args, config) =>
      args[0] === 'status' || args[0] === 'log'
        ? Promise.resolve({ exitCode: null, stdout: '', isCut: false })
        : real(args, config)
    const text = await readGitStatus(folder, { run: slow })
    expect(text).toContain('Branch: main')
    expect(text).toContain('git status did not answer')
    expect(text).toContain('git log did not answer')
  })
})

describe('git that only looks', () => {
  it('is ended after its time, and by its signal', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'git'), '#!/bin/sh\nexec sleep 20\n')
    chmodSync(join(folder, 'git'), 0o755)
    const env = { PATH: `${folder}:${process.env['PATH']}` }
    const began = performance.now()
    const none = { exitCode: null, stdout: '', isCut: false }
    expect(await createGitRunner({ cwd: folder, env, timeoutMs: 100 })(['x'])).toEqual(none)
    const signal = AbortSignal.abort()
    expect(await createGitRunner({ cwd: folder, env, signal })(['x'])).toEqual(none)
    expect(performance.now() - began).toBeLessThan(10_000)
  })

  it('is not looked for in the repository', async () => {
    const folder = repository()
    writeFileSync(join(folder, 'git'), '#!/bin/sh\necho pwned\n')
    chmodSync(join(folder, 'git'), 0o755)
    const env = { PATH: `.:${process.env['PATH']}` }
    const outcome = await createGitRunner({ cwd: folder, env })(['rev-parse', '--show-toplevel'])
    expect(outcome.stdout.trim()).toBe(folder)
  })
})

describe('a hostile repository', () => {
  /** A program that leaves a trace when it runs. */
  function trap(folder: string): { readonly program: string; readonly sprung: () => boolean } {
    const program = join(folder, '.git', 'trap.sh')
    const trace = join(folder, '.git', 'trace')
    writeFileSync(program, `#!/bin/sh\ntouch '${trace}'\ncat\n`)
    chmodSync(program, 0o755)
    return { program, sprung: () => existsSync(trace) }
  }

  it.each([
    ['core.fsmonitor', 'core.fsmonitor'],
    ['a filter', 'filter.evil.clean'],
    ['a filter with a misleading name', 'filter.a=b.clean=c.clean'],
    ['a filter process', 'filter.evil.process'],
    ['a pager', 'core.pager'],
  ])('has no program run as %s', async (_, key) => {
    const folder = repository()
    const { program, sprung } = trap(folder)
    git(folder, 'config', key, program)
    const filter = /^filter\.(.+)\.\w+$/.exec(key)?.[1]
    writeFileSync(join(folder, '.gitattributes'), filter === undefined ? '' : `*.txt filter=${filter}\n`)
    touch(folder)
    // Without care the trap of a plain filter is sprung: else this test could not fail.
    const text = await readGitStatus(folder)
    expect(sprung()).toBe(false)
    expect(text).toContain(' M a.txt')
    if (key === 'filter.evil.clean' || key === 'core.fsmonitor') {
      git(folder, 'status')
      expect(sprung()).toBe(true)
    }
  })

  it('has no program run that checks signatures', async () => {
    const folder = repository()
    const { program, sprung } = trap(folder)
    git(folder, 'config', 'gpg.program', program)
    git(folder, 'config', 'log.showSignature', 'true')
    const signature = ['-----BEGIN PGP SIGNATURE-----', '', 'x', '-----END PGP SIGNATURE-----'].join('\n ')
    const plain = execFileSync('git', ['cat-file', 'commit', 'HEAD'], { cwd: folder, encoding: 'utf8' })
    const input = plain.replace('\n\n', `\ngpgsig ${signature}\n\n`)
    const signed = execFileSync('git', ['hash-object', '-t', 'commit', '-w', '--stdin'], {
      cwd: folder,
      input,
    })
    git(folder, 'update-ref', 'HEAD', signed.toString().trim())
    expect(await readGitStatus(folder)).toMatch(/ First one$/)
    expect(sprung()).toBe(false)
    git(folder, 'log', '-1')
    expect(sprung()).toBe(true)
  })

  it('has no hook run, and its index not written', async () => {
    const folder = repository()
    const { program, sprung } = trap(folder)
    for (const hook of ['post-index-change', 'reference-transaction']) {
      symlinkSync(program, join(folder, '.git', 'hooks', hook))
    }
    utimesSync(join(folder, 'a.txt'), 1, 1)
    expect(await readGitStatus(folder)).toContain('Changed files: none')
    expect(sprung()).toBe(false)
    git(folder, 'status')
    expect(sprung()).toBe(true)
  })

  it('has no status taken inside its submodules', async () => {
    const folder = repository()
    const inner = join(folder, 'sub')
    mkdirSync(inner)
    git(inner, 'init', '-q', '-b', 'main')
    writeFileSync(join(inner, 'a.txt'), 'a\n')
    writeFileSync(join(inner, '.gitattributes'), '*.txt filter=evil\n')
    git(inner, 'add', '.')
    git(inner, 'commit', '-qm', 'x')
    git(folder, 'add', 'sub')
    git(folder, 'commit', '-qm', 'with sub')
    const { program, sprung } = trap(inner)
    git(inner, 'config', 'filter.evil.clean', program)
    touch(inner)
    expect(await readGitStatus(folder)).toContain('Changed files: none')
    expect(sprung()).toBe(false)
    git(folder, 'status')
    expect(sprung()).toBe(true)
  })

  it('cannot have the names of files above it listed', async () => {
    const above = temporaryFolder()
    writeFileSync(join(above, 'private'), '')
    const folder = join(above, 'repo')
    mkdirSync(folder)
    git(folder, 'init', '-q')
    git(folder, 'config', 'core.worktree', above)
    expect(await readGitStatus(folder)).toBeUndefined()
  })
})
