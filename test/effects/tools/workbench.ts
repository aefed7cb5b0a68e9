/** A temporary folder and a context to call tools in. */
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { systemClock } from '../../../src/effects/clock.ts'
import { createLocalProcessRunner } from '../../../src/effects/process/local-process-runner.ts'
import { createSeenFiles, type SeenFilesRecord } from '../../../src/effects/tools/seen-files.ts'
import type { Intent, Tool, ToolContext, ToolOutput } from '../../../src/effects/tools/tool.ts'
import { ToolRefusal } from '../../../src/effects/tools/tool-refusal.ts'
import { AgentId, callId } from '../../../src/machines/ids.ts'

export interface Workbench {
  readonly cwd: string
  /** A folder beside `cwd`: outside of it. */
  readonly outside: string
  readonly seen: SeenFilesRecord
  context(overrides?: Partial<ToolContext>): ToolContext
  /** Calls a tool as the engine does: intent first, what it has seen noted afterwards. */
  call<I>(tool: Tool<I>, input: I, overrides?: Partial<ToolContext>): Promise<ToolOutput>
  put(path: string, content: string | Buffer): Promise<string>
  get(path: string): Promise<string>
  names(): Promise<readonly string[]>
  dispose(): Promise<void>
}

export const AGENT = AgentId.parse('a00000000000000e1')

export async function createWorkbench(): Promise<Workbench> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'troupe-tools-')))
  const cwd = join(root, 'project')
  const outside = join(root, 'outside')
  await Promise.all([mkdir(cwd), mkdir(outside)])
  const seen = createSeenFiles()
  const processes = createLocalProcessRunner({ graceMs: 100 })
  const context = (overrides: Partial<ToolContext> = {}): ToolContext => ({
    agentId: AGENT,
    callId: callId(1, 2, 0),
    key: `${AGENT}:1.2.0`,
    cwd,
    signal: new AbortController().signal,
    clock: systemClock,
    processes,
    seen,
    intent: undefined,
    isRepeat: false,
    ...overrides,
  })
  return {
    cwd,
    outside,
    seen,
    context,
    async call(tool, input, overrides) {
      const before = context(overrides)
      let intent: Intent | undefined
      try {
        intent = await tool.intend?.(input, before)
      } catch (error) {
        if (ToolRefusal.is(error)) return { content: error.message, isError: true }
        throw error
      }
      const output = await tool.run(input, { ...before, intent })
      seen.note(output.files ?? [])
      return output
    },
    async put(path, content) {
      const absolute = join(cwd, path)
      await mkdir(dirname(absolute), { recursive: true })
      await writeFile(absolute, content)
      return absolute
    },
    get: (path) => readFile(join(cwd, path), 'utf8'),
    names: async () => (await readdir(cwd, { recursive: true })).sort(),
    dispose: () => rm(root, { recursive: true, force: true }),
  }
}
