/**
 * What an agent works with and a process has to begin with: MCP servers, its memory, commands in the background, and
 * the tools that follow from them. Gone with the end of each run, and got again with the next.
 */
import type { ShellTable } from '../effects/process/shell-table.ts'
import { createShellTable } from '../effects/process/shell-table.ts'
import type { ProjectMemory } from '../effects/project/project.ts'
import type { Agent } from './agent.ts'
import { AgentServers } from './agent-servers.ts'
import type { EngineCore } from './core.ts'
import { MovableCalls } from './movable-calls.ts'
import type { ResolvedPool } from './render.ts'
import { poolOf } from './render.ts'

export class AgentEquipment {
  readonly servers: AgentServers
  /** What the agent remembers; undefined without a memory, and before it is got. */
  memory: ProjectMemory | undefined
  /** Calls that can be made to go on behind it. */
  readonly movable = new MovableCalls()
  readonly #core: EngineCore
  readonly #agent: Agent
  #isComplete = false
  #pool: ResolvedPool | undefined
  #shells: ShellTable | undefined
  #hasStartedProcesses = false

  constructor(core: EngineCore, agent: Agent) {
    this.#core = core
    this.#agent = agent
    this.servers = new AgentServers(agent, core)
  }

  /**
   * Gets what is missing. At once when the agent has it all, or needs none. Rejects with the reason of the signal, which
   * is only asked for when there is something to wait for.
   */
  open(signal: () => AbortSignal): Promise<void> | undefined {
    const isWanted = this.#agent.definition?.memory !== undefined || this.servers.isWanted
    return this.#isComplete || !isWanted ? undefined : this.#open(signal())
  }

  async #open(signal: AbortSignal): Promise<void> {
    const { definition } = this.#agent
    if (this.servers.isWanted) await this.servers.open(signal)
    if (definition?.memory !== undefined) {
      this.memory = await this.#core.project?.memory(definition.memory, definition.agentType)
    }
    this.#isComplete = true
  }

  /** The agent's tools, and what its definition says of their calls. */
  get pool(): ResolvedPool {
    this.#pool ??= poolOf(this.#core, this.#agent)
    return this.#pool
  }

  /** Commands that run on behind its calls. */
  get shells(): ShellTable {
    this.#shells ??= createShellTable({ clock: this.#core.clock })
    return this.#shells
  }

  /** A call is about to start a process: also one whose record comes too late for the log is ended with the agent. */
  noteProcess(): void {
    this.#hasStartedProcesses = true
  }

  /** Places besides its working directory that it may write in: its memory, or the one file that is its work. */
  get writableRoots(): readonly string[] {
    const isSettingsEditor = this.#agent.definition?.editsUserSettings === true
    const settings = isSettingsEditor ? this.#core.project?.userSettingsFile : undefined
    return [this.memory?.writableRoot, settings].filter((place) => place !== undefined)
  }

  /** Lets go of it all: no process of it runs any more when this resolves. */
  async close(): Promise<void> {
    this.#isComplete = false
    // Servers and skills may be others with the next run.
    this.#pool = undefined
    await this.#shells?.endAll()
    await this.servers.close()
    // A command can leave its process group, and a body can be given up before its command has ended: whatever is left
    // carries the agent's mark.
    if (this.#hasStartedProcesses || this.#agent.hasRunProcesses)
      await this.#core.processes.endSurvivors([], [this.#agent.id])
    this.#hasStartedProcesses = false
  }
}
