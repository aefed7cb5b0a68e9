/** What settings say reaches those whom it is for: commands, hooks, file tools; of a project only when it is trusted. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/effects/clock.ts'
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

async function resultsOf({ home, cwd }: World, calls: Parameters<typeof callMany>[0], trust = false) {
  const project = await openProject({ cwd, home, env: {}, trust })
  const { engine, facts } = testEngine((request) => (turnOf(request) === 0 ? callMany(calls) : say('done')), {
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
