/** An MCP server of an agent whose engine is killed with SIGKILL. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { createScriptedModel } from '../../src/effects/model/scripted.ts'
import { readProcessTable } from '../../src/effects/process/process-table.ts'
import { createEngine } from '../../src/engine/create-engine.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { CALLER, reply, SESSION } from './mcp/play.ts'

/** A process that nobody has waited for yet still has its pid, and runs no more. */
const isAlive = (pid: number): boolean =>
  readProcessTable()?.some((entry) => entry.pid === pid && !entry.isDead) === true

const itOnLinux = it.skipIf(process.platform !== 'linux')

itOnLinux(
  'the server of an agent is gone after SIGKILL of the engine and a resume, and a new one with its agent',
  async () => {
    const folder = temporaryFolder()
    const [home, cwd] = [path.join(folder, 'home'), path.join(folder, 'project')]
    mkdirSync(cwd)
    const worker = fileURLToPath(new URL('./mcp/worker.ts', import.meta.url))
    const killed = spawn(process.execPath, ['--import', 'tsx', worker, home, cwd], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [first] = await once(killed.stdout, 'data')
    const old = Number(String(first))
    expect(isAlive(old)).toBe(true)
    killed.kill('SIGKILL')
    await once(killed, 'exit')
    expect(isAlive(old)).toBe(true)

    const engine = createEngine({
      model: createScriptedModel(reply),
      definitions: [CALLER],
      home,
      cwd,
      permissions: { mode: 'bypassPermissions' },
    })
    const started: number[] = []
    engine.events$.subscribe((event) => {
      if (event.kind === 'fact' && event.event.type === 'server.started') started.push(event.event.pid)
    })
    const run = await engine.resume(SESSION)
    expect(isAlive(old)).toBe(false)
    expect((await run?.result)?.text).toBe('done')
    expect(started).toHaveLength(1)
    expect(started.filter(isAlive)).toEqual([])
    await engine.close()
  },
)
