/**
 * What an agent is told before its task: its memory, the project's instructions, the skills that its definition
 * names, and its own first words. Each as an event of its log, so that every request can be made from that.
 */
import { forkDirectoryNotes } from '../definitions/built-in/fork.ts'
import type { ContextDiagnostic } from '../definitions/context/context-diagnostic.ts'
import { envelope, inert } from '../definitions/context/envelope.ts'
import { renderSkill } from '../definitions/context/render-skill.ts'
import { resolveSkill } from '../definitions/context/resolve-skill.ts'
import type { AgentEventOf, EventDraft } from '../machines/agent/events.ts'
import type { Agent } from './agent.ts'
import type { EngineCore } from './core.ts'
import { mayLeavePlan } from './questions.ts'
import { isInWorktree } from './worktree/own-worktree.ts'

type MessageAdded = AgentEventOf<'message.added'>
type AgentDiagnosed = AgentEventOf<'agent.diagnosed'>

/** The section of the system prompt that an agent's memory makes; undefined without a memory. */
export function memorySection(core: EngineCore, { equipment }: Agent): string | undefined {
  const { memory } = equipment
  if (memory === undefined) return undefined
  tellHost(core, memory.diagnostics)
  return memory.text === '' ? undefined : memory.text
}

/** What stands before the task of the run that is being prepared. */
export async function introduce(core: EngineCore, agent: Agent): Promise<readonly EventDraft[]> {
  const { definition } = agent
  // It has heard all of it as its parent, but where it works now.
  if (agent.isFork) return forkPlace(agent)
  return [
    ...(await userContext(core, agent)),
    ...skills(core, agent),
    ...planMode(core, agent),
    ...(definition?.initialPrompt === undefined ? [] : [before('initial-prompt', definition.initialPrompt)]),
  ]
}

/** Behind the directive, so that what forks share is the same for all of them. */
function forkPlace({ digest, cwd }: Agent): readonly MessageAdded[] {
  if (!isInWorktree(digest.worktree)) return []
  return [
    {
      type: 'message.added',
      about: 'directory',
      content: forkDirectoryNotes(cwd),
      origin: { from: 'engine' },
    },
  ]
}

/** Once per agent: a later run of it has it in its conversation. */
async function userContext(core: EngineCore, agent: Agent): Promise<readonly EventDraft[]> {
  const { project, features } = core
  const isOmitted = agent.definition?.omitClaudeMd === true && features.omitClaudeMd
  const isInherited = agent.birth.inherits?.from === 'all'
  if (project === undefined || isOmitted || isInherited || agent.digest.told('context') !== undefined)
    return []
  const { text, diagnostics } = await project.userContext(agent.cwd)
  tellHost(core, diagnostics)
  if (text === '') return []
  return [{ ...before('context', text), state: await agent.session.blobs.put(text) }]
}

function skills(core: EngineCore, agent: Agent): readonly (MessageAdded | AgentDiagnosed)[] {
  const { definition } = agent
  const known = core.project?.skills ?? []
  return (definition?.skills ?? []).map((name) => {
    const found = resolveSkill(name, known, definition?.plugin)
    if (found.kind === 'found') return before('skill', renderSkill(found.skill))
    return { type: 'agent.diagnosed', code: 'skill-not-loaded', message: inert(found.message) }
  })
}

/** What it may do is not to be read from its tools: it has all of them (Q5 of `questions.ts`). */
function planMode(core: EngineCore, agent: Agent): readonly MessageAdded[] {
  if (agent.mode !== 'plan' || !mayLeavePlan(core, agent)) return []
  return [before('plan-mode', envelope('system-reminder', PLAN_MODE))]
}

const PLAN_MODE =
  'Plan mode is on. Read and think as much as you need, but change nothing: calls that change something are refused, whatever tool makes them. When you know what to do, show your plan with ExitPlanMode; when it is approved, you carry it out. A question that only wants an answer needs no plan.'

function before(about: string, content: string): MessageAdded {
  return { type: 'message.added', about, content, origin: { from: 'engine' }, before: true }
}

function tellHost(core: EngineCore, diagnostics: readonly ContextDiagnostic[]): void {
  for (const { code, message } of diagnostics) core.diagnose(code, message)
}
