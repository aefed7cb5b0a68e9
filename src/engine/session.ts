/**
 * A session: a root agent and its descendants, one folder of logs, one lock.
 *
 * Owns: which agents are live, how they are born, brought back and let go.
 * Does not own: what an agent does (its machine and effects), when a session is opened (the engine).
 */
import type { AgentDefinition } from '../definitions/agent-definition.ts'
import type { AgentInput } from '../definitions/agent-tool.ts'
import { forkDirective } from '../definitions/built-in/fork.ts'
import type { Limits } from '../definitions/limits.ts'
import type { McpServerFact } from '../definitions/mcp-requirement.ts'
import type { PermissionRule } from '../definitions/permissions/rule.ts'
import { parseRules } from '../definitions/permissions/rule.ts'
import type { SpawnPlan as RoutedPlan, SpawnRefusal, SpawnSituation } from '../definitions/routing.ts'
import { routeSpawn, spawnableDefinitions } from '../definitions/routing.ts'
import type { McpClients } from '../effects/mcp/mcp-clients.ts'
import { writeAgentMeta } from '../journal/agent-meta.ts'
import type { BlobStore } from '../journal/blob-store.ts'
import { createBlobStore } from '../journal/blob-store.ts'
import type { SessionPaths } from '../journal/paths.ts'
import type { SessionLock } from '../journal/session-lock.ts'
import type { AgentEventOf, Origin, RunKey, SpawnPlan } from '../machines/agent/events.ts'
import { MACHINE_VERSION } from '../machines/agent/events.ts'
import type { PromptContent } from '../machines/agent/messages.ts'
import { isAmong, withoutRuns } from '../machines/agent/run-key.ts'
import type { AgentId, CallId, SessionId } from '../machines/ids.ts'
import type { EndedRun } from './agent.ts'
import { Agent } from './agent.ts'
import { SessionBudget } from './budget.ts'
import type { EngineCore } from './core.ts'
import { Suspended } from './effects/suspended.ts'
import { EndHosts } from './end-hosts.ts'
import { SessionEnds } from './ends.ts'
import type { EngineDiagnosticCode } from './errors.ts'
import { EngineClosedError, EngineError, messageOf } from './errors.ts'
import { GivenUp } from './given-up.ts'
import { inheritance } from './inherit.ts'
import type { Posted } from './mailbox.ts'
import { reviveAgent } from './revive.ts'
import { SessionDefinitions } from './session-definitions.ts'
import { openSessionMcp } from './session-mcp.ts'
import { SessionNames } from './session-names.ts'
import { SessionPrompts } from './session-prompts.ts'
import { SpawnCount } from './spawn-count.ts'
import { VERSION } from './version.ts'
import { wake } from './wake.ts'

/** Where a child comes from: the call that asked for it. */
export interface SpawnCall {
  readonly callId: CallId
  readonly toolUseId: string
  readonly prompt: string
}

/** How a run begins, besides its prompt. */
export interface StartOptions extends Partial<Pick<AgentEventOf<'run.started'>, 'tells' | 'injects'>> {
  readonly maxTurns?: number | undefined
  readonly from?: Agent | 'engine' | undefined
  /** Nobody waits for it. */
  readonly background?: boolean | undefined
  /** It does not wait for its agents in the background. */
  readonly leavesChildren?: boolean | undefined
}

export class Session {
  readonly id: SessionId
  readonly paths: SessionPaths
  readonly version = VERSION
  readonly blobs: BlobStore
  readonly definitions: SessionDefinitions
  readonly prompts: SessionPrompts
  readonly hosts: EndHosts
  readonly names: SessionNames
  /** Ends of runs in the background that somebody is owed. */
  readonly ends: SessionEnds
  /** The children that it ever had, for limits. */
  readonly spawns = new SpawnCount()
  /** Agents that go on no more without an end. */
  readonly givenUp: GivenUp
  /** What its agents may still spend. */
  readonly budget: SessionBudget
  readonly #core: EngineCore
  readonly #lock: SessionLock
  readonly #live = new Map<AgentId, Agent>()
  readonly #turns = new Map<AgentId, Promise<void>>()
  readonly #pending = new Set<Promise<unknown>>()
  #root: Agent | undefined
  #hasBegun = false
  #isClosing = false
  #isStopping = false
  #allow: { readonly granted: number; readonly rules: readonly PermissionRule[] } | undefined
  #inspectionRootId: string | undefined
  #mcp: McpClients | undefined
  #openingMcp: Promise<McpClients> | undefined

