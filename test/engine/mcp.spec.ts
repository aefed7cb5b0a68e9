/** MCP servers in the life of agents: real servers, real processes, the logs in memory. */
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { AgentDefinition } from '../../src/definitions/agent-definition.ts'
import { BUILT_IN_DEFINITIONS } from '../../src/definitions/built-in/index.ts'
import type { McpServerConfig } from '../../src/definitions/mcp-server-config.ts'
import { systemClock } from '../../src/effects/clock.ts'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import type { ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { call, say } from '../../src/effects/model/scripted-reply.ts'
import { createLocalProcessRunner } from '../../src/effects/process/local-process-runner.ts'
import type { Fact } from '../helpers/engine.ts'
import { testEngine } from '../helpers/engine.ts'
import { turnOf } from '../helpers/scripts.ts'

const SESSION = '33333333-3333-4333-8333-333333333333'

const EVERYTHING: McpServerConfig = {
  type: 'stdio',
  command: process.execPath,
  args: [
    path.join(
      path.dirname(
        createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/package.json'),
      ),
      'dist/index.js',
    ),
    'stdio',
  ],
  env: {},
}

/** Ignores the end of its input and TERM. */
const STUBBORN: McpServerConfig = {
  type: 'stdio',
  command: process.execPath,
  args: [fileURLToPath(new URL('../effects/mcp/support/bare-server.mjs', import.meta.url)), 'ignore-term'],
  env: {},
}

const withServer = (config: McpServerConfig): AgentDefinition => ({
  agentType: 'caller',
  whenToUse: 'to call',
  getSystemPrompt: () => 'You call.',
  tools: [],
  mcpServers: [{ name: 'own', config }],
  source: 'policySettings',
})

type Script = (request: ModelRequest, turn: number) => ScriptedReply

function world(script: Script, options: Parameters<typeof testEngine>[1] = {}) {
  return testEngine((request) => script(request, turnOf(request)), {
    clock: systemClock,
    processes: createLocalProcessRunner({ clock: systemClock, withheldEnv: [], graceMs: 100 }),
    ...options,
  })
}

const delegate =
  (child: Script): Script =>
  (request, turn) => {
    if (request.source !== 'main') return child(request, turn)
    if (turn > 0) return say('done')
    return call('Agent', { description: 'call it', prompt: 'call it', subagent_type: 'caller' })
  }

const pidsOf = (facts: readonly Fact[]): number[] =>
  facts.flatMap(({ event }) => (event.type === 'server.started' ? event.pid : []))

const isAlive = (pid: number | undefined): boolean => {
  if (pid === undefined) return false
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

const resultsOf = (facts: readonly Fact[]): string[] =>
  facts.flatMap(({ event }) => (event.type === 'call.ended' ? JSON.stringify(event.result.content) : []))

describe('a server that an agent brings along', () => {
  it('gives it its tools, and is gone when the agent has ended', async () => {
    const { engine, facts } = world(
      delegate((request, turn) => {
        expect(request.tools.map(({ name }) => name)).toContain('mcp__own__echo')
        return turn === 0 ? call('mcp__own__echo', { message: 'hello there' }) : say('report')
      }),
      { definitions: [withServer(EVERYTHING)] },
    )
    const alive: boolean[] = []
    engine.events$.subscribe((event) => {
      if (event.kind !== 'fact') return
      if (event.event.type === 'call.ended' || event.event.type === 'agent.ended')
        alive.push(isAlive(pidsOf(facts)[0]))
    })
    expect((await engine.run('go').result).text).toBe('done')
    await engine.close()
    expect(resultsOf(facts)[0]).toContain('hello there')
    const types = facts.map(({ event }) => event.type)
    expect(types.indexOf('servers.requested')).toBeLessThan(types.indexOf('server.started'))
    // During its call, at its own end, at the end of the parent's call, at the parent's end.
    expect(alive).toEqual([true, false, false, false])
  })

  it('that cannot be started leaves the agent without it, and is told', async () => {
    const { engine, events, facts } = world(
      delegate((_, turn) => (turn === 0 ? call('mcp__own__echo', {}) : say('report'))),
      { definitions: [withServer({ type: 'stdio', command: '/no/such/program', args: [], env: {} })] },
    )
    expect((await engine.run('go').result).status).toBe('completed')
    await engine.close()
    expect(events).toContainEqual(expect.objectContaining({ kind: 'diagnostic', code: 'mcp-server-failed' }))
    expect(resultsOf(facts)[0]).toContain('There is no tool mcp__own__echo')
  })

  it('is ended when its agent is killed while it waits for a call', async () => {
    const { engine, facts } = world(
      delegate((_, turn) => (turn === 0 ? call('mcp__own__hang', {}) : say('report'))),
      { definitions: [withServer(STUBBORN)] },
    )
    const run = engine.run('go')
    await new Promise<void>((resolve) => {
      engine.events$.subscribe((event) => {
        if (event.kind === 'fact' && event.event.type === 'call.started' && event.event.child === undefined)
          resolve()
      })
    })
    const [pid] = pidsOf(facts)
    expect(isAlive(pid)).toBe(true)
    await engine.kill(await run.started)
    expect(isAlive(pid)).toBe(false)
    await engine.close()
  })

  it('that survives the death of its engine is ended by the resume, and started anew', async () => {
    const one = world(
      delegate((_, turn) => (turn === 0 ? call('mcp__own__hang', {}) : say('never'))),
      { definitions: [withServer(STUBBORN)] },
    )
    one.engine.run('go', { sessionId: SESSION }).result.catch(() => {})
    await new Promise<void>((resolve) => {
      one.engine.events$.subscribe((event) => {
        if (event.kind === 'fact' && event.event.type === 'call.started' && event.event.child === undefined)
          resolve()
      })
    })
    const [old] = pidsOf(one.facts)
    const disk = one.storage.crash()
    const two = world(
      delegate((_, turn) => (turn === 1 ? call('mcp__own__echo', { message: 'again' }) : say('report'))),
      { definitions: [withServer(STUBBORN)], storage: disk, idsFrom: 100_000 },
    )
    const result = await (await two.engine.resume(SESSION))?.result
    expect(isAlive(old)).toBe(false)
    expect(result?.text).toBe('done')
    expect(resultsOf(two.facts).join()).toContain('again')
    await two.engine.close()
    expect(pidsOf(two.facts).filter(isAlive)).toEqual([])
    await one.engine.close()
  })
})

describe('a server that all share', () => {
  it('lives as long as its session, over runs and agents', async () => {
    const { engine, facts } = world(
      (request, turn) => {
        const { length } = request.messages
        return length % 4 === 1 ? call('mcp__all__echo', { message: `turn ${turn}` }) : say('done')
      },
      { mcpServers: { all: EVERYTHING } },
    )
    await engine.run('one', { sessionId: SESSION }).result
    const [pid] = pidsOf(facts)
    expect(isAlive(pid)).toBe(true)
    await engine.run('two', { sessionId: SESSION }).result
    expect(resultsOf(facts)).toHaveLength(2)
    expect(pidsOf(facts)).toEqual([pid])
    await engine.close()
    expect(isAlive(pid)).toBe(false)
  })

  it('approves nothing by what it says of its tools', async () => {
    const { engine, facts } = world(
      (_, turn) => (turn === 0 ? call('mcp__all__echo', { message: 'x' }) : say('')),
      {
        mcpServers: { all: EVERYTHING },
        permissions: { mode: 'default' },
      },
    )
    await engine.run('go').result
    await engine.close()
    expect(facts.map(({ event }) => event)).toContainEqual(
      expect.objectContaining({ type: 'call.ended', outcome: 'denied' }),
    )
  })
})

describe('a type that needs a server', () => {
  const needy: AgentDefinition = {
    ...withServer(EVERYTHING),
    mcpServers: [],
    requiredMcpServers: ['every'],
  }

  it('is started when the server is there', async () => {
    const { engine, facts } = world(
      delegate(() => say('report')),
      { definitions: [needy], mcpServers: { everything: EVERYTHING } },
    )
    await engine.run('go').result
    await engine.close()
    expect(resultsOf(facts)[0]).toContain('report')
  })

  it('is refused, with what is missing, when it is not', async () => {
    const { engine, facts } = world(
      delegate(() => say('report')),
      { definitions: [...BUILT_IN_DEFINITIONS, needy], mcpServers: { other: EVERYTHING } },
    )
    await engine.run('go').result
    await engine.close()
    expect(resultsOf(facts)[0]).toContain('needs MCP servers that are not ready: every')
  })
})
