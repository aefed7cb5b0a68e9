/** Engines whose agents' commands run in a sandbox: what it holds, what it does not, and what becomes of runs without it. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import type { AgentDefinition } from '../../src/definitions/agent-definition.ts'
import { BUILT_IN_DEFINITIONS } from '../../src/definitions/built-in/index.ts'
import { systemClock } from '../../src/effects/clock.ts'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import { call, callMany, say } from '../../src/effects/model/scripted-reply.ts'
import { createLocalProcessRunner } from '../../src/effects/process/local-process-runner.ts'
import { readProcessTable, startedWith } from '../../src/effects/process/process-table.ts'
import { openProject } from '../../src/effects/project/open-project.ts'
import { standardTools } from '../../src/effects/tools/tool-table.ts'
import { noSandboxHere } from '../effects/sandbox/real-sandbox.ts'
import { git, repository, scratch, write } from '../effects/worktrees/world.ts'
import { testEngine } from '../helpers/engine.ts'
import { turnOf } from '../helpers/scripts.ts'

type Options = Parameters<typeof testEngine>[1]

const bash = (command: string, more: object = {}) => ({ name: 'Bash', input: { command, ...more } })

/** An engine with real processes and a sandbox. */
const boxed = (script: Parameters<typeof testEngine>[0], options: Options) =>
  testEngine(script, {
    clock: systemClock,
    processes: createLocalProcessRunner({ clock: systemClock }),
    tools: standardTools(),
    sandbox: {},
    ...options,
  })

const resultsOf = (facts: ReturnType<typeof boxed>['facts']): readonly string[] =>
  facts.flatMap(({ event }) => (event.type === 'call.ended' ? [JSON.stringify(event.result.content)] : []))

