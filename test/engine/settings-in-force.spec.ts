/** What settings say reaches those whom it is for: commands, hooks, file tools; of a project only when it is trusted. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/effects/clock.ts'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import { callMany, say } from '../../src/effects/model/scripted-reply.ts'
import { createLocalProcessRunner } from '../../src/effects/process/local-process-runner.ts'
import { openProject } from '../../src/effects/project/open-project.ts'
import { standardTools } from '../../src/effects/tools/tool-table.ts'
import { testEngine } from '../helpers/engine.ts'
import { turnOf } from '../helpers/scripts.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

interface World {
  readonly home: string
  readonly cwd: string
  readonly other: string
}

function worldOf(): World {
  const root = temporaryFolder()
  const world = {
    home: path.join(root, 'home'),
    cwd: path.join(root, 'project'),
    other: path.join(root, 'other'),
  }
  for (const folder of Object.values(world)) mkdirSync(path.join(folder, '.claude'), { recursive: true })
  return world
}

const settings = (folder: string, value: unknown): void =>
  writeFileSync(path.join(folder, '.claude/settings.json'), JSON.stringify(value))

type Calls = Parameters<typeof callMany>[0]

async function resultsOf({ home, cwd }: World, calls: Calls, trust = false, ofChild: Calls = calls) {
  const project = await openProject({ cwd, home, env: {}, trust })
  const script = (request: ModelRequest) =>
    turnOf(request) === 0 ? callMany(request.source === 'main' ? calls : ofChild) : say('done')
  const { engine, facts } = testEngine(script, {
    cwd,
    project,
    tools: standardTools(),
    clock: systemClock,
    processes: createLocalProcessRunner(),
    permissions: { mode: 'acceptEdits', allow: ['Bash(echo:*)', 'Bash(env:*)'] },
  })
  await engine.run('go').result
  await engine.close()
  const results = facts.flatMap(({ event }) =>
    event.type === 'call.ended'
      ? [{ outcome: event.outcome, text: JSON.stringify(event.result.content) }]
      : [],
  )
  return { results, diagnostics: project.diagnostics }
}

const tellsEnv = { name: 'Bash', input: { command: 'echo "<$GREETING>"', description: 'tell' } }

describe('variables of settings', () => {
  it('reach commands and hooks', async () => {
    const world = worldOf()
    const seen = path.join(world.cwd, 'seen')
    settings(world.home, {
      env: { GREETING: 'hello' },
      hooks: { PreToolUse: [{ hooks: [{ type: 'command', command: `printf "$GREETING" > ${seen}` }] }] },
    })
    const { results } = await resultsOf(world, [tellsEnv])
    expect(results).toMatchObject([{ outcome: 'ok', text: expect.stringContaining('<hello>') }])
    expect(readFileSync(seen, 'utf8')).toBe('hello')
  })

  it('of a project are there only when it is trusted, and it is told', async () => {
    const world = worldOf()
    settings(world.cwd, { env: { GREETING: 'from the project' } })
    const { results, diagnostics } = await resultsOf(world, [tellsEnv])
    expect(results[0]?.text).toContain('<>')
    expect(diagnostics).toContainEqual(expect.objectContaining({ code: 'project-not-trusted' }))
    expect((await resultsOf(world, [tellsEnv], true)).results[0]?.text).toContain('<from the project>')
  })

  it('that are withheld reach nobody', async () => {
    const world = worldOf()
    settings(world.home, { env: { ANTHROPIC_API_KEY: 'k-12345678' } })
    const call = { name: 'Bash', input: { command: 'echo "<$ANTHROPIC_API_KEY>"', description: 'tell' } }
    expect((await resultsOf(world, [call])).results[0]?.text).toContain('<>')
  })
})

const BARE_SERVER = fileURLToPath(new URL('../effects/mcp/support/bare-server.mjs', import.meta.url))

/** What stands for a variable in the description of a server. */
const variable = (name: string): string => `$\{${name}}`