  constructor(core: EngineCore, id: SessionId, paths: SessionPaths, lock: SessionLock) {
    this.#core = core
    this.id = id
    this.paths = paths
    this.#lock = lock
    this.blobs = createBlobStore(core.storage, paths)
    this.prompts = new SessionPrompts(core, this.blobs)
    this.hosts = new EndHosts(this)
    this.names = new SessionNames(this)
    this.ends = new SessionEnds(core, this)
    this.givenUp = new GivenUp(this)
    this.budget = new SessionBudget(core, () => this.agents)
    this.definitions = new SessionDefinitions(this.blobs, core.cwd, () => core.definitions)
  }

  get root(): Agent {
    if (this.#root === undefined) throw new Error(`session ${this.id} has no root agent yet`)
    return this.#root
  }

  /** One id for the whole tree in an inspector, whichever run of the root is on. */
  get inspectionRootId(): string {
    this.#inspectionRootId ??= this.#root?.run?.inspectionId
    return this.#inspectionRootId ?? this.id
  }

  get limits(): Limits {
    return this.#core.limits
  }

  get agents(): readonly Agent[] {
    return [...this.#live.values()]
  }

  // ── runs ─────────────────────────────────────────────────────────────────────────────────────────────

  /** Makes the root agent of a new session, not yet born. */
  createRoot(): Agent {
    this.#root = this.adopt(
      new Agent(this.#core, this, this.#core.ids.agentId(), undefined, this.paths.rootLog),
    )
    return this.#root
  }

  /** Takes an agent into the directory. */
  adopt(agent: Agent): Agent {
    this.#live.set(agent.id, agent)
    this.#core.agents.set(agent.id, agent)
    if (agent.parent === undefined) this.#root = agent
    return agent
  }

  /** Starts the next run of an agent; the first also records its birth. */
  async startRun(
    agent: Agent,
    content: PromptContent,
    birth: AgentEventOf<'agent.spawned'> | undefined,
    options: StartOptions = {},
  ): Promise<void> {
    const posted = await this.tryStartRun(agent, content, birth, options)
    if (posted === 'late') {
      // A closed mailbox takes nothing either; then no run is on.
      if (!agent.isRunning) throw new EngineClosedError(this.id)
      throw new EngineError(
        'run-in-flight',
        `agent ${agent.id} of session ${this.id} is still running; wait for its run to end, or kill it first`,
      )
    }
  }

  /** The same; `late` when a run is on, or the session is closing. */
  tryStartRun(
    agent: Agent,
    content: PromptContent,
    birth: AgentEventOf<'agent.spawned'> | undefined,
    { maxTurns, from, background, leavesChildren, tells = [], injects = [] }: StartOptions,
  ): Promise<Posted> {
    return agent.postLate(() => {
      // Another line may have told some of it meanwhile: then this is not what there is to say any more.
      const { owed: untold, mail } = agent.digest
      if (!tells.every((key) => isAmong(untold, key))) return []
      const isNew = (id: string): boolean =>
        mail.some(({ messageId }) => messageId === id) || !agent.digest.hasMessage(id)
      if (!injects.every(isNew)) return []
      const owed = withoutRuns(untold, tells)
      const started: AgentEventOf<'run.started'> = {
        type: 'run.started',
        run: (birth?.base?.run ?? agent.runNumber) + 1,
        machine: MACHINE_VERSION,
        content,
        origin: originOf(from),
        ...(maxTurns !== undefined && { maxTurns }),
        ...(background === true && { background }),
        ...(leavesChildren === true && { leavesChildren }),
        ...(owed.length > 0 && { owed: [...owed] }),
        ...(tells.length > 0 && { tells }),
        ...(injects.length > 0 && { injects }),
      }
      return birth === undefined ? [started] : [birth, started]
    })
  }

  /**
   * Starts the next run of an agent that has ended, on a message of another: in the background, or as a root's own. It
   * takes its place in the session again. Somebody is owed its end before it begins: a crash in between leaves a run
   * that there is not, which a resume sees, and not one that nobody knows of. `late` as of {@link tryStartRun}.
   */
  async startAgain(agent: Agent, content: string, sender: Agent, messageId: string): Promise<Posted> {
    if (this.#isClosing) return 'late'
    const options: StartOptions = { from: sender, injects: [messageId] }
    if (agent.parent === undefined)
      return this.tryStartRun(agent, content, undefined, { ...options, leavesChildren: true })
    // First of all: whoever is owed the end of an agent that is not here takes it for lost.
    this.adopt(agent)
    for (const other of this.agents) other.hangOn(agent)
    const child: RunKey = { agentId: agent.id, run: agent.runNumber + 1 }
    let host: Agent | undefined
    try {
      host = await this.hosts.entrust(agent, child)
      const maxTurns = agent.birth.plan.maxTurns?.value
      const started = { ...options, background: true, maxTurns }
      if ((await this.tryStartRun(agent, content, undefined, started)) === 'taken') return 'taken'
    } catch (error) {
      await this.#withdraw(host, child)
      throw error
    }
    await this.#withdraw(host, child)
    return 'late'
  }

  /** The run has not begun. */
  async #withdraw(host: Agent | undefined, child: RunKey): Promise<void> {
    await host?.post({ type: 'child.released', child }).catch(() => {
      // Its log cannot be written: a resume finds out that there is no such run.
    })
    this.forget(child.agentId)
  }

  /** The agent of that id that is live. */
  live(id: AgentId): Agent | undefined {
    return this.#live.get(id)
  }

  /** Whether this is the agent of that id that is live: what is read back to be looked at is not. */
  isLive(agent: Agent): boolean {
    return this.#live.get(agent.id) === agent
  }

  /** Runs `work` when everything of that agent that was asked for before is done: two must not read one log back. */
  inTurn<T>(id: AgentId, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(id) ?? Promise.resolve()
    const result = before.then(work)
    const settled = result.then(
      () => {},
      () => {},
    )
    this.#turns.set(id, settled)
    void settled.then(() => {
      if (this.#turns.get(id) === settled) this.#turns.delete(id)
    })
    return result
  }

  // ── children ─────────────────────────────────────────────────────────────────────────────────────────

  /** Decides what an `Agent` call leads to. Pure but for reading the counts. */
  route(
    caller: Agent,
    input: AgentInput,
  ): { readonly kind: 'spawn'; readonly plan: RoutedPlan } | SpawnRefusal {
    return routeSpawn(input, this.#situationOf(caller))
  }

  /** The agents that a caller may start, as its models are told of them. */
  spawnable(caller: Agent): readonly AgentDefinition[] {
    return spawnableDefinitions(this.#situationOf(caller))
  }

  #situationOf(caller: Agent): SpawnSituation {
    const { limits, rules, definitions, resolveModelId, features } = this.#core
    const { plan, depth } = caller.birth
    return {
      definitions,
      caller: {
        depth,
        mode: caller.mode,
        model: plan.model.value,
        allowedAgentTypes: caller.equipment.pool.allowedAgentTypes,
        effort: plan.effort?.value,
        isFork: caller.isFork,
        hasForkDirective: caller.hasForkDirective,
      },
      policy: {
        limits,
        live: this.#live.size + this.spawns.expected,
        spawns: this.spawns.count,
        denyRules: rules.deny,
        resolveModelId,
        features,
      },
      mcpServers: this.mcpFacts,
    }
  }

  /** Takes a place for a child that is about to be spawned, so that limits count it. */
  reserve(parent: Agent, childId: AgentId): Agent {
    this.spawns.take(childId)
    return this.adopt(new Agent(this.#core, this, childId, parent, this.paths.agentLog(childId)))
  }

  /** Gives the place of a child back: it ended, or was never spawned. */
  forget(childId: AgentId): void {
    const child = this.#live.get(childId)
    this.#live.delete(childId)
    this.#core.agents.delete(childId)
    this.#core.hooks.unregister(childId)
    if (child !== undefined) this.#core.storage.release(child.logPath)
  }

  /**
   * Makes a child that its parent's log already names: file, first lines and folder are durable when this
   * resolves, before its first request. Called again after a crash it completes what is missing.
   */
  async spawn(parent: Agent, childId: AgentId, plan: SpawnPlan, call: SpawnCall): Promise<Agent> {
    const known = this.#live.get(childId) ?? (await this.#endedBefore(childId))
    // Whoever comes now is not among those that the close ends. The call is made again when the session is resumed.
    if (known === undefined && this.#isClosing) throw new Suspended(`agent ${childId} comes too late`)
    const child = known ?? this.reserve(parent, childId)
    if (child.runNumber > 0) {
      // A crash may have come between its birth and this.
      this.#describe(child.birth)
      return child
    }
    const birth: AgentEventOf<'agent.spawned'> = {
      type: 'agent.spawned',
      agentId: childId,
      depth: parent.birth.depth + 1,
      parent: { agentId: parent.id, callId: call.callId, toolUseId: call.toolUseId },
      plan,
      ...inheritance(parent, plan),
    }
    const prompt = birth.inherits?.fork === undefined ? call.prompt : forkDirective(call.prompt)
    await this.startRun(child, prompt, child.isBorn ? undefined : birth, {
      maxTurns: plan.maxTurns?.value,
      from: parent,
      background: plan.background?.value,
    })
    this.#describe(birth)
    return child
  }

  /** A child that was read back, and that somebody has ended before its call went on: it must not be born again. */
  async #endedBefore(childId: AgentId): Promise<Agent | undefined> {
    const isThere = await this.#core.storage.exists(this.paths.agentLog(childId))
    return isThere ? reviveAgent(this.#core, this, childId) : undefined
  }

  /** Writes the file that says who a child is, for other programs. It can be made again from the log. */
  #describe(birth: AgentEventOf<'agent.spawned'>): void {
    try {
      writeAgentMeta(this.#core.storage, this.paths, birth)
    } catch (error) {
      this.#core.diagnose('meta-not-written', messageOf(error))
    }
  }

  /**
   * Rules that allow: of the host and of settings, and those that were granted in this session, which hold for every
   * agent of it at once. The same list until one is granted, so that what is made ready for it is made once.
   */
  get allowRules(): readonly PermissionRule[] {
    const granted = this.#root?.digest.grants ?? []
    if (this.#allow === undefined || granted.length !== this.#allow.granted) {
      const { rules } = parseRules(
        granted.map(({ rule }) => rule),
        { kind: 'allow', source: 'granted in this session' },
      )
      this.#allow = { granted: granted.length, rules: [...this.#core.rules.allow, ...rules] }
    }
    return this.#allow.rules
  }

  /** With the first run of this process: is the session new, or was it there? Undefined after that. */
  takesBeginning(): 'startup' | 'resume' | undefined {
    if (this.#hasBegun) return undefined
    this.#hasBegun = true
    return this.root.runNumber === 1 && this.root.digest.hookCount === 0 ? 'startup' : 'resume'
  }

  // ── MCP servers ──────────────────────────────────────────────────────────────────────────────────────

  /** The shared servers and those of single agents, once somebody has asked for them. */
  get mcp(): McpClients | undefined {
    return this.#mcp
  }

  /** Says what could not be honoured. */
  diagnose(code: EngineDiagnosticCode, message: string): void {
    this.#core.diagnose(code, message)
  }

  /** Whether the person or the project has servers for all agents. */
  get hasSharedServers(): boolean {
    return this.#core.mcpServers.length > 0
  }

  /** The shared servers as decisions about spawns see them. */
  get mcpFacts(): readonly McpServerFact[] {
    return (
      this.#mcp?.facts() ?? this.#core.mcpServers.map(({ name }) => ({ name, status: 'pending', tools: 0 }))
    )
  }

  /** Loads what speaks to MCP servers, with the first agent that needs it. */
  openMcp(): Promise<McpClients> {
    this.#openingMcp ??= openSessionMcp(this.#core, this).then((mcp) => {
      this.#mcp = mcp
      return mcp
    })
    return this.#openingMcp
  }

  // ── endings ──────────────────────────────────────────────────────────────────────────────────────────

  /** An agent's run has ended: a child is let go, the root stays for its next run. */
  onEnd(agent: Agent, end: EndedRun): void {
    // Nobody below it is told anything now: the root is with its next prompt.
    if (end.ended.status === 'killed') this.ends.letGo(agent.digest.owed)
    if (agent.parent === undefined) {
      // An end may have come when its last word was on the way.
      this.noteNews(agent)
      return
    }
    this.budget.keep(agent, end.ended.run, end.modelUsage)
    this.forget(agent.id)
    const owner = this.hosts.ownerOf(agent, end.ended.run)
    if (owner === undefined) return
    this.ends.note(agent, end)
    this.noteNews(owner)
  }

  /**
   * An agent goes on no more, without an end: its log cannot be written. Whoever calls it is told by its promise; whoever
   * is owed the end of one in the background is told that it is lost, and what it has started there ends. The root stays,
   * and with it what it has in the background: a resume goes on with all of it.
   */
  onHalt(agent: Agent, why: string): void {
    this.ends.letGo(agent.digest.owed)
    if (agent.parent !== undefined) this.givenUp.seeOut(agent, why)
  }

  /** There may be something to tell an agent: one that runs looks itself, an idle root is woken. */
  noteNews(agent: Agent): void {
    agent.news.note()
    if (agent.parent === undefined && !agent.isRunning && agent.digest.owed.length > 0)
      this.closeAfter(wake(this.#core, agent))
  }

  /** The end of a run stands in the log of whoever was owed it. */
  forgetEnd(key: RunKey): void {
    this.ends.forget(key)
    this.budget.told(key)
  }

  /** Lets agents in the background go on that were read back, and wakes a root that was not told of an end. */
  goOn(): void {
    for (const agent of this.agents) if (this.hosts.isOnItsOwn(agent)) agent.restart()
    this.noteNews(this.root)
  }

  /** Where progress and report of an agent in the background are written; undefined where none is. */
  outputFileOf(agentId: AgentId): string | undefined {
    return this.#core.outputFiles?.pathOf(agentId)
  }

  /**
   * Ends every run. Nobody is woken by the ends: they are told with the next prompt. Resolves when nothing runs.
   */
  async killAll(by: string, reason: string | undefined): Promise<void> {
    this.#isStopping = true
    try {
      while (true) {
        // Somebody may have been about to be woken: then there is one more to end.
        this.ends.letGo()
        await Promise.all(this.#pending)
        const running = this.agents.filter(({ isRunning, isOpen }) => isRunning && isOpen)
        if (running.length === 0) return
        const tops = running.filter(({ parent }) => parent?.isRunning !== true)
        // One whose log can no longer be written has stopped, and says so itself.
        await Promise.allSettled(tops.map((agent) => agent.kill(by, reason)))
      }
    } finally {
      this.#isStopping = false
    }
  }

  /** Whether all runs are being ended: nobody is woken. */
  get isStopping(): boolean {
    return this.#isStopping
  }

  /** Suspends every agent and lets go of the lock. Nothing of the session runs any more when it resolves. */
  async close(reason: EngineError): Promise<void> {
    this.#isClosing = true
    if (this.#hasBegun) await this.#core.hooks.sessionEnds(this.root)
    // Not before: who is reserved while the hooks run begins to run, too.
    const agents = this.agents
    // All mailboxes close before anything is aborted: an aborted child must not look like a failed one.
    await Promise.all(agents.map((agent) => agent.seal()))
    await Promise.all([this.ends.close(reason), ...agents.map((agent) => agent.stop(reason))])
    for (const agent of agents) this.forget(agent.id)
    await Promise.all(this.#pending)
    await (await this.#openingMcp?.catch(() => undefined))?.close()
    await this.#lock.release()
  }

  /** Does not close before this work is done, whoever has begun it. It must not reject. */
  closeAfter(work: Promise<unknown>): void {
    this.#pending.add(work)
    void work.then(() => this.#pending.delete(work))
  }
}

/** Who a prompt is from; without a sender it is the user's. */
function originOf(from: Agent | 'engine' | undefined): Origin {
  if (from === undefined) return { from: 'user' }
  return from === 'engine' ? { from } : { from: 'agent', agentId: from.id }
}
