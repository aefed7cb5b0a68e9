import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { agentToolMoment } from '../definitions/agent-tool.ts'
import { BUILT_IN_DEFINITIONS } from '../definitions/built-in/index.ts'
import type { Features } from '../definitions/features.ts'
import type { ScopedHook } from '../definitions/hooks/scoped-hook.ts'
import { DEFAULT_LIMITS, NESTED_DEPTH } from '../definitions/limits.ts'
import { MODEL_ALIASES, resolveModelId } from '../definitions/model-aliases.ts'
import { withOwnFacts } from '../definitions/prices.ts'
import { systemClock } from '../effects/clock.ts'
import { commonDirOf, readGitBranch } from '../effects/git-folder.ts'
import { systemIds } from '../effects/ids.ts'
import { createProviderGate } from '../effects/model/gate.ts'
import { withRetries } from '../effects/model/retrying.ts'
import type { OutputFiles } from '../effects/output-files.ts'
import { createOutputFiles } from '../effects/output-files.ts'
import { createLocalProcessRunner } from '../effects/process/local-process-runner.ts'
import { createSandbox } from '../effects/sandbox/sandbox.ts'
import { createSecretMask } from '../effects/secret-mask.ts'
import { askParentTool } from '../effects/tools/agents/ask-parent.ts'
import { listAgentsTool } from '../effects/tools/agents/list-agents.ts'
import { sendMessageTool } from '../effects/tools/agents/send-message.ts'
import { taskOutputTool } from '../effects/tools/agents/task-output.ts'
import { taskStopTool } from '../effects/tools/agents/task-stop.ts'
import { skillTool } from '../effects/tools/skill.ts'
import type { Tool } from '../effects/tools/tool.ts'
import { createToolTable, standardTools } from '../effects/tools/tool-table.ts'
import { createFileStorage } from '../journal/file-storage.ts'
import { agentMachine } from '../machines/agent/machine.ts'
import type { AgentId } from '../machines/ids.ts'
import type { Agent } from './agent.ts'
import { delegationTool } from './agent-tool.ts'
import type { EngineOptions } from './api.ts'
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
import { messageOf } from './errors.ts'
import { EngineHooks } from './hooks/engine-hooks.ts'
import { createInspection } from './inspection.ts'
import { createKeepAlive } from './keep-alive.ts'
import type { ReadOptions } from './read-options.ts'
import type { RunMachine } from './run-actor.ts'
import { WaitingAnswers } from './waiting-answers.ts'
import { lazyWorktrees } from './worktree/lazy-worktrees.ts'
import { WORKTREE_TOOLS } from './worktree/worktree-tools.ts'

const NO_HOOKS: readonly ScopedHook[] = []

/** Makes it. Nothing touches the disk yet. */
export function createCore(options: EngineOptions, read: ReadOptions, emit: EngineCore['emit']): EngineCore {
  const clock = options.clock ?? systemClock
  const ids = options.ids ?? systemIds
  const { cwd, features, withheldEnv } = read
  const gate = createProviderGate({ clock, random: ids.random })
  const agents = new Map<AgentId, Agent>()
  const diagnose: EngineCore['diagnose'] = (code, message) => emit({ kind: 'diagnostic', code, message })
  const { inspect, project } = options
  const resolveModel = (name: string): string =>
    resolveModelId(name, { ...MODEL_ALIASES, ...options.modelAliases })
  const home = resolve(options.home ?? process.env['TROUPE_HOME'] ?? join(homedir(), '.troupe'))
  const core: EngineCore = {
    storage: options.storage ?? createFileStorage({ durability: options.durability ?? 'write' }),
    clock,
    ids,
    processes: options.processes ?? createLocalProcessRunner({ clock, withheldEnv }),
    sandbox: sandboxOf(read, options, home, diagnose),
    model: withRetries(options.model, { gate, clock, random: ids.random, options: options.retries ?? {} }),
    maxTokens: options.maxTokens ?? 32_000,
    fallbackModel: options.fallbackModel && resolveModel(options.fallbackModel),
    modelFacts: withOwnFacts(options.modelFacts ?? {}),
    tools: createToolTable(toolsOf(options, features)),
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
    mask: createSecretMask(read.secrets),
    openMcpLink: undefined,
    root: {
      modelId: options.modelId ?? 'sonnet',
      mode: read.mode,
      systemPrompt: options.systemPrompt,
      appendSystemPrompt: options.appendSystemPrompt,
    },
    limits: { ...DEFAULT_LIMITS, ...(features.nesting && { depth: NESTED_DEPTH }), ...options.limits },
    snapshotEvery: options.snapshotEvery ?? 2_000,
    rules: read.rules,
    asking: {
      canUseTool: options.permissions?.canUseTool,
      mayWait: options.permissions?.wait === true,
      answerQuestion: options.questions?.answer,
      questionsWait: options.questions?.wait === true,
    },
    review: {
      modelId: resolveModel(options.review?.model ?? 'haiku'),
      timeoutMs: options.review?.timeoutMs ?? 30_000,
      isDeferred: options.review?.deferBackground === true,
    },
    approvals: new WaitingAnswers(),
    questions: new WaitingAnswers(),
    get hooks() {
      return hooks
    },
    cwd,
    home,
    gitBranch: readGitBranch(cwd),
    resolveModelId: resolveModel,
    machine: () => machine,
    inspect: inspect && createInspection(inspect, diagnose),
    agents,
    lockInfo: { engine: ids.uuid(), startedAt: clock.now() },
    emit,
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

/** Logs and the person's settings are not for commands to write. */
function sandboxOf(
  { sandbox: plan }: ReadOptions,
  { project }: EngineOptions,
  home: string,
  diagnose: EngineCore['diagnose'],
): EngineCore['sandbox'] {
  if (plan === undefined) return undefined
  const settings = project === undefined ? [] : [dirname(project.userSettingsFile)]
  return createSandbox({
    plan,
    records: [home, ...settings],
    warn: (message) => diagnose('sandbox-weaker', message),
  })
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

/** The tools of all agents, before their pools choose. */
function toolsOf({ tools, project, cwd }: EngineOptions, features: Features): readonly Tool[] {
  const hasWorktrees = features.worktree && commonDirOf(cwd ?? process.cwd()) !== undefined
  return [
    ...(tools ?? [...standardTools(), ...(hasWorktrees ? WORKTREE_TOOLS : [])]),
    ...(features.background ? AGENT_TOOLS : []),
    ...(project === undefined ? [] : [skillTool(() => project.skills)]),
    delegationTool(agentToolMoment(features)),
  ]
}