describe.skipIf(noSandboxHere !== undefined)('with a sandbox', () => {
  it('commands write in the working directory only, in the background, too; hooks are the person’s own', async () => {
    const [base, outside] = [scratch(), scratch()]
    const [home, cwd] = [path.join(base, 'home'), path.join(base, 'project')]
    mkdirSync(cwd)
    const hook = { type: 'command', command: `touch ${outside}/hook` }
    write(home, {
      '.claude/settings.json': JSON.stringify({
        sandbox: { enabled: true },
        hooks: { PreToolUse: [{ hooks: [hook] }] },
      }),
    })
    const { engine, facts } = boxed(
      (request: ModelRequest) => {
        if (turnOf(request) === 0)
          return callMany([
            bash(`touch in; touch ${outside}/front`),
            bash(`touch ${outside}/back; echo 1 > back`, { run_in_background: true }),
          ])
        return turnOf(request) === 1
          ? call('Bash', { command: 'until [ -s back ]; do sleep 0.05; done' })
          : say('done')
      },
      { cwd, project: await openProject({ cwd, home, env: {} }), home: path.join(base, '.troupe') },
    )
    expect((await engine.run('go').result).status).toBe('completed')
    await engine.close()
    expect([existsSync(path.join(cwd, 'in')), existsSync(path.join(cwd, 'back'))]).toEqual([true, true])
    expect(['hook', 'front', 'back'].filter((name) => existsSync(path.join(outside, name)))).toEqual(['hook'])
    expect(resultsOf(facts)[0]).toContain('Read-only file system')
  })

  it('a child in a worktree commits there, and cannot write to its caller’s tree', async () => {
    const root = repository()
    const maker: AgentDefinition = {
      agentType: 'maker',
      whenToUse: 'to make things',
      getSystemPrompt: () => 'You make things.',
      isolation: 'worktree',
      source: 'flagSettings',
    }
    const command = `echo 1 > ${root}/a.txt; echo 2 > a.txt && git -c user.name=n -c user.email=e commit -qam made`
    const { engine } = boxed(
      (request: ModelRequest) => {
        const isChild = String(request.system).includes('You make things.')
        if (turnOf(request) > 0) return say('done')
        return isChild
          ? call('Bash', { command })
          : call('Agent', { description: 'make', prompt: 'make', subagent_type: 'maker' })
      },
      { cwd: root, definitions: [...BUILT_IN_DEFINITIONS, maker] },
    )
    await engine.run('go').result
    await engine.close()
    expect(git(root, 'log', '--all', '--topo-order', '--format=%s')).toBe('made\nfirst')
    expect(readFileSync(path.join(root, 'a.txt'), 'utf8')).toBe('one\n')
  })

  it('permissions decide as without it: nothing is allowed because it would run inside', async () => {
    const cwd = scratch()
    const { engine, facts } = boxed(
      (request: ModelRequest) =>
        turnOf(request) === 0 ? call('Bash', { command: 'touch in' }) : say('done'),
      { cwd, permissions: { mode: 'default' } },
    )
    await engine.run('go').result
    await engine.close()
    expect(existsSync(path.join(cwd, 'in'))).toBe(false)
    expect(
      facts.filter(({ event }) => event.type === 'call.ended' && event.outcome === 'denied'),
    ).toHaveLength(1)
  })

  it('nothing of an agent is left when it is killed inside', async () => {
    const cwd = scratch()
    const { engine } = boxed(() => call('Bash', { command: "trap '' TERM; sleep 30 & sleep 30" }), {
      cwd,
      processes: createLocalProcessRunner({ clock: systemClock, graceMs: 50 }),
    })
    const run = engine.run('go')
    const agentId = await new Promise<string>((resolve) =>
      engine.events$.subscribe((event) => {
        if (event.kind === 'fact' && event.event.type === 'process.started') resolve(event.agentId)
      }),
    )
    await engine.kill(agentId)
    expect((await run.result).status).toBe('killed')
    const left = (readProcessTable() ?? []).filter(
      ({ pid, isDead }) => !isDead && startedWith(pid, 'TROUPE_CALL')?.startsWith(agentId),
    )
    expect(left).toEqual([])
    await engine.close()
  })

  it('a second engine with another network is refused until the first is closed', async () => {
    const script = (): ReturnType<typeof say> => say('done')
    const first = boxed(script, { cwd: scratch() })
    expect((await first.engine.run('go').result).status).toBe('completed')
    const sandbox = { network: { allowedDomains: ['example.org'] } }
    const second = boxed(script, { cwd: scratch(), sandbox, idsFrom: 1_000 })
    await expect(second.engine.run('go').result).rejects.toMatchObject({
      name: 'EngineError',
      code: 'sandbox-taken',
    })
    await first.engine.close()
    expect((await second.engine.run('go').result).status).toBe('completed')
    await second.engine.close()
  })
})

describe('without the sandbox that somebody wants', () => {
  it('no run begins, and no model is asked', async () => {
    const base = scratch()
    const cwd = path.join(base, 'project')
    write(base, { 'home/.claude/settings.json': '{"sandbox": {"enabled": "of course"}}' })
    mkdirSync(cwd)
    const project = await openProject({ cwd, home: path.join(base, 'home'), env: {} })
    const asked: ModelRequest[] = []
    const { engine, facts } = testEngine(
      (request: ModelRequest) => {
        asked.push(request)
        return say('done')
      },
      { cwd, project },
    )
    await expect(engine.run('go').result).rejects.toMatchObject({
      name: 'EngineError',
      code: 'sandbox-unreadable',
      message: expect.stringContaining(project.userSettingsFile),
    })
    await engine.close()
    expect([asked, facts]).toEqual([[], []])
  })

  it.each([
    ['sandbox.filesystem.denyWrite.0', { filesystem: { denyWrite: ['*.ts'] } }],
    ['sandbox.network.allowDomains', { network: { allowDomains: ['a.org'] } }],
  ])('an engine refuses options that it cannot read: %s', (name, sandbox) => {
    const options = { cwd: scratch(), ...Object({ sandbox }) }
    const make = () => testEngine(() => say('done'), options)
    expect(make).toThrow(
      expect.objectContaining({ code: 'bad-option', message: expect.stringContaining(name) }),
    )
  })
})
