/**
 * Runs one tool call to its result. At-least-once: XState starts it again at a resume, so it looks in the log
 * before it acts.
 *
 *   C1  A call whose body is not harmless to repeat is recorded as started before its body runs.
 *   C2  A call that was started and has no result follows its tool's resume rule; nothing else is repeated.
 *   C3  Every way out is a result: refused, failed and interrupted calls too.
 */
import { envelope } from '../../definitions/context/envelope.ts'
import { unparsedInput } from '../../effects/model/accumulate-reply.ts'
import { sandboxedRunner } from '../../effects/process/sandboxed-runner.ts'
import { GraceOver, withGrace } from '../../effects/process/with-grace.ts'
import type { Intent, Tool, ToolContext, ToolOutput } from '../../effects/tools/tool.ts'
import { ToolRefusal } from '../../effects/tools/tool-refusal.ts'
import type { CallInput } from '../../machines/agent/effects.ts'
import type { AgentEventOf } from '../../machines/agent/events.ts'
import type { ToolUseBlock } from '../../machines/agent/messages.ts'
import type { CallId } from '../../machines/ids.ts'
import type { Agent } from '../agent.ts'
import { isDelegation } from '../agent-tool.ts'
import { agentsPort } from '../agents-port.ts'
import { approvalFor } from '../approvals.ts'
import type { EngineCore } from '../core.ts'
import type { Effect } from '../effect-logic.ts'
import { EngineError, messageOf } from '../errors.ts'
import { reasonsOf } from '../hooks/engine-hooks.ts'
import { notifyPerson } from '../hooks/notification-hooks.ts'
import type { BeforeCall } from '../hooks/tool-hooks.ts'
import { afterCall, beforeCall, permissionHooks } from '../hooks/tool-hooks.ts'
import { fetchGuard, judgedPathOf, permissionFor, readGuard } from '../permission.ts'
import { askPort } from '../questions.ts'
import { withVerdict } from '../review/judge-call.ts'
import { isWorktreeTool, runWorktreeTool } from '../worktree/worktree-tools.ts'
import { checkedOutput } from './checked-output.ts'
import { delegate } from './delegate.ts'
import { capContent } from './result-cap.ts'
import { failedResult, interruptedResult, withTexts } from './results.ts'
import { Suspended } from './suspended.ts'

type CallEnded = AgentEventOf<'call.ended'>

/** Longer than a command has from TERM to KILL, in milliseconds. */
const BODY_GRACE_MS = 10_000

/** One call, as the functions below pass it on. */
export interface Call {
  readonly agent: Agent
  readonly callId: CallId
  readonly block: ToolUseBlock
  readonly signal: AbortSignal
  /** What the log says of an earlier start; undefined when there was none. */
  readonly started: AgentEventOf<'call.started'> | undefined
}

export function runCall(core: EngineCore): Effect<CallInput> {
  return async ({ agent, input: { callId }, signal }) => {
    const block = agent.toolUse(callId)
    const started = agent.ledger.get(callId)?.started
    if (block === undefined) {
      // Over accepted damage only: its result is lost, and the model has spoken since, as if it were interrupted.
      const name = agent.run?.snapshot.context.calls.find((call) => call.callId === callId)?.name ?? 'tool'
      return [interruptedResult(callId, callId, name, started !== undefined)]
    }
    await agent.equipment.open(() => signal)
    const call: Call = { agent, callId, block, signal, started }
    try {
      const ended = await resultOf(core, call)
      await core.hooks.close(agent, callId)
      return [reminded(agent, masked(core, ended))]
    } catch (error) {
      // Nothing of it is the tool's: the engine suspends, the log is gone, or the call was aborted.
      if (error instanceof Suspended || EngineError.is(error) || signal.aborted) throw error
      // A tool's own `isReadOnly`, `ruleSubject` and the like are a host's code, too (C3).
      const failed = failedResult(callId, block.id, `${block.name} failed: ${messageOf(error)}`)
      return [reminded(agent, masked(core, failed))]
    }
  }
}

