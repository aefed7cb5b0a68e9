/** `--settings` and `--add-dir`: what they give, and that a wrong one is refused before anything is made. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { delegation } from './support/facts.ts'
import { createFakeHost } from './support/fake-host.ts'

const KEY = { ANTHROPIC_API_KEY: 'k' }
const write = (file: string, value: unknown): void => {
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value))
}

/** The project that the engine of a run is made with. */
async function projectOf(cwd: string, ...flags: string[]) {
  const fake = createFakeHost(['-p', 'x', ...flags], { env: KEY, cwd })
  const running = fake.run()
  ;(await fake.engine.asked()).end()
  expect(await running).toBe(0)
  return fake.engine.options?.project
}

async function refusalOf(cwd: string, ...line: string[]) {
  const { run, host, engine } = createFakeHost(line, { env: KEY, cwd })
  let stderr = ''
  host.stderr.write = (text) => {
    stderr += text
  }
  const code = await run()
  expect([code, engine.options]).toEqual([2, undefined])
  expect(stderr).toMatch(/^troupe: [^\n]+\n$/)
  return stderr
}

describe('--settings', () => {
  const mode = (defaultMode: string) => ({ permissions: { defaultMode } })

  it('is a file or a JSON text, and stronger than what stands in the project', async () => {
    const cwd = temporaryFolder()
    write(path.join(cwd, '.claude/settings.json'), mode('plan'))
    write(path.join(cwd, 'more/my.json'), mode('acceptEdits'))
    expect((await projectOf(cwd))?.permissions?.defaultMode).toBe('plan')
    for (const value of ['more/my.json', path.join(cwd, 'more/my.json'), JSON.stringify(mode('acceptEdits'))])
      expect((await projectOf(cwd, '--settings', value))?.permissions?.defaultMode).toBe('acceptEdits')
  })

  it('names the mode that a program reads at the start, unless a flag does', async () => {
    const line = ['-p', 'x', '--output-format', 'stream-json', '--settings', JSON.stringify(mode('plan'))]
    const modeIn = async (...more: string[]): Promise<unknown> => {
      const fake = createFakeHost([...line, ...more], { env: KEY, cwd: temporaryFolder() })
      const running = fake.run()
      const asked = await fake.engine.asked()
      fake.engine.publish(...delegation().facts)
      asked.end()
      await running
      return JSON.parse(fake.stdout.split('\n')[0] ?? '').permissionMode
    }
    expect(await modeIn()).toBe('plan')
    expect(await modeIn('--permission-mode', 'dontAsk')).toBe('dontAsk')
  })

  it('adds to the rules of other files, and takes none of them away', async () => {
    const cwd = temporaryFolder()
    write(path.join(cwd, '.claude/settings.json'), { permissions: { deny: ['Bash(rm:*)'] } })
    const project = await projectOf(cwd, '--settings', '{"permissions": {"allow": ["Bash(rm:*)"]}}')
    expect(project?.permissions?.deny).toHaveLength(1)
    expect(project?.permissions?.allow).toHaveLength(1)
  })

  it.each([
    ['is no JSON', '{"permissions":', /--settings, line 1, column 16: .*ends where a value is expected/],
    ['is not there', 'none.json', /--settings \/.*none\.json: There is no such file/],
    ['is a folder', '.', /it is a folder/],
    ['is no object', 'list.json', /list\.json, line 1.*must be a JSON object/],
    ['has a mode that is none', '{"permissions": {"defaultMode": "wild"}}', /"permissions.defaultMode"/],
    ['has a rule that is none', '{"permissions": {"deny": ["Bash("]}}', /its bracket is not closed/],
    ['is empty', ' ', /'--settings <file-or-json>' argument ' ' is invalid/],
  ])('that %s is refused in one line, before anything is made', async (_, value, why) => {
    const cwd = temporaryFolder()
    write(path.join(cwd, 'list.json'), '[]')
    expect(await refusalOf(cwd, '-p', 'x', '--settings', value)).toMatch(why)
    expect(await refusalOf(cwd, 'agents', 'list', '--settings', value)).toMatch(why)
  })

  it('that is in order is no reason to refuse what is broken elsewhere', async () => {
    const cwd = temporaryFolder()
    write(path.join(cwd, '.claude/settings.json'), '{')
    expect((await projectOf(cwd, '--settings', '{}'))?.diagnostics).toMatchObject([{ severity: 'error' }])
  })
})

describe('--add-dir', () => {
  it('gives further folders to work in, also in a project that nobody trusts', async () => {
    const root = temporaryFolder()
    for (const name of ['project', 'a', 'b', 'c']) mkdirSync(path.join(root, name))
    const cwd = path.join(root, 'project')
    const flags = ['--add-dir', '../a', path.join(root, 'b'), '--add-dir', '../c', '../a']
    expect((await projectOf(cwd, ...flags))?.directories).toEqual(
      ['a', 'b', 'c'].map((name) => path.join(root, name)),
    )
  })

  it.each([
    ['is not there', 'none', /--add-dir: there is no folder \/.*none\n/],
    [
      'is a prompt that stood behind the flag',
      'fix it',
      /a prompt stands in front of the flag, or behind --/,
    ],
    ['is a file', 'file', /file is a file; name its folder/],
  ])('that %s is refused, before a prompt is asked for', async (_, folder, why) => {
    const cwd = temporaryFolder()
    write(path.join(cwd, 'file'), '')
    expect(await refusalOf(cwd, '--add-dir', '.', folder)).toMatch(why)
    expect(await refusalOf(cwd, 'agents', 'list', '--add-dir', folder)).toMatch(why)
  })

  it.skipIf(process.getuid?.() === 0)('that cannot be read is refused', async () => {
    const cwd = temporaryFolder()
    mkdirSync(path.join(cwd, 'closed'))
    chmodSync(path.join(cwd, 'closed'), 0)
    expect(await refusalOf(cwd, '-p', 'x', '--add-dir', 'closed')).toMatch(/cannot be read/)
    chmodSync(path.join(cwd, 'closed'), 0o700)
  })
})
