/** Servers that are real processes. */
import { createRequire } from 'node:module'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import type { McpServerConfig } from '../../../src/definitions/mcp-server-config.ts'
import { createLocalProcessRunner } from '../../../src/effects/process/local-process-runner.ts'
import { readProcess, startedWith } from '../../../src/effects/process/process-table.ts'
import { runsStill } from '../../helpers/real-processes.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import { createVirtualClock } from '../../helpers/virtual-clock.ts'
import { bareServer, callTool, OWNER, testClients } from './support/clients.ts'

const everything = path.join(
  path.dirname(
    createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/package.json'),
  ),
  'dist/index.js',
)
const everythingServer: McpServerConfig = {
  type: 'stdio',
  command: process.execPath,
  args: [everything],
  env: {},
}

describe('the reference server', () => {
  it('is started when it is first used, lists its tools, answers, and is gone after close', async () => {
    const clients = testClients({ everything: everythingServer })
    expect(clients.statusOf('everything')).toEqual({ state: 'pending' })
    expect(clients.toolsOf('everything')).toEqual([])

    await clients.start()
    const tools = clients.toolsOf('everything')
    expect(clients.statusOf('everything')).toEqual({ state: 'ready', tools: tools.length })
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['mcp__everything__echo', 'mcp__everything__get-sum']),
    )
    expect(tools.find(({ name }) => name === 'mcp__everything__echo')?.jsonSchema).toMatchObject({
      type: 'object',
      properties: { message: { type: 'string' } },
      required: ['message'],
    })
    expect((await callTool(tools, 'mcp__everything__echo', { message: 'hello' })).content).toBe('Echo: hello')
    expect((await callTool(tools, 'mcp__everything__get-sum', { a: 2, b: 3 })).content).toContain('5')
    expect((await callTool(tools, 'mcp__everything__get-tiny-image')).content).toContainEqual(
      expect.objectContaining({ type: 'image' }),
    )
    const [process_] = clients.processes
    expect(process_?.startTime).toBe(readProcess(process_?.pid ?? 0)?.startTime)

    await clients.close()
    expect(runsStill(process_?.pid ?? 0)).toBe(false)
    expect(clients.statusOf('everything')).toEqual({ state: 'closed' })
    // It lists one more when it has heard that there are roots.
    expect([...new Set(clients.story)]).toEqual([
      'everything is about to start',
      'everything started',
      'everything has tools',
      'everything ended',
    ])
  })

  it('that dies in the middle of a call gives a tool error, and is back for the next call', async () => {
    const clients = testClients({ everything: everythingServer })
    await clients.start()
    const tools = clients.toolsOf('everything')
    const call = callTool(tools, 'mcp__everything__trigger-long-running-operation', {
      duration: 60,
      steps: 2,
    })
    // The call is on its way once another one, sent after it, is answered.
    await callTool(tools, 'mcp__everything__echo', { message: 'x' })
    process.kill(-(clients.processes[0]?.pid ?? 0), 'SIGKILL')
    expect(await call).toEqual({
      isError: true,
      content: expect.stringMatching(/MCP server everything could not do .*its process ended by SIGKILL/),
    })
    expect(clients.statusOf('everything')).toMatchObject({ state: 'failed' })
    expect(clients.diagnostics.map(({ code }) => code)).toContain('mcp-server-failed')

    expect((await callTool(tools, 'mcp__everything__echo', { message: 'again' })).content).toBe('Echo: again')
    expect(clients.processes).toHaveLength(2)
  })
})

describe('the process of a server', () => {
  it('has a group of its own, its mark, its own variables, and no withheld secret', async () => {
    const config = { ...bareServer('with-child'), env: { OWN: 'yes', TOKEN: 'its own' } }
    const clients = testClients(
      { bare: config },
      { env: { PATH: process.env['PATH'], TOKEN: 'inherited', SECRET: 'secret' }, withheldEnv: ['SECRET'] },
    )
    await clients.start()
    const [started] = clients.processes
    expect(started).toMatchObject({ owner: OWNER, server: 'bare', mark: `${OWNER}/mcp:bare` })
    const output = await callTool(clients.toolsOf('bare'), 'mcp__bare__env')
    expect(JSON.parse(String(output.content))).toEqual({
      PATH: process.env['PATH'],
      OWN: 'yes',
      TOKEN: 'its own',
      TROUPE_CALL: `${OWNER}/mcp:bare`,
    })
    expect(readProcess(started?.pid ?? 0)?.group).toBe(started?.pid)
    expect(startedWith(started?.pid ?? 0, 'TROUPE_CALL')).toBe(`${OWNER}/mcp:bare`)
  })

  it('is ended with its children, though it ignores TERM and the end of its input', async () => {
    const clients = testClients({ bare: bareServer('ignore-term', 'with-child') })
    await clients.start()
    const group = clients.processes[0]?.pid ?? 0
    expect(runsStill(group)).toBe(true)
    await clients.close()
    expect(runsStill(group)).toBe(false)
  })

  it('that survived an engine is found by its mark and ended by a resume', async () => {
    const clients = testClients({ bare: bareServer('mute') }, { connectTimeoutMs: 60_000 })
    void clients.start()
    await clients.hasStarted()
    const [started] = clients.processes
    expect(await createLocalProcessRunner({ graceMs: 100 }).endSurvivors([], [OWNER])).toBe(1)
    expect(runsStill(started?.pid ?? 0)).toBe(false)
  })

  it('is ended when nobody could record it', async () => {
    let pid = 0
    const clients = testClients(
      { bare: bareServer() },
      {
        onStarted: (started) => {
          pid = started.pid
          throw new Error('the disk is full')
        },
      },
    )
    await clients.start()
    expect(clients.statusOf('bare')).toMatchObject({ state: 'failed', reason: 'the disk is full' })
    expect(pid).toBeGreaterThan(0)
    expect(runsStill(pid)).toBe(false)
  })

  it('runs in the folder that its description names', async () => {
    const folder = temporaryFolder()
    const clients = testClients({ bare: { ...bareServer(), cwd: 'nowhere' } }, { cwd: folder })
    await clients.start()
    expect(clients.statusOf('bare')).toMatchObject({
      reason: `its working directory ${folder}/nowhere does not exist`,
    })
  })
})

