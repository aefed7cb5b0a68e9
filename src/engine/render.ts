/** What an agent is asked with: its tools, and its system prompt. Equal agents get equal bytes. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { AGENT_TOOL_NAME } from '../definitions/agent-tool.ts'
import { COORDINATOR_TOOLS, coordinatorPrompt } from '../definitions/built-in/coordinator.ts'
import { MAIN_PROMPT } from '../definitions/built-in/main.ts'
import type { Diagnostic } from '../definitions/diagnostic.ts'
import type { ReportSchema } from '../definitions/report-schema.ts'
import { readReportSchema } from '../definitions/report-schema.ts'
import type { DirectoryFacts } from '../definitions/system-prompt.ts'
import { renderSystemPrompt } from '../definitions/system-prompt.ts'
import { DELEGATION_TOOLS, ROOT_ONLY_TOOLS } from '../definitions/tool-names.ts'
import type { ToolPool } from '../definitions/tool-pool.ts'
import { forkToolPool, resolveToolPool } from '../definitions/tool-pool.ts'
import type { Agent, Prepared } from './agent.ts'
import type { EngineCore } from './core.ts'
import { EngineError } from './errors.ts'
import { asksNobody, mayLeavePlan } from './questions.ts'
import { ROOT_TYPE } from './root.ts'
import { wantsWorktree } from './worktree/enter-worktree.ts'
import { isInWorktree, planOf } from './worktree/own-worktree.ts'
import { isWorktreeTool } from './worktree/worktree-tools.ts'

export type ResolvedPool = Extract<ToolPool, { kind: 'resolved' }>

/** The tools of an agent. Throws an `EngineError` when its definition's list comes to nothing. */
export function poolOf(core: EngineCore, agent: Agent): ResolvedPool {
  const { plan, depth } = agent.birth
  if (agent.isFork && agent.parent !== undefined) return forkToolPool(agent.parent.equipment.pool)
  const definition = agent.definition ?? { agentType: plan.agentType }
  const { table, ownTools } = agent.equipment.servers
  const coordinates = plan.agentType === ROOT_TYPE && core.features.coordinator
  const pool = resolveToolPool(
    table.tools
      // A child has a worktree by its isolation, or none.
      .filter((tool) => agent.parent === undefined || !isWorktreeTool(tool))
      .map(({ name }) => name)
      .filter((name) => !coordinates || COORDINATOR_TOOLS.includes(name))
      .filter((name) => !asksNobody(core, agent, name)),
    definition,
    {
      isChild: agent.parent !== undefined,
      mayLeavePlan: agent.parent !== undefined && mayLeavePlan(core, agent),
      nestingAllowed: depth < core.limits.depth,
      // What may be left stays one array: permissions refuse until then (Q5).
      mode: mayLeavePlan(core, agent) ? 'default' : agent.mode,
      // A tool that can change something is left out of `plan` even if some of its calls would not.
      isReadOnlyTool: (name) => READ_ONLY_TOOLS.has(name),
      ownMcpTools: ownTools,
    },
  )
  for (const { code, message } of pool.diagnostics) core.diagnose(code, message)
  if (pool.kind === 'refused') throw new EngineError(pool.code, pool.message)
  return pool
}

const READ_ONLY_TOOLS: ReadonlySet<string> = new Set(['Read', 'Glob', 'Grep', AGENT_TOOL_NAME])

/** Prompt and tools of an agent, rendered. `memory` is the section that its memory makes. */
export function render(core: EngineCore, agent: Agent, memory: string | undefined): Prepared {
  const { plan } = agent.birth
  const offered = new Set(agent.equipment.pool.tools)
  const tools = agent.equipment.servers.table.definitions().filter(({ name }) => offered.has(name))
  const isRoot = plan.agentType === ROOT_TYPE
  const base = isRoot ? (core.root.systemPrompt ?? mainPrompt(core)) : (agent.definition ?? MAIN_PROMPT)
  const system = renderSystemPrompt({
    base,
    cwd: agent.cwd,
    tools: tools.map(({ name }) => name),
    project: core.project?.facts,
    environment: { platform: process.platform, isGitRepo: isGitRepo(agent.cwd) },
    model: plan.model.value,
    memory,
    directory: directoryOf(agent),
    reportSchema: reportSchemaOf(agent),
    append: isRoot ? core.root.appendSystemPrompt : undefined,
    isChild: agent.parent !== undefined,
  })
  return { system, tools }
}

/** The prompt of the agent that a person talks to. */
function mainPrompt({ features, tools }: EngineCore): string {
  if (!features.coordinator) return MAIN_PROMPT
  const isWorkers = (name: string): boolean =>
    !DELEGATION_TOOLS.includes(name) && !ROOT_ONLY_TOOLS.includes(name)
  return coordinatorPrompt(tools.tools.map(({ name }) => name).filter(isWorkers))
}

/** What cannot be honoured of the schema of an agent's report. */
export function reportSchemaProblems({ definition }: Agent): readonly Diagnostic[] {
  if (definition?.outputSchema === undefined) return []
  return readReportSchema(definition.agentType, definition.outputSchema).diagnostics
}

/** The schema that an agent's report must satisfy; undefined when there is none that can be checked. */
export function reportSchemaOf(agent: Agent): ReportSchema | undefined {
  const { definition } = agent
  if (definition?.outputSchema === undefined) return undefined
  return readReportSchema(definition.agentType, definition.outputSchema).schema
}

/** What is special about its directory. */
function directoryOf(agent: Agent): DirectoryFacts | undefined {
  const { digest, id, birth, cwd } = agent
  const own = digest.worktree
  const plan = own && isInWorktree(own) ? planOf(id, own) : undefined
  if (plan !== undefined && wantsWorktree(agent)) {
    const lacksChanges = own?.created?.lacksChanges
    return { kind: 'worktree', branch: plan.branch, base: plan.base, lacksChanges }
  }
  // A child's, or a folder that a hook made.
  const isMoved = wantsWorktree(agent) && isInWorktree(own)
  return isMoved || (birth.parent !== undefined && birth.plan.cwd === cwd) ? { kind: 'cwd' } : undefined
}

const isGitRepo = (cwd: string): boolean => existsSync(join(cwd, '.git'))