/** The result without the values of secrets. The body's output is masked before it is cut, too: the rest is stored. */
function masked({ mask }: EngineCore, ended: CallEnded): CallEnded {
  const { result, toolUseResult } = ended
  return {
    ...ended,
    result: mask.plain(result),
    ...(toolUseResult !== undefined && { toolUseResult: mask.plain(toolUseResult) }),
  }
}

/** The result with what the definition wants said after each of them. */
function reminded(agent: Agent, ended: CallEnded): CallEnded {
  const reminder = agent.definition?.criticalSystemReminder
  return withTexts(ended, reminder === undefined ? [] : [envelope('system-reminder', reminder)])
}

async function resultOf(core: EngineCore, call: Call): Promise<CallEnded> {
  const { agent, block, callId, started } = call
  if (agent.isCut(callId)) {
    return failedResult(
      callId,
      block.id,
      'Your reply was cut off at max_tokens inside this call, so it was not run. Make it again, shorter or in parts.',
    )
  }
  const unparsed = unparsedInput(block.input)
  if (unparsed !== undefined) {
    return failedResult(
      callId,
      block.id,
      `The input of this ${block.name} call is not a JSON object, so it was not run. It began: ${unparsed.slice(0, 200)}`,
    )
  }
  const parsed = agent.equipment.servers.table.parseCall(block.name, block.input)
  // After a restart with other tools: what was started may have run, whoever can be asked about it now.
  if (started !== undefined && (!parsed.ok || parsed.tool.resume === 'interrupt')) {
    return interruptedResult(callId, block.id, block.name, true)
  }
  if (!parsed.ok) return failedResult(callId, block.id, parsed.message)
  const { tool } = parsed
  let { input } = parsed
  let judged: string | undefined
  if (started === undefined && !agent.mayUse(tool.name)) {
    return failedResult(callId, block.id, `This agent has no tool ${tool.name}.`, 'denied')
  }
  const before = await beforeCall(core, call, tool, input)
  if (before.refused !== undefined) return failedResult(callId, block.id, before.refused, 'denied')
  input = before.input
  if (started === undefined) {
    const approved = await approvedInput(core, call, tool, before)
    if ('refused' in approved) return failedResult(callId, block.id, approved.refused, 'denied')
    input = approved.input
    judged = approved.judged
  } else {
    input = changedInput(call, tool) ?? input
  }
  const ended = isDelegation(tool)
    ? await delegate(core, call, tool.inputSchema.parse(input))
    : isWorktreeTool(tool)
      ? await runWorktreeTool(core, call, tool, input)
      : await runBody(core, call, tool, input, judged)
  return afterCall(core, call, before.decision, ended)
}

type Approved =
  | { readonly input: unknown; readonly judged: string | undefined }
  | { readonly refused: string }

/** The input that the call may run with, after rules, modes and whoever can be asked; or why it must not. */
async function approvedInput(
  core: EngineCore,
  call: Call,
  tool: Tool,
  { input, permission: hookSays, decision }: BeforeCall,
): Promise<Approved> {
  const { agent, callId, block, signal } = call
  const ruled = await permissionFor(core, agent, tool, input)
  // A hook that has decided leaves nothing to judge.
  const permission = hookSays === 'as usual' ? await withVerdict(core, call, tool, input, ruled) : ruled
  if (permission.kind === 'refused') return { refused: permission.message }
  const { judged } = permission
  if (permission.kind === 'allowed' && hookSays !== 'ask') return { input, judged }
  // A hook may spare the prompt; what rules and ancestors deny has been denied above.
  if (permission.kind === 'ask' && hookSays === 'allow' && !permission.isByRule) return { input, judged }
  const asked = await permissionHooks(core, call, tool)
  if (asked?.decision === 'allow') return { input, judged }
  if (asked?.decision === 'deny') return { refused: `${tool.name} was refused by a hook (${asked.why}).` }
  const { reason, suggestions, refusal } =
    permission.kind === 'ask'
      ? permission
      : {
          reason: `a hook asks for approval (${reasonsOf(decision?.reasons ?? [])})`,
          suggestions: [],
          refusal: (why: string) => `${tool.name} was refused: ${why}, and nobody can be asked here.`,
        }
  const question = { toolName: tool.name, toolUseId: block.id, input, reason, suggestions }
  const answer = await approvalFor(core, agent, callId, question, signal)
  if (answer === undefined) return { refused: refusal(reason) }
  if (answer.decision === 'deny') {
    const why = answer.message === undefined ? '' : ` It was said: ${answer.message}`
    return {
      refused: `${tool.name} was refused by ${answer.by}.${why} Do not try to reach the same end by another way.`,
    }
  }
  if (answer.input === undefined) return { input, judged }
  const changed = tool.inputSchema.safeParse(answer.input)
  if (!changed.success)
    return { refused: `${tool.name} was approved with an input that it does not take, so it was not run.` }
  return { input: changed.data, judged: await judgedPathOf(core, agent, tool, changed.data) }
}