describe('variables of settings and MCP servers', () => {
  /** What a server of `mcpServers` in the person's settings finds in its environment, and in `args`. */
  const askServer = async (world: World, more: object, args: readonly string[] = []) => {
    const server = { command: process.execPath, args: [BARE_SERVER, ...args] }
    settings(world.home, { permissions: { allow: ['mcp__bare'] }, mcpServers: { bare: server }, ...more })
    const calls = ['env', 'argv'].map((name) => ({ name: `mcp__bare__${name}`, input: {} }))
    const { results } = await resultsOf(world, calls)
    return { env: results[0]?.text, argv: results[1]?.text }
  }

  it('are inherited by a server, and stand for what its description names', async () => {
    const { env, argv } = await askServer(worldOf(), { env: { GREETING: 'hello' } }, [
      `${variable('GREETING')}-there`,
    ])
    expect(env).toMatch(/GREETING[\\":]+hello/)
    expect(argv).toContain('hello-there')
  })

  it('stand for what an agent’s own server names', async () => {
    const world = worldOf()
    settings(world.home, { permissions: { allow: ['mcp__own'] }, env: { GREETING: 'hello' } })
    const own = { own: { command: process.execPath, args: [BARE_SERVER, `${variable('GREETING')}-there`] } }
    const keys = ['name: asker', 'description: asks', `mcpServers: [${JSON.stringify(own)}]`]
    mkdirSync(path.join(world.home, '.claude/agents'))
    writeFileSync(
      path.join(world.home, '.claude/agents/asker.md'),
      `---\n${keys.join('\n')}\n---\nYou ask.\n`,
    )
    const input = { description: 'ask it', prompt: 'ask it', subagent_type: 'asker' }
    const { results } = await resultsOf(world, [{ name: 'Agent', input }], false, [
      { name: 'mcp__own__argv', input: {} },
    ])
    expect(results[0]?.text).toContain('hello-there')
  })

  it('that are secrets reach the server and nobody who reads its answer', async () => {
    const { env, argv } = await askServer(
      worldOf(),
      { env: { TOKEN_OF_SHOP: 'sesame-0123456789' }, secrets: ['TOKEN_OF_SHOP'] },
      [`--token=${variable('TOKEN_OF_SHOP')}`],
    )
    expect(env).toContain('TOKEN_OF_SHOP')
    expect(argv).toContain('--token=[secret TOKEN_OF_SHOP]')
    expect(`${env}${argv}`).not.toContain('sesame')
  })

  it('that are withheld do not reach a server', async () => {
    const { env } = await askServer(worldOf(), { env: { ANTHROPIC_AUTH_TOKEN: 'k-12345678' } })
    expect(env).toContain('PATH')
    expect(env).not.toContain('ANTHROPIC_AUTH_TOKEN')
  })
})

describe('further folders of settings', () => {
  const writes = ({ other }: World, name = 'a') => ({
    name: 'Write',
    input: { file_path: path.join(other, name), content: 'x' },
  })

  it('are working directories: edits there pass as in the first', async () => {
    const world = worldOf()
    expect((await resultsOf(world, [writes(world)])).results).toMatchObject([{ outcome: 'denied' }])
    settings(world.home, { permissions: { additionalDirectories: [world.other] } })
    const calls = [writes(world), { name: 'Read', input: { file_path: path.join(world.other, 'a') } }]
    expect((await resultsOf(world, calls)).results).toMatchObject([{ outcome: 'ok' }, { outcome: 'ok' }])
    expect(readFileSync(path.join(world.other, 'a'), 'utf8')).toBe('x')
  })

  it('hold files that are never edited unasked, as everywhere', async () => {
    const world = worldOf()
    settings(world.home, { permissions: { additionalDirectories: [world.other] } })
    const { results } = await resultsOf(world, [writes(world, '.claude/settings.json')])
    expect(results).toMatchObject([{ outcome: 'denied' }])
  })

  it('of a project are none until it is trusted; one that is not there is told', async () => {
    const world = worldOf()
    settings(world.cwd, { permissions: { additionalDirectories: [world.other, '/nowhere/at/all'] } })
    const distrusted = await resultsOf(world, [writes(world)])
    expect(distrusted.results).toMatchObject([{ outcome: 'denied' }])
    const trusted = await resultsOf(world, [writes(world)], true)
    expect(trusted.results).toMatchObject([{ outcome: 'ok' }])
    expect(trusted.diagnostics).toContainEqual(
      expect.objectContaining({ code: 'settings-not-honoured', file: '/nowhere/at/all' }),
    )
  })
})
