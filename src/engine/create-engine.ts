import { Subject } from 'rxjs'
import type { Diagnostic } from '../definitions/diagnostic.ts'
import type { PermissionMode } from '../definitions/permission-mode.ts'
import { newSessionId } from '../effects/ids.ts'
import type { AgentEvent, AgentEventOf } from '../machines/agent/events.ts'
import type { PromptContent } from '../machines/agent/messages.ts'
import type { AgentId } from '../machines/ids.ts'
import { AgentId as AgentIdSchema, SessionId } from '../machines/ids.ts'
import type { Agent, EndedRun } from './agent.ts'
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
import { createCore } from './create-core.ts'
import { EngineClosedError, EngineError, refusedBySandbox } from './errors.ts'
import { modeSaid } from './mode.ts'
import { openSession, sessionExists } from './open-session.ts'
import { answerQuestion } from './questions.ts'
import type { ReadOptions } from './read-options.ts'
import { readOptions } from './read-options.ts'
import { hostBirth, rootBirth } from './root.ts'
import { createRun } from './run-handle.ts'
import type { Session } from './session.ts'
import { TaskViews } from './task-views.ts'
import { viewOf } from './view.ts'

/**
 * Makes an engine. Nothing touches the disk before the first run.
 *
 * Throws an `EngineError` for options that cannot be honoured: `bad-cwd`, `bad-option`, `bad-rule`.
 */
export function createEngine(options: EngineOptions): Engine {
  return new LocalEngine(options, readOptions(options))
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

  constructor(options: EngineOptions, read: ReadOptions) {
    const emit = (event: EngineEvent): void => {
      if (event.kind === 'fact') this.#noteFact(event.agentId, event.event)
      this.#events.next(event)
    }
    this.#core = createCore(options, read, emit)
    this.#views = new TaskViews(this.#core.clock, this.#core.limits.taskRetentionMs)
    this.#untold = read.shortcomings
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
    await (await this.#agentOfOpen(agentId))?.kill('user', reason)
  }

  /** The agent, behind the opening of its session: while that is brought back nothing else writes its log. */
  async #agentOfOpen(agentId: string): Promise<Agent | undefined> {
    const id = parseAgentId(agentId)
    const known = this.#core.agents.get(id)
    if (known !== undefined) await this.#sessions.get(known.session.id)?.catch(() => {})
    return this.#core.agents.get(id)
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
    const agent = await this.#agentOfOpen(agentId)
    if (agent?.parent === undefined || !agent.isRunning) return false
    agent.restart()
    return (await agent.post({ type: 'agent.backgrounded', by: 'user' })) === 'taken'
  }

  async backgroundCalls(agentId: string): Promise<readonly string[]> {
    const agent = this.#core.agents.get(parseAgentId(agentId))
    return agent?.isRunning === true && agent.isOpen ? agent.equipment.movable.moveAll() : []
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
    await this.#core.sandbox?.close()
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
    const opening =
      this.#core.sandbox === undefined ? openSession(this.#core, id, options) : this.#openBoxed(id, options)
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

  /** Nothing is begun, or ended of what a dead engine left, where commands could not be run as they are to be. */
  async #openBoxed(id: SessionId, options: ResumeOptions): Promise<Session> {
    await this.#core.sandbox?.open().catch((error: unknown) => {
      throw refusedBySandbox(error)
    })
    return openSession(this.#core, id, options)
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

function parseSessionId(text: string): SessionId {
  const parsed = SessionId.safeParse(text.toLowerCase())
  if (parsed.success) return parsed.data
  throw new EngineError('bad-session-id', `"${text}" is no session id: it must be a UUID`)
}

function noSuchSession(core: EngineCore, id: SessionId): EngineError {
  return new EngineError('no-such-session', `there is no session ${id} of ${core.cwd} under ${core.home}`)
}