/** After a restart: what a call was approved with instead of what the model wrote. */
function changedInput({ agent, callId }: Call, tool: Tool): unknown {
  const changed = tool.inputSchema.safeParse(agent.ledger.approval(callId)?.answered?.input)
  return changed.success ? changed.data : undefined
}

async function runBody(
  core: EngineCore,
  call: Call,
  tool: Tool,
  input: unknown,
  judged: string | undefined,
): Promise<CallEnded> {
  const { agent, block, callId, signal, started } = call
  let hasStarted = started !== undefined
  try {
    const context = { ...contextOf(core, call), ...(judged !== undefined && { judged }) }
    const intent = started === undefined ? await tool.intend?.(input, context) : started.intent
    if (started === undefined && tool.resume !== 'repeat') {
      await recordStart(agent, callId, intent)
      hasStarted = true
    }
    signal.throwIfAborted()
    // A body that does not heed its signal must not keep its agent for ever.
    const output = await withGrace(tool.run(input, { ...context, intent }), signal, core.clock, BODY_GRACE_MS)
    return await endedResult(
      call,
      core.mask.plain(checkedOutput(tool.name, output)),
      core.limits.toolResultChars,
    )
  } catch (error) {
    if (error instanceof Suspended) throw error
    if (signal.aborted) {
      const interrupted = interruptedResult(callId, block.id, block.name, hasStarted)
      return GraceOver.is(error) ? leftBehind(core, call, interrupted) : interrupted
    }
    // A refusal is for the model as it stands; anything else is a defect of the tool, told as such.
    const text = ToolRefusal.is(error) ? error.message : `${block.name} failed: ${messageOf(error)}`
    return failedResult(callId, block.id, text, ToolRefusal.is(error) ? error.outcome : 'error')
  }
}

/** JavaScript cannot end a body that does not end itself: host and model are told that it may still be at work. */
function leftBehind(core: EngineCore, { agent, block, callId }: Call, interrupted: CallEnded): CallEnded {
  core.diagnose(
    'tool-left-behind',
    `${block.name} (call ${callId} of agent ${agent.id}) did not stop within ${BODY_GRACE_MS / 1000} s of its signal; ` +
      'nobody waits for it any more, and it may still be at work. Its body has to heed `context.signal`.',
  )
  return withTexts(interrupted, ['It did not stop when it was told to, and may still be at work.'])
}

async function recordStart(agent: Agent, callId: CallId, intent: Intent | undefined): Promise<void> {
  const posted = await agent.post({
    type: 'call.started',
    callId,
    ...(intent !== undefined && { intent: { ...intent } }),
  })
  if (posted === 'late') throw new Suspended(`call ${callId} came too late to be started`)
}

