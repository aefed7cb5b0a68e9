/** What somebody names that is not what it should be: a line that says so, an exit code, and nothing is made. */
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { main } from '../../src/cli/run-cli.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { createFakeHost } from './support/fake-host.ts'
import { writeSession } from './support/written-session.ts'

const KEY = { ANTHROPIC_API_KEY: 'k' }

describe('a log that is none', () => {
  const inSession = async (line: readonly string[], make: (folder: string) => void) => {
    const written = writeSession()
    try {
      make(written.project)
      const fake = createFakeHost(line, { env: KEY, cwd: written.project, sessions: written.reader })
      const code = await main(fake.host)
      return { code, stdout: fake.stdout, stderr: fake.stderr, engine: fake.engine.options }
    } finally {
      written.remove()
    }
  }

  it.each([['log'], ['replay'], ['branch']])('%s says that it is a folder', async (command) => {
    const { code, stdout, stderr, engine } = await inSession([command, './logs'], (folder) =>
      mkdirSync(path.join(folder, 'logs')),
    )
    expect([code, stdout, engine]).toEqual([1, '', undefined])
    expect(stderr).toMatch(
      /^troupe: \/.*\/logs is a folder; name a log file in it, or the start of a session id\n$/,
    )
  })

  it.each([['log'], ['replay'], ['branch']])('%s says that it is another kind of file', async (command) => {
    const { code, stdout, stderr, engine } = await inSession([command, 'README.md'], (folder) =>
      writeFileSync(path.join(folder, 'README.md'), '# not a log\n'),
    )
    expect([code, stdout, engine]).toEqual([1, '', undefined])
    expect(stderr).toMatch(/^troupe: \/.*README\.md is no log: its first line is no JSON object\n$/)
  })

  it('is told line by line where its name says that it is one', async () => {
    const { code, stdout } = await inSession(['replay', 'a.jsonl'], (folder) =>
      writeFileSync(path.join(folder, 'a.jsonl'), '\0\0\0\n{"half'),
    )
    expect([code, stdout]).toEqual([0, expect.stringContaining('line 1 (byte 0)')])
  })
})

describe('a run', () => {
  const refused = async (line: readonly string[], env: Record<string, string> = {}) => {
    const cwd = temporaryFolder()
    writeFileSync(path.join(cwd, 'file'), '')
    const fake = createFakeHost(['-p', 'x', ...line], { env: { ...KEY, ...env }, cwd })
    const code = await main(fake.host)
    expect(fake.engine.options).toBeUndefined()
    expect(fake.stderr).toMatch(/^troupe: [^\n]+\n$/)
    return { code, stderr: fake.stderr }
  }

  it.each<[string[], RegExp]>([
    [['--agents', '{bad'], /--agents: The agents cannot be read/],
    [
      ['--mcp-config', 'none.json'],
      /^troupe: \/.*none\.json \(--mcp-config\) cannot be read: there is no such file/,
    ],
    [['--mcp-config', '{bad'], /--mcp-config, line 1, column 2: .*no MCP server was read/],
    [['--plugin-dir', 'none'], /--plugin-dir \/.*none: /],
  ])('does not begin with a flag that cannot be read: %j', async (line, why) => {
    const { code, stderr } = await refused(line)
    expect(code).toBe(2)
    expect(stderr).toMatch(why)
  })

  it('does not begin where no session can be kept', async () => {
    const { code, stderr } = await refused([], { TROUPE_HOME: 'file' })
    expect(code).toBe(1)
    expect(stderr).toMatch(/file, where sessions are kept, is no folder; set TROUPE_HOME to one/)
  })
})