describe('a server that fails', () => {
  it('to answer initialize is failed after the time limit, and gone', async () => {
    const clock = createVirtualClock()
    const clients = testClients({ bare: bareServer('mute') }, { clock, connectTimeoutMs: 30_000 })
    const started = clients.start()
    await clients.hasStarted()
    clock.advance(29_999)
    expect(clients.statusOf('bare')).toEqual({ state: 'pending' })
    clock.advance(1)
    await started
    expect(clients.statusOf('bare')).toMatchObject({
      state: 'failed',
      reason: 'it did not answer within 30 s',
    })
    expect(runsStill(clients.processes[0]?.pid ?? 0)).toBe(false)
    expect(clock.pending).toBe(0)
  })

  it.each([
    {
      what: 'exits at once',
      config: bareServer('die-at-once'),
      why: /process ended with code 3; .*no licence found/,
    },
    {
      what: 'is not installed',
      config: { ...bareServer(), command: 'no-such-command-of-mine' },
      why: /the command no-such-command-of-mine was not found/,
    },
  ])('because it $what says why', async ({ config, why }) => {
    const clients = testClients({ bare: config })
    await clients.start()
    expect(clients.statusOf('bare')).toMatchObject({ state: 'failed', reason: expect.stringMatching(why) })
    expect(clients.story.at(-1)).toBe('bare ended')
  })

  it('is not waited for when it is closed while it starts', async () => {
    const clients = testClients({ bare: bareServer('mute') })
    const started = clients.start()
    await clients.hasStarted()
    await clients.close()
    await started
    expect(clients.statusOf('bare')).toEqual({ state: 'closed' })
    expect(runsStill(clients.processes[0]?.pid ?? 0)).toBe(false)
  })
})

describe('a call', () => {
  it('gets past what a server writes that is no message', async () => {
    const clients = testClients({ bare: bareServer('greet') })
    await clients.start()
    expect((await callTool(clients.toolsOf('bare'), 'mcp__bare__echo', { message: 'hi' })).content).toBe('hi')
  })

  it.each([
    { tool: 'die', why: /its process ended with code 7/ },
    { tool: 'garbage', why: /its answer is no JSON-RPC answer/ },
    { tool: 'nonsense', why: /its answer is not what the protocol wants \(content:/ },
    { tool: 'refuse', why: /not like this/ },
    { tool: 'endless', why: /it wrote a message of more than 1000000 bytes/ },
  ])('of $tool is a tool error that names the server', async ({ tool, why }) => {
    const clients = testClients({ bare: bareServer() }, { maxMessageBytes: 1_000_000 })
    await clients.start()
    const output = await callTool(clients.toolsOf('bare'), `mcp__bare__${tool}`)
    expect(output.isError).toBe(true)
    expect(output.content).toMatch(/^The MCP server bare could not do /)
    expect(output.content).toMatch(why)
  })

  it('that is aborted is cancelled at the server, which goes on', async () => {
    const clients = testClients({ bare: bareServer() })
    await clients.start()
    const abort = new AbortController()
    const call = callTool(clients.toolsOf('bare'), 'mcp__bare__hang', {}, { signal: abort.signal })
    abort.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
    expect((await callTool(clients.toolsOf('bare'), 'mcp__bare__echo', { message: 'hi' })).content).toBe('hi')
    // What it heard of the cancelling is at the end of its error output.
    const last = await callTool(clients.toolsOf('bare'), 'mcp__bare__die')
    expect(last.content).toMatch(/cancelled 2/)
  })
})