function contextOf(
  core: EngineCore,
  call: Call,
): Omit<ToolContext, 'intent'> & { readonly intent: undefined } {
  const { agent, callId, signal, started } = call
  const mayRead = readGuard(core, agent)
  const ask = askPort(core, agent, callId)
  let notices = 0
  const hasEnv = Object.keys(core.env).length > 0
  const writableRoots = [...agent.equipment.writableRoots, ...core.directories]
  const processes =
    core.sandbox === undefined
      ? core.processes
      : sandboxedRunner(core.processes, core.sandbox, { cwd: agent.cwd, writableRoots })
  return {
    agentId: agent.id,
    callId,
    // An agent's log has its id, and a call's position in it is unique: together they name the call for ever.
    key: `${agent.id}:${callId}`,
    cwd: agent.cwd,
    signal,
    clock: core.clock,
    processes: {
      endSurvivors: (recorded, agentIds) => core.processes.endSurvivors(recorded, agentIds),
      run: (request) => {
        agent.equipment.noteProcess()
        return processes.run({
          ...request,
          ...(hasEnv && { env: { ...core.env, ...request.env } }),
          onStarted: (process) => {
            request.onStarted?.(process)
            recordProcess(agent, callId, process)
          },
        })
      },
    },
    seen: agent.seen,
    shells: agent.equipment.shells,
    // What goes on behind a call is read with this tool, by nobody otherwise.
    ...(core.features.background &&
      agent.mayUse('BashOutput') && { offerMove: (move) => agent.equipment.movable.offer(callId, move) }),
    agents: agentsPort(core, agent, signal),
    todos: () => agent.notes.todos,
    mayFetch: (url) => fetchGuard(core, agent)(url),
    notify: (text) => {
      notices += 1
      notify(core, call, core.mask.text(text), notices)
    },
    ...(writableRoots.length > 0 && { writableRoots }),
    ...(mayRead !== undefined && { mayRead }),
    ...(ask !== undefined && { ask }),
    intent: undefined,
    isRepeat: started !== undefined,
  }
}

/** Not awaited: a crash before the line is durable is covered by the mark in the process's environment. */
function recordProcess(
  agent: Agent,
  callId: CallId,
  { pid, startTime }: { readonly pid: number; readonly startTime: string | undefined },
): void {
  agent
    .post({ type: 'process.started', callId, pid, ...(startTime !== undefined && { startTime }) })
    .catch((error: unknown) => agent.fault(error, `recording process ${pid} of call ${callId}`))
}

/** Told to the host, to hooks, and to the agent with its next request. */
function notify(core: EngineCore, { agent, callId, signal }: Call, text: string, count: number): void {
  notifyPerson(
    core,
    agent,
    { type: 'shell_input_wait', which: `notice ${count} ${callId}`, message: text },
    signal,
  )()
  core.diagnose('tool-notice', `agent ${agent.id}: ${text}`)
  agent
    .post({
      type: 'message.added',
      about: 'notice',
      content: envelope('system-reminder', text),
      origin: { from: 'engine' },
    })
    // The log is gone: its agent has been halted with a better error.
    .catch(() => {})
}

async function endedResult(
  { agent, block, callId, signal }: Call,
  output: ToolOutput,
  maxChars: number,
): Promise<CallEnded> {
  const content = await capContent(output.content, agent.session.blobs, agent.session.paths, maxChars)
  const isError = output.isError === true
  const { delivered } = output
  const injects = output.injects?.filter((id) => agent.digest.mail.some(({ messageId }) => messageId === id))
  const owed = agent.digest.owed.find(
    ({ agentId, run }) => agentId === delivered?.agentId && run === delivered.run,
  )
  return {
    type: 'call.ended',
    callId,
    outcome: signal.aborted && isError ? 'interrupted' : isError ? 'error' : 'ok',
    result: { type: 'tool_result', tool_use_id: block.id, content, ...(isError && { is_error: true }) },
    ...(output.structured !== undefined && { toolUseResult: output.structured }),
    ...(output.files !== undefined && { files: [...output.files] }),
    ...(owed !== undefined && agent.news.claimsEnd(owed, callId) && { delivered: owed }),
    ...(injects !== undefined && injects.length > 0 && { injects }),
  }
}
