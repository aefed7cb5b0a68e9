/** The engine: opens sessions, starts runs, closes down. */
import { realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { Subject } from 'rxjs'
import { agentToolMoment } from '../definitions/agent-tool.ts'
import { BUILT_IN_DEFINITIONS } from '../definitions/built-in/index.ts'
import { didYouMean } from '../definitions/closest-name.ts'
import type { Diagnostic } from '../definitions/diagnostic.ts'
import { readFeatures } from '../definitions/features.ts'
import type { ScopedHook } from '../definitions/hooks/scoped-hook.ts'
import { DEFAULT_LIMITS, NESTED_DEPTH } from '../definitions/limits.ts'
import { MODEL_ALIASES, resolveModelId } from '../definitions/model-aliases.ts'
import type { PermissionMode } from '../definitions/permission-mode.ts'
import { modeDiagnostic } from '../definitions/permissions/modes.ts'
import type { PermissionRule } from '../definitions/permissions/rule.ts'
import { parseRules } from '../definitions/permissions/rule.ts'
import { withOwnFacts } from '../definitions/prices.ts'
import { isToolAmong, KNOWN_TOOL_NAMES } from '../definitions/tool-names.ts'
import { systemClock } from '../effects/clock.ts'
import { readGitBranch } from '../effects/git-branch.ts'
import { newSessionId, systemIds } from '../effects/ids.ts'
import { createProviderGate } from '../effects/model/gate.ts'
import { withRetries } from '../effects/model/retrying.ts'
import type { OutputFiles } from '../effects/output-files.ts'
import { createOutputFiles } from '../effects/output-files.ts'
import { createLocalProcessRunner } from '../effects/process/local-process-runner.ts'
import { createSecretMask, MIN_SECRET_CHARS, type Secret } from '../effects/secret-mask.ts'
import { askParentTool } from '../effects/tools/agents/ask-parent.ts'
import { listAgentsTool } from '../effects/tools/agents/list-agents.ts'
import { sendMessageTool } from '../effects/tools/agents/send-message.ts'
import { taskOutputTool } from '../effects/tools/agents/task-output.ts'
import { taskStopTool } from '../effects/tools/agents/task-stop.ts'
import { skillTool } from '../effects/tools/skill.ts'
import type { Tool } from '../effects/tools/tool.ts'
import { createToolTable, standardTools } from '../effects/tools/tool-table.ts'
import { commonDirOf } from '../effects/worktrees/repository.ts'
import { createFileStorage } from '../journal/file-storage.ts'
import type { AgentEvent, AgentEventOf } from '../machines/agent/events.ts'
import { agentMachine } from '../machines/agent/machine.ts'
import type { PromptContent } from '../machines/agent/messages.ts'
import type { AgentId } from '../machines/ids.ts'
import { AgentId as AgentIdSchema, SessionId } from '../machines/ids.ts'
import type { Agent, EndedRun } from './agent.ts'
import { delegationTool } from './agent-tool.ts'
import type {
  AgentView,
  ApprovalAnswer,
  ApprovalRequest,
  BranchOptions,
  Engine,
  EngineEvent,
  EngineOptions,
  QuestionAnswer,
  QuestionRequest,
  ResumeOptions,
  Run,
  RunOptions,
  SpawnInput,
} from './api.ts'
import { answerApproval } from './approvals.ts'
import { branchBirth, GO_ON_FROM_HERE, shareForBranch } from './branch.ts'
import type { EngineCore } from './core.ts'
import { effectLogic } from './effect-logic.ts'
import { awaitNews } from './effects/await-news.ts'
import { checkReport } from './effects/check-report.ts'
import { compact } from './effects/compact.ts'
import { drain } from './effects/drain.ts'
import { prepare } from './effects/prepare.ts'
import { requestModel } from './effects/request-model.ts'
import { review } from './effects/review.ts'
import { runCall } from './effects/run-call.ts'
import { stopHooks } from './effects/stop-hooks.ts'
import { EngineClosedError, EngineError, messageOf } from './errors.ts'
import { EngineHooks } from './hooks/engine-hooks.ts'
import { createInspection } from './inspection.ts'
import { createKeepAlive } from './keep-alive.ts'
import { modeSaid } from './mode.ts'
import { openSession, sessionExists } from './open-session.ts'
import { answerQuestion } from './questions.ts'
import { hostBirth, rootBirth } from './root.ts'
import type { RunMachine } from './run-actor.ts'
import { createRun } from './run-handle.ts'
import type { Session } from './session.ts'
import { TaskViews } from './task-views.ts'
import { viewOf } from './view.ts'
import { WaitingAnswers } from './waiting-answers.ts'
import { lazyWorktrees } from './worktree/lazy-worktrees.ts'
import { WORKTREE_TOOLS } from './worktree/worktree-tools.ts'

/** What no command of an agent needs to know. */
const SECRETS = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN']

const NO_HOOKS: readonly ScopedHook[] = []

/**
 * Makes an engine. Nothing touches the disk before the first run.
 *
 * Throws an `EngineError` for options that cannot be honoured: `bad-cwd`, `bad-option`, `bad-rule`.
 */
export function createEngine(options: EngineOptions): Engine {
  checkOptions(options)
  return new LocalEngine(options)
}

/** For callers without types: what would otherwise fail somewhere inside, in words that name nothing. */
function checkOptions(options: EngineOptions): void {
  const refuse = (what: string): never => {
    throw new EngineError('bad-option', `createEngine: ${what}`)
  }
  if (typeof options?.model?.stream !== 'function')
    refuse('`model` must be a model: an object with `provider` and `stream`')
  const { timeoutMs } = options.review ?? {}
  if (timeoutMs !== undefined && !(timeoutMs > 0))
    refuse('`review.timeoutMs` must be a number of milliseconds above 0')
  for (const limit of ['tokens', 'usd', 'runningMs'] as const) {
    const value = options.limits?.[limit]
    if (value !== undefined && !(value > 0)) refuse(`\`limits.${limit}\` must be more than 0, not ${value}`)
  }
  for (const tool of options.tools ?? []) {
    if (typeof tool?.name !== 'string' || typeof tool.run !== 'function')
      refuse('each of `tools` needs a `name` and a `run`')
    if (typeof tool.inputSchema?.safeParse !== 'function')
      refuse(`the tool ${tool.name} needs an \`inputSchema\`: a zod schema`)
  }
}

class LocalEngine implements Engine {
  readonly #events = new Subject<EngineEvent>()
  readonly #core: EngineCore
  readonly #sessions = new Map<SessionId, Promise<Session>>()
  /** What could not be honoured in the options: told with the first run, when somebody can listen. */
  #untold: readonly Diagnostic[]
  /** Runs that are about to start. */
  readonly #starting = new Set<Promise<unknown>>()
  readonly #views: TaskViews
  #isClosed = false

  constructor(options: EngineOptions) {
    const emit = (event: EngineEvent): void => {
      if (event.kind === 'fact') this.#noteFact(event.agentId, event.event)
      this.#events.next(event)
    }
    this.#core = createCore(options, emit, (agent) => this.#views.note(agent))
    this.#views = new TaskViews(this.#core.clock, this.#core.limits.taskRetentionMs)
    this.#untold = shortcomingsOf(options)
  }

  get events$() {
    return this.#events.asObservable()
  }

  get approvals(): readonly ApprovalRequest[] {
    return this.#core.approvals.requests
  }

  answer(approvalId: string, answer: ApprovalAnswer, by = 'host'): void {
    answerApproval(this.#core, approvalId, answer, by)
  }

  get questions(): readonly QuestionRequest[] {
    return this.#core.questions.requests
  }

  answerQuestion(questionId: string, answer: QuestionAnswer, by = 'host'): void {
    answerQuestion(this.#core, questionId, answer, by)
  }

  get agents(): readonly AgentView[] {
    return [...this.#core.agents.values()].filter((agent) => agent.isBorn).map(viewOf)
  }

  get tasks$() {
    return this.#views.tasks$
  }

  run(prompt: PromptContent, options: RunOptions = {}): Run {
    return this.#begin(options, async (session) => {
      const { root } = session
      const birth = root.isBorn ? undefined : rootBirth(this.#core, root.id)
      const { maxTurns, leavesChildren } = options
      await session.startRun(root, prompt, birth, { maxTurns, leavesChildren })
      return root
    })
  }

  spawn(input: SpawnInput, options: RunOptions = {}): Run {
    return this.#begin(options, async (session) => {
      const { root } = session
      const birth = await recorded(session, hostBirth(this.#core, root.id, input))
      await session.startRun(root, input.prompt, birth, {
        maxTurns: options.maxTurns ?? birth.plan.maxTurns?.value,
      })
      return root
    })
  }

  branch(source: string, options: BranchOptions = {}): Run {
    return this.#begin(options, async (session) => {
      const { root } = session
      const shared = await shareForBranch(this.#core, source, options.at)
      const birth = await recorded(session, branchBirth(this.#core, root.id, shared, options))
      await session.startRun(root, options.prompt ?? GO_ON_FROM_HERE, birth, {
        maxTurns: options.maxTurns,
        from: options.prompt === undefined ? 'engine' : undefined,
      })
      return root
    })
  }

  async resume(sessionId: string, options: ResumeOptions = {}): Promise<Run | undefined> {
    const id = parseSessionId(sessionId)
    if (!this.#sessions.has(id) && !(await sessionExists(this.#core, id))) throw noSuchSession(this.#core, id)
    const session = await this.#open(id, options)
    const { root } = session
    session.goOn()
    if (!root.isRunning) return undefined
    root.restart()
    return this.#hand(id, Promise.resolve(root), root.ended())
  }

  async kill(agentId: string, reason?: string): Promise<void> {
    const id = parseAgentId(agentId)
    const known = this.#core.agents.get(id)
    // While its session is being brought back nothing but that writes its log.
    if (known !== undefined) await this.#sessions.get(known.session.id)?.catch(() => {})
    await this.#core.agents.get(id)?.kill('user', reason)
  }

  async killAll(reason?: string): Promise<void> {
    // What has been asked for before is ended, too.
    await Promise.allSettled(this.#starting)
    const sessions = await Promise.allSettled(this.#sessions.values())
    await Promise.all(
      sessions.map((opened) =>
        opened.status === 'fulfilled' ? opened.value.killAll('user', reason) : undefined,
      ),
    )
  }

  async interrupt(sessionId: string, reason?: string): Promise<void> {
    const session = await this.#sessions.get(parseSessionId(sessionId))
    await session?.root.kill('user', reason, 'background')
  }

  async setMode(sessionId: string, mode: PermissionMode, by = 'host'): Promise<void> {
    const id = parseSessionId(sessionId)
    const session = await this.#sessions.get(id)
    if (session?.root.isBorn !== true) throw noSuchSession(this.#core, id)
    await session.root.post(modeSaid(this.#core, session.root, mode, by))
  }

  async background(agentId: string): Promise<boolean> {
    const agent = this.#core.agents.get(parseAgentId(agentId))
    if (agent?.parent === undefined || !agent.isRunning) return false
    return (await agent.post({ type: 'agent.backgrounded', by: 'user' })) === 'taken'
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    const sessions = await Promise.allSettled(this.#sessions.values())
    await Promise.all(
      sessions.map((opened) =>
        opened.status === 'fulfilled'
          ? opened.value.close(new EngineClosedError(opened.value.id))
          : undefined,
      ),
    )
    await this.#core.storage.close()
    this.#views.close()
    this.#events.complete()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #begin(options: RunOptions, start: (session: Session) => Promise<Agent>): Run {
    const id =
      options.sessionId === undefined ? newSessionId(this.#core.ids) : parseSessionId(options.sessionId)
    const started = this.#start(id, start)
    this.#starting.add(started)
    const noted = () => this.#starting.delete(started)
    started.then(noted, noted)
    const end = started.then((agent) => {
      const { signal } = options
      const kill = () => void agent.kill('user', 'its signal was aborted').catch(() => {})
      if (signal?.aborted) kill()
      signal?.addEventListener('abort', kill, { once: true })
      return agent.ended().finally(() => signal?.removeEventListener('abort', kill))
    })
    return this.#hand(id, started, end)
  }

  /** Makes the handle of a run, and keeps the process alive until it has ended, from before its session is open. */
  #hand(sessionId: SessionId, started: Promise<Agent>, end: Promise<EndedRun>): Run {
    const run = createRun({ sessionId, started, end, events$: this.events$ })
    const { keepAlive } = this.#core
    keepAlive.hold(run)
    const letGo = () => keepAlive.release(run)
    run.result.then(letGo, letGo)
    return run
  }

  async #start(id: SessionId, start: (session: Session) => Promise<Agent>): Promise<Agent> {
    const session = await this.#open(id, {})
    if (session.root.isRunning && !session.root.isStarted) {
      throw new EngineError(
        'unfinished-run',
        `session ${id} has an unfinished run; resume it first, its answer comes before the next question`,
      )
    }
    const agent = await start(session)
    session.goOn()
    return agent
  }

  #open(id: SessionId, options: ResumeOptions): Promise<Session> {
    if (this.#isClosed) {
      return Promise.reject(new EngineError('engine-closed', 'the engine is closed: nothing was started'))
    }
    const untold = this.#untold
    this.#untold = []
    for (const { code, message } of untold) this.#core.diagnose(code, message)
    const known = this.#sessions.get(id)
    if (known !== undefined) return known
    const opening = openSession(this.#core, id, options)
    this.#sessions.set(id, opening)
    // A session that could not be opened may be tried again.
    opening.then(
      ({ agents }) => {
        for (const agent of agents) this.#views.note(agent)
      },
      () => this.#sessions.delete(id),
    )
    return opening
  }

  #noteFact(id: AgentId, event: AgentEvent): void {
    const agent = this.#core.agents.get(id)
    if (agent !== undefined) this.#views.note(agent, event)
  }
}

function parseAgentId(agentId: string): AgentId {
  const parsed = AgentIdSchema.safeParse(agentId)
  if (parsed.success) return parsed.data
  throw new EngineError('bad-agent-id', `"${agentId}" is no agent id: "a" and 16 hexadecimal digits`)
}

/** A birth with the definition that it is of, stored. */
async function recorded(session: Session, birth: AgentEventOf<'agent.spawned'>) {
  const definition = await session.definitions.record(birth.plan.agentType)
  return definition === undefined ? birth : { ...birth, plan: { ...birth.plan, definition } }
}

function createCore(
  options: EngineOptions,
  emit: EngineCore['emit'],
  noteChange: EngineCore['noteChange'],
): EngineCore {
  const clock = options.clock ?? systemClock
  const ids = options.ids ?? systemIds
  const cwd = resolveFolder(options.cwd ?? process.cwd())
  const { features } = readFeatures(process.env, options.features)
  const gate = createProviderGate({ clock, random: ids.random })
  const agents = new Map<AgentId, Agent>()
  const diagnose: EngineCore['diagnose'] = (code, message) => emit({ kind: 'diagnostic', code, message })
  const { inspect, project } = options
  const withheldEnv = options.withheldEnv ?? SECRETS
  const resolveModel = (name: string): string =>
    resolveModelId(name, { ...MODEL_ALIASES, ...options.modelAliases })
  const core: EngineCore = {
    storage: options.storage ?? createFileStorage({ durability: options.durability ?? 'write' }),
    clock,
    ids,
    processes: options.processes ?? createLocalProcessRunner({ clock, withheldEnv }),
    model: withRetries(options.model, { gate, clock, random: ids.random, options: options.retries ?? {} }),
    maxTokens: options.maxTokens ?? 32_000,
    fallbackModel: options.fallbackModel && resolveModel(options.fallbackModel),
    modelFacts: withOwnFacts(options.modelFacts ?? {}),
    tools: createToolTable(toolsOf(options)),
    keepAlive: createKeepAlive(),
    outputFiles: outputFilesOf(options, cwd, diagnose),
    get definitions() {
      return options.definitions ?? project?.agents.activeAgents ?? BUILT_IN_DEFINITIONS
    },
    project,
    features,
    worktrees: lazyWorktrees(options, () => core.processes),
    mcpServers:
      options.mcpServers === undefined
        ? (project?.mcpServers ?? [])
        : Object.entries(options.mcpServers).map(([name, config]) => ({ name, config, from: 'the host' })),
    withheldEnv,
    env: Object.fromEntries(
      Object.entries(project?.env ?? {}).filter(([name]) => !withheldEnv.includes(name)),
    ),
    directories: project?.directories ?? [],
    mask: createSecretMask(secretsOf(options)),
    openMcpLink: undefined,
    root: {
      modelId: options.modelId ?? 'sonnet',
      mode: modeOf(options),
      systemPrompt: options.systemPrompt,
      appendSystemPrompt: options.appendSystemPrompt,
    },
    limits: { ...DEFAULT_LIMITS, ...(features.nesting && { depth: NESTED_DEPTH }), ...options.limits },
    snapshotEvery: options.snapshotEvery ?? 2_000,
    rules: rulesOf(options),
    asking: {
      canUseTool: options.permissions?.canUseTool,
      mayWait: options.permissions?.wait === true,
      answerQuestion: options.questions?.answer,
      questionsWait: options.questions?.wait === true,
    },
    review: {
      modelId: resolveModelId(options.review?.model ?? 'haiku', {
        ...MODEL_ALIASES,
        ...options.modelAliases,
      }),
      timeoutMs: options.review?.timeoutMs ?? 30_000,
    },
    approvals: new WaitingAnswers(),
    questions: new WaitingAnswers(),
    get hooks() {
      return hooks
    },
    cwd,
    home: resolve(options.home ?? process.env['TROUPE_HOME'] ?? join(homedir(), '.troupe')),
    gitBranch: readGitBranch(cwd),
    resolveModelId: resolveModel,
    machine: () => machine,
    inspect: inspect && createInspection(inspect, diagnose),
    agents,
    lockInfo: { engine: ids.uuid(), startedAt: clock.now() },
    emit,
    noteChange,
    diagnose,
  }
  const hooks = new EngineHooks(core, {
    declared: () => project?.hooks ?? NO_HOOKS,
    functions: options.hooks ?? [],
  })
  const machine: RunMachine = agentMachine.provide({
    actors: {
      prepare: effectLogic('prepare', agents, prepare(core)),
      requestModel: effectLogic('requestModel', agents, requestModel(core)),
      compact: effectLogic('compact', agents, compact(core)),
      runCall: effectLogic('runCall', agents, runCall(core)),
      checkReport: effectLogic('checkReport', agents, checkReport(core)),
      awaitNews: effectLogic('awaitNews', agents, awaitNews(core)),
      drain: effectLogic('drain', agents, drain(core)),
      stopHooks: effectLogic('stopHooks', agents, stopHooks(core)),
      review: effectLogic('review', agents, review(core)),
    },
  })
  return core
}

/** Where logs are real files, so is what agents in the background tell. */
function outputFilesOf(
  { storage, outputFiles = storage === undefined, limits }: EngineOptions,
  project: string,
  diagnose: EngineCore['diagnose'],
): OutputFiles | undefined {
  if (!outputFiles) return undefined
  return createOutputFiles({
    project,
    maxBytes: limits?.outputFileBytes ?? DEFAULT_LIMITS.outputFileBytes,
    onFailure: (path, error) =>
      diagnose(
        'output-not-written',
        `the output file ${path} could not be written (${messageOf(error)}); the log has everything`,
      ),
  })
}

/** The tools that speak of other agents. */
const AGENT_TOOLS: readonly Tool[] = [
  taskOutputTool,
  taskStopTool,
  listAgentsTool,
  sendMessageTool,
  askParentTool,
]

/** What nobody is shown: variables that are withheld, and those that settings name, here and in settings. */
function secretsOf({ withheldEnv = SECRETS, project }: EngineOptions): readonly Secret[] {
  return secretsNamed([...withheldEnv, ...(project?.secrets ?? [])], project)
}

function secretsNamed(names: readonly string[], project: EngineOptions['project']): readonly Secret[] {
  return names.flatMap((name) =>
    [process.env[name], project?.env?.[name]].flatMap((value) =>
      value === undefined ? [] : [{ name, value }],
    ),
  )
}

/** Of those that somebody named: a credential of the model that is shorter is none. */
function shortSecrets({ withheldEnv = [], project }: EngineOptions): readonly Diagnostic[] {
  const named = secretsNamed([...withheldEnv, ...(project?.secrets ?? [])], project)
  return createSecretMask(named).unmasked.map((name) => ({
    severity: 'warning',
    code: 'secret-too-short',
    message: `The value of the secret ${name} has fewer than ${MIN_SECRET_CHARS} characters, so it is not masked in results: it would stand in them by chance.`,
  }))
}

/** The tools of all agents, before their pools choose. */
function toolsOf({ tools, project, features: asked, cwd }: EngineOptions): readonly Tool[] {
  const { features } = readFeatures(process.env, asked)
  const hasWorktrees = features.worktree && commonDirOf(cwd ?? process.cwd()) !== undefined
  return [
    ...(tools ?? [...standardTools(), ...(hasWorktrees ? WORKTREE_TOOLS : [])]),
    ...(features.background ? AGENT_TOOLS : []),
    ...(project === undefined ? [] : [skillTool(() => project.skills)]),
    delegationTool(agentToolMoment(features)),
  ]
}

function parsedRules({ permissions }: EngineOptions) {
  return {
    allow: parseRules(permissions?.allow ?? [], { kind: 'allow', source: 'allowed tools' }),
    deny: parseRules(permissions?.deny ?? [], { kind: 'deny', source: 'disallowed tools' }),
  }
}

function rulesOf(options: EngineOptions): EngineCore['rules'] {
  const { allow, deny } = parsedRules(options)
  const broken = [...allow.diagnostics, ...deny.diagnostics].find(({ severity }) => severity === 'error')
  if (broken !== undefined) throw new EngineError('bad-rule', broken.message)
  const settings = options.project?.permissions
  return {
    allow: [...allow.rules, ...(settings?.allow ?? [])],
    deny: [...deny.rules, ...(settings?.deny ?? [])],
    ask: settings?.ask ?? [],
  }
}

/** The mode that the host asks for, else that of settings; nobody bypasses permissions where settings forbid it. */
function modeOf({ permissions, project }: EngineOptions): PermissionMode {
  const mode = permissions?.mode ?? project?.permissions?.defaultMode ?? 'default'
  const isForbidden = mode === 'bypassPermissions' && project?.permissions?.isBypassDisabled === true
  return isForbidden ? 'default' : mode
}

/** What of the options is in force, but perhaps not as it was meant. */
function shortcomingsOf(options: EngineOptions): readonly Diagnostic[] {
  const { allow, deny } = parsedRules(options)
  const mode = modeDiagnostic(modeOf(options))
  const known = [...KNOWN_TOOL_NAMES, ...(options.tools ?? []).map(({ name }) => name)]
  const mistyped = [...allow.rules, ...deny.rules].flatMap((rule) => mistypedTool(rule, known))
  const { diagnostics } = readFeatures(process.env, options.features)
  return [
    ...allow.diagnostics,
    ...deny.diagnostics,
    ...mistyped,
    ...shortSecrets(options),
    ...(mode === undefined ? [] : [mode]),
    ...(options.permissions?.mode === 'bypassPermissions' && modeOf(options) === 'default'
      ? [BYPASS_DISABLED]
      : []),
    ...diagnostics,
  ]
}

const BYPASS_DISABLED: Diagnostic = {
  severity: 'error',
  code: 'bypass-disabled',
  message:
    'Permission mode "bypassPermissions" is disabled by a settings file (permissions.disableBypassPermissionsMode); the mode is "default".',
}

/** A rule for a tool that does not exist protects nothing and allows nothing: nearly always a slip. */
function mistypedTool(
  { text, toolName, source }: PermissionRule,
  known: readonly string[],
): readonly Diagnostic[] {
  if (toolName === '*' || toolName.startsWith('mcp__') || isToolAmong(toolName, known)) return []
  const message = `The rule "${text}" (${source}) names no tool that is known.${didYouMean(toolName, known)}`
  return [{ severity: 'warning', code: 'tool-unknown', message }]
}

function resolveFolder(path: string): string {
  try {
    return realpathSync(path)
  } catch (error) {
    throw new EngineError('bad-cwd', `the working directory ${path} cannot be used: ${String(error)}`, error)
  }
}

function parseSessionId(text: string): SessionId {
  const parsed = SessionId.safeParse(text.toLowerCase())
  if (parsed.success) return parsed.data
  throw new EngineError('bad-session-id', `"${text}" is no session id: it must be a UUID`)
}

function noSuchSession(core: EngineCore, id: SessionId): EngineError {
  return new EngineError('no-such-session', `there is no session ${id} of ${core.cwd} under ${core.home}`)
}
