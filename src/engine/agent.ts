/**
 * A live agent: its log, its conversation, its run, its mailbox and its effects.
 *
 * Owns: the order «staged, durable, applied» for every event of this agent, and its projections.
 * Does not own: what its effects do, who its parent is waiting for, when it is opened or let go (the session).
 */
import { BehaviorSubject, Subject } from 'rxjs'
import type { AgentDefinition } from '../definitions/agent-definition.ts'
import type { PermissionMode } from '../definitions/permission-mode.ts'
import type { ModelDelta, ToolDefinition } from '../effects/model/model.ts'
import type { SeenFilesRecord } from '../effects/tools/seen-files.ts'
import type { Encoded } from '../journal/encode.ts'
import type { ModelUsage } from '../journal/projections/usage.ts'
import type { MaybePromise } from '../journal/storage.ts'
import { StorageError } from '../journal/storage.ts'
import type { Phase } from '../machines/agent/accepts.ts'
import { isBeforeSettling, phaseOf } from '../machines/agent/accepts.ts'
import type { AgentEventOf, EventDraft, Fault, Recorded, RunKey } from '../machines/agent/events.ts'
import type { AgentState } from '../machines/agent/fold.ts'
import { foldAgent, isActive, isBetweenRuns } from '../machines/agent/fold.ts'
import type { ToolUseBlock } from '../machines/agent/messages.ts'
import { isToolUse } from '../machines/agent/messages.ts'
import type { AgentId, CallId } from '../machines/ids.ts'
import { AgentConversation } from './agent-conversation.ts'
import { AgentEquipment } from './agent-equipment.ts'
import { AgentNews } from './agent-news.ts'
import { AgentRequests } from './agent-requests.ts'
import { AgentSnapshots } from './agent-snapshots.ts'
import type { Denial } from './api.ts'
import type { CallLedger } from './call-ledger.ts'
import type { EngineCore } from './core.ts'
import { EffectScope } from './effect-scope.ts'
import { EngineError, JournalError, messageOf, toFault } from './errors.ts'
import { LogDigest } from './log-digest.ts'
import type { LogPlace } from './log-writing.ts'
import { LogWriting } from './log-writing.ts'
import type { MailboxOwner, Posted } from './mailbox.ts'
import { Mailbox } from './mailbox.ts'
import { modeOf } from './mode.ts'
import { Occasion } from './occasion.ts'
import { writeProgress } from './outputs.ts'
import type { ReadAgent } from './read-agent.ts'
import { RunActor } from './run-actor.ts'
import { RunBounds } from './run-bounds.ts'
import { elapsed } from './run-clock.ts'
import { RunNotes } from './run-notes.ts'
import type { Session } from './session.ts'
import { StagedEvents } from './staged-events.ts'
import type { ToldLists } from './tell-listings.ts'
import { planOf, worktreeCwd } from './worktree/own-worktree.ts'

/** What a run is asked with: rendered once, the same bytes in every request. */
export interface Prepared {
  readonly system: string
  readonly tools: readonly ToolDefinition[]
}

/** A run that has ended, as whoever waited for it gets it. */
export interface EndedRun {
  readonly ended: AgentEventOf<'agent.ended'>
  /** Text of the last reply that has any. */
  readonly text: string
  readonly stopReason: string | undefined
  /** Tokens of this run and of the descendants it started. */
  readonly modelUsage: ModelUsage
  readonly apiDurationMs: number
  readonly denials: readonly Denial[]
  /** What a review of its work came to. */
  readonly review: AgentEventOf<'review.ended'>['verdict'] | undefined
}

export class Agent implements MailboxOwner {
  readonly id: AgentId
  readonly session: Session
  #parent: Agent | undefined
  readonly logPath: string
  readonly scope = new EffectScope()
  readonly deltas$ = new Subject<ModelDelta>()
  readonly equipment: AgentEquipment
  readonly requests: AgentRequests
  readonly conversation: AgentConversation
  readonly news: AgentNews
  readonly bounds: RunBounds
  readonly notes = new RunNotes()
  readonly phase$ = new BehaviorSubject<Phase | 'idle'>('idle')

  /** Rendered by the `prepare` effect, or read back at a resume. */
  prepared: Prepared | undefined
  readonly toldLists: ToldLists = new Map()

  #birth: AgentEventOf<'agent.spawned'> | undefined
  #actor: RunActor | undefined
  readonly #log: LogWriting
  #digest = new LogDigest()
  readonly #snapshots: AgentSnapshots
  readonly #staged: StagedEvents
  readonly #mailbox = new Mailbox(this)
  readonly #core: EngineCore
  #hooksNamed = 0
  #late = 0
  readonly #nextEnd = new Occasion<EndedRun>()
  #isStarted = false
  /** Why it goes on no more: its log cannot be written, its machine has failed, or the engine lets go of it. */
  #gone: { readonly kind: 'halted' | 'closed'; readonly reason: EngineError } | undefined

  constructor(
    core: EngineCore,
    session: Session,
    id: AgentId,
    parent: Agent | undefined,
    logPath: string,
    snapshots: AgentSnapshots = new AgentSnapshots(core, session, parent && id, logPath),
  ) {
    this.#core = core
    this.session = session
    this.id = id
    this.#parent = parent
    this.logPath = logPath
    this.#snapshots = snapshots
    this.equipment = new AgentEquipment(core, this)
    this.requests = new AgentRequests(this)
    this.conversation = new AgentConversation(core, this, (error) => this.#stopForReading(error))
    this.news = new AgentNews(this)
    this.bounds = new RunBounds(core, this)
    this.#log = new LogWriting(core, {
      sessionId: session.id,
      agentId: id,
      isSidechain: parent !== undefined,
      cwd: core.cwd,
      version: session.version,
      ...(core.gitBranch !== undefined && { gitBranch: core.gitBranch }),
    })
    this.#staged = new StagedEvents(
      this.#log,
      () => ({ isBorn: this.isBorn, actor: this.#actor }),
      (run) => RunActor.begin(core.machine(), { agentId: id, run }, this.#onActorError, this.#inspector()),
    )
  }

  // ── what it is ───────────────────────────────────────────────────────────────────────────────────────

  get birth(): AgentEventOf<'agent.spawned'> {
    if (this.#birth === undefined) throw new Error(`agent ${this.id} is not born yet`)
    return this.#birth
  }

  get isBorn(): boolean {
    return this.#birth !== undefined
  }

  get run(): RunActor | undefined {
    return this.#actor
  }

  /** Number of the run that is on or was last; 0 before the first. */
  get runNumber(): number {
    return this.#actor?.snapshot.context.run ?? this.#birth?.base?.run ?? 0
  }

  /** What its log says besides run and conversation. */
  get digest(): LogDigest {
    return this.#digest
  }

  get ledger(): CallLedger {
    return this.#digest.ledger
  }

  get seen(): SeenFilesRecord {
    return this.#digest.seen
  }

  /** Whether any of its calls has run a process. */
  get hasRunProcesses(): boolean {
    return this.#digest.hasRunProcesses
  }

  /** Whether the effects of its run are going, or were: a run that was read back and not restarted has none. */
  get isStarted(): boolean {
    return this.#isStarted
  }

  get isRunning(): boolean {
    return this.#actor !== undefined && isActive(this.#actor.snapshot)
  }

  /** Whether ends can still be entrusted to it: the root is told with its next prompt, a child only in its run. */
  get #takesChildren(): boolean {
    const { run } = this.#staged
    return this.parent === undefined || (run !== undefined && isBeforeSettling(run))
  }

  /** Running time of the run in milliseconds. */
  get elapsedMs(): number {
    return elapsed(this.#digest.clock, this.#core.clock.now())
  }

  /** Whether the running time of its run is used up. */
  get isOutOfTime(): boolean {
    return this.#actor?.snapshot.context.isOutOfTime === true
  }

  /** Who started it. */
  get parent(): Agent | undefined {
    return this.#parent
  }

  /** An agent above was read back for another run: what that one is, and may do, counts here from now on. */
  hangOn(above: Agent): void {
    if (this.#parent?.id === above.id) this.#parent = above
    else this.#parent?.hangOn(above)
  }

  /** The model that answers it: its own, or for the rest of a run the one that had to take its place. */
  get model(): string {
    return this.#digest.model ?? this.birth.plan.model.value
  }

  get modelUsage(): ModelUsage {
    return this.#digest.modelUsage
  }

  /** The definition it was made from; undefined for the root, and when it is lost. */
  get definition(): AgentDefinition | undefined {
    return this.session.definitions.of(this.birth.plan)
  }

  /** The permission mode in force, live. */
  get mode(): PermissionMode {
    return modeOf(this.#core, this)
  }

  /** A name for the hooks of one moment, unique in its log. */
  nextHook(): string {
    this.#hooksNamed = Math.max(this.#hooksNamed, this.#digest.hookCount) + 1
    return `hook:${this.#hooksNamed}`
  }

  /** The working directory that all its tools use. */
  get cwd(): string {
    return worktreeCwd(this.#digest.worktree) ?? this.#birth?.plan.cwd ?? this.#core.cwd
  }

  // ── what happens to it ───────────────────────────────────────────────────────────────────────────────

  /** Posts events that belong together; see {@link Mailbox.post}. */
  post(...drafts: readonly EventDraft[]): Promise<Posted> {
    return this.#mailbox.post(...drafts)
  }

  /** The same with events that are asked for when their turn has come, behind everything that was posted before. */
  postLate(drafts: () => readonly EventDraft[]): Promise<Posted> {
    return this.#mailbox.postLate(drafts)
  }

  /** Posts events of which each stands on the one before; see {@link Mailbox.postChain}. */
  postChain(...drafts: readonly EventDraft[]): Promise<Posted> {
    return this.#mailbox.postChain(...drafts)
  }

  /** The end of the run that is on, or of the last one. Rejects when the engine cannot go on with it. */
  ended(): Promise<EndedRun> {
    const { ended } = this.#digest
    if (!this.isRunning && ended !== undefined) return Promise.resolve(this.#endedRun(ended))
    return this.nextEnd()
  }

  /** The next end there is: for a run that is about to start. */
  nextEnd(): Promise<EndedRun> {
    // Who asks after it was stopped would wait for ever.
    if (this.#gone !== undefined) return Promise.reject(this.#gone.reason)
    return this.#nextEnd.next()
  }

  /** Whether nobody waits for its run. */
  get isInBackground(): boolean {
    const value = this.#actor?.snapshot.value
    if (typeof value === 'object' && 'running' in value) return value.running.placement === 'backgrounded'
    return this.#digest.isInBackground
  }

  /** Where its progress and its report are written for others; undefined while somebody waits for it. */
  get outputFile(): string | undefined {
    return this.isInBackground ? this.session.outputFileOf(this.id) : undefined
  }

  /**
   * Takes the end of a run in the background upon itself, unless it is at its own end: then `late`. `takenFrom`: who was
   * owed it so far; undefined for a run that is about to begin.
   */
  takeChild(child: RunKey, takenFrom: AgentId | undefined): Promise<Posted> {
    const launched = { type: 'child.launched' as const, child, ...(takenFrom !== undefined && { takenFrom }) }
    return this.#mailbox.postLate(() => (this.#takesChildren ? [launched] : []))
  }

  /** Why it goes on no more although its run has no end; undefined while it can. */
  get failure(): EngineError | undefined {
    return this.#gone?.kind === 'halted' ? this.#gone.reason : undefined
  }

  /** A delta of a reply: shown, never stored. */
  delta(delta: ModelDelta): void {
    this.deltas$.next(delta)
    this.#core.emit({ kind: 'delta', sessionId: this.session.id, agentId: this.id, delta })
  }

  /** Counts what was refused to a descendant. */
  addDenials(denials: readonly Denial[]): void {
    this.#digest.addDenials(denials)
  }

  /** Stops it, as its log cannot be read or is not what its snapshot says. */
  async #stopForReading(error: unknown): Promise<EngineError> {
    await this.#snapshots.discard()
    const failure = EngineError.is(error) ? error : this.#readFailure(error)
    this.#stopFor(failure)
    return failure
  }

  #readFailure(error: unknown): JournalError {
    const code = StorageError.is(error) ? error.code : 'io'
    return new JournalError(
      `journal-${code}`,
      `agent ${this.id} stopped: its log ${this.logPath} could not be read (${messageOf(error)}). ` +
        'Nothing of it was changed; make it readable and resume the session.',
      error,
    )
  }

  /** What a call of its last reply asks for, as the model wrote it. */
  toolUse(callId: CallId): ToolUseBlock | undefined {
    return this.#digest.toolUse(callId)
  }

  /** Whether the model's own token limit cut its last reply off inside this call. */
  isCut(callId: CallId): boolean {
    const reply = this.#digest.lastReply
    if (reply === undefined || reply.reply.stop_reason !== 'max_tokens') return false
    const last = reply.reply.content.at(-1)
    return last !== undefined && isToolUse(last) && reply.calls.at(-1)?.callId === callId
  }

  /** Whether the run was prepared with a tool of this name. */
  mayUse(toolName: string): boolean {
    return this.prepared?.tools.some(({ name }) => name === toolName) === true
  }

  /** Whether it is its parent at the moment of the call, on a task of its own. */
  get isFork(): boolean {
    return this.birth.inherits?.fork !== undefined
  }

  /** Whether the directive of a fork stands in its conversation: its own, or that of one whose conversation it goes on from. */
  get hasForkDirective(): boolean {
    const isHeir = this.birth.inherits !== undefined
    return this.isFork || (isHeir && this.parent?.hasForkDirective === true)
  }

  /** Who asks, for usage and telemetry. */
  get requestSource(): string {
    if (this.parent === undefined) return 'main'
    if (this.isFork) return 'fork'
    return `agent:${this.definition?.source ?? 'unknown'}:${this.birth.plan.agentType}`
  }

  /**
   * Ends the run that is on, and its agents in the background with it unless they are spared. Resolves when it has
   * ended; at once when none is on.
   */
  async kill(by: string, reason?: string, spares?: 'background'): Promise<void> {
    if (!this.isRunning) return
    // One that was read back and waits for its parent: it ends by its own effects, as any other.
    this.restart()
    const ended = this.nextEnd()
    ended.catch(() => {})
    await this.post({
      type: 'kill.requested',
      by,
      ...(reason !== undefined && { reason }),
      ...(spares !== undefined && { spares }),
    })
    await ended
  }

  /** Whether anything can still happen to it. */
  get isOpen(): boolean {
    return this.#gone === undefined && this.#mailbox.isOpen
  }

  /** Takes no more events; a run that is on is recorded as suspended first. */
  async seal(): Promise<void> {
    // Also for an agent without a run: its first may be on its way to the disk, and must not begin behind the close.
    const last = (): readonly EventDraft[] =>
      isActive(this.#staged.run) ? [{ type: 'run.suspended', reason: 'closed' }] : []
    // A log that cannot be written any more has halted the agent already, with its own error.
    await this.#mailbox.closeWith(last).catch(() => {})
  }

  /** Aborts what is in flight, without an end. Resolves when nothing of the agent runs any more. */
  async stop(reason: EngineError): Promise<void> {
    this.#snapshotIfDue(true)
    this.#gone ??= { kind: 'closed', reason }
    this.#core.keepAlive.release(this)
    this.bounds.end()
    this.#actor?.stop()
    this.#nextEnd.fails(reason)
    await this.scope.settled()
    await this.equipment.close()
    this.deltas$.complete()
    this.phase$.complete()
  }

  /** Takes what its log says. Nothing runs before {@link restart}. */
  restore(read: LogPlace & Pick<ReadAgent, 'state' | 'digest' | 'conversation'>): void {
    this.#restoreState(read)
    this.conversation.restore(read.conversation)
  }

  #restoreState(read: LogPlace & Pick<ReadAgent, 'state' | 'digest'>): void {
    const { state } = read
    this.#birth = state.birth
    this.#log.goOnFrom(read)
    this.#digest = read.digest
    this.#describeItself()
    if (state.run !== undefined) {
      this.#actor = RunActor.restore(this.#core.machine(), state.run, this.#onActorError, this.#inspector())
    }
  }

  /**
   * Writes events of a restored agent before anything of it runs, and folds them: `restore` is called again with
   * what they lead to, so that no effect of the state before them ever starts.
   */
  async amend(state: AgentState, drafts: readonly EventDraft[]): Promise<void> {
    let folded = state
    const lines: Encoded[] = []
    for (const draft of drafts) {
      const encoded = this.#log.encode(draft, lines.at(-1))
      folded = foldAgent(folded, encoded.recorded.event)
      lines.push(encoded)
    }
    await this.append(lines.map(({ text }) => text).join(''))
    for (const encoded of lines) this.#take(encoded)
    this.#restoreState({ state: folded, digest: this.#digest, ...this.#log.place })
    for (const { recorded } of lines) this.#emitFact(recorded)
  }

  /** Starts the effects of the restored state again. */
  restart(): void {
    // A close may have come while its session was brought back: nothing of it begins behind that.
    if (this.#isStarted || !this.isRunning || !this.isOpen) return
    this.#isStarted = true
    this.#core.keepAlive.hold(this)
    this.#actor?.start()
    this.bounds.deadline?.begin()
    this.#showPhase()
  }

  // ── mailbox ──────────────────────────────────────────────────────────────────────────────────────────

  stage(draft: EventDraft): { readonly recorded: Recorded; readonly text: string } | 'late' {
    return this.#staged.stage(draft)
  }

  unstage(): void {
    this.#staged.forget()
  }

  append(text: string): MaybePromise<void> {
    return this.#core.storage.append([{ path: this.logPath, text }])
  }

  apply(recorded: Recorded): void {
    const { encoded, actor } = this.#staged.next(recorded)
    const { event } = recorded
    if (event.type === 'agent.spawned') {
      this.#birth = event
      this.conversation.begin()
    }
    if (actor !== this.#actor) {
      this.#actor = actor
      this.#isStarted = true
      this.#core.keepAlive.hold(this)
      this.#actor?.start()
    }
    this.#take(encoded)
    this.bounds.settle(event)
    if (event.type !== 'agent.spawned' && !isBetweenRuns(this.#actor?.snapshot, event))
      this.#actor?.apply(event)
    this.#emitFact(recorded)
    this.#showPhase()
    this.bounds.follow(event)
    // What the lists said is gone from the conversation.
    if (event.type === 'conversation.compacted') this.toldLists.clear()
    this.news.follow(event)
    if (event.type === 'agent.ended') this.#onEnd(event)
    // Behind the last of a batch, log and agent are at one.
    if (this.#staged.isEmpty) this.#snapshotIfDue(false)
  }

  halt(error: unknown): void {
    const code = StorageError.is(error) ? error.code : 'io'
    const failure = new JournalError(
      `journal-${code}`,
      `agent ${this.id} stopped: its log ${this.logPath} could not be written (${messageOf(error)}). ` +
        'Everything before is safe; free the disk or fix its permissions and resume the session.',
      error,
    )
    this.#stopFor(failure)
  }

  #stopFor(failure: EngineError): void {
    const wasRunning = this.isRunning
    this.#gone ??= { kind: 'halted', reason: failure }
    this.#core.keepAlive.release(this)
    this.#mailbox.close()
    this.bounds.end()
    this.bounds.release()
    this.#actor?.stop()
    this.#nextEnd.fails(failure)
    if (wasRunning) this.session.onHalt(this, failure.message)
  }

  late(draft: EventDraft): void {
    this.#late += 1
    this.#core.emit({
      kind: 'late',
      sessionId: this.session.id,
      agentId: this.id,
      type: draft.type,
      count: this.#late,
    })
  }

  // ── inside ───────────────────────────────────────────────────────────────────────────────────────────

  /** Takes what is durable now: everything that is derived from the log, event by event. */
  #take(encoded: Encoded): void {
    const { recorded } = encoded
    const place = this.#log.noteDurable(encoded)
    this.notes.push(recorded.event)
    this.#digest.push(recorded, place)
    this.#describeItself()
    this.conversation.push(recorded)
    this.#snapshots.count()
  }

  /** Lines of the log say where the agent works; a worktree has a branch of its own. */
  #describeItself(): void {
    const { cwd } = this
    if (this.#log.cwd === cwd) return
    const own = this.#digest.worktree
    const branch = own && worktreeCwd(own) === cwd ? planOf(this.id, own)?.branch : this.#core.gitBranch
    this.#log.moveTo(cwd, branch)
  }

  #snapshotIfDue(closing: boolean): void {
    if (this.#gone?.kind !== 'halted') this.#snapshots.writeIfDue(this, this.#log.place, closing)
  }

  #endedRun(ended: AgentEventOf<'agent.ended'>): EndedRun {
    const { reportText, stopReason, modelUsage, denials, review } = this.#digest
    return {
      ended,
      text: reportText,
      stopReason,
      modelUsage,
      apiDurationMs: this.notes.apiDurationMs,
      denials,
      review: review?.verdict,
    }
  }

  #onEnd(ended: AgentEventOf<'agent.ended'>): void {
    this.#core.keepAlive.release(this)
    const end = this.#endedRun(ended)
    this.#nextEnd.happens(end)
    this.session.onEnd(this, end)
  }

  #emitFact(recorded: Recorded): void {
    writeProgress(this.#core, this, recorded)
    this.#core.emit({ kind: 'fact', sessionId: this.session.id, agentId: this.id, ...recorded })
  }

  #showPhase(): void {
    const phase = this.#actor === undefined ? 'idle' : phaseOf(this.#actor.snapshot)
    if (phase !== this.phase$.value) this.phase$.next(phase)
  }

  /** A bug of the machine or of XState: every expected failure is an event. The log is whole, the run is not. */
  readonly #onActorError = (error: unknown): void => {
    this.#stopFor(
      new EngineError(
        'actor-failed',
        `agent ${this.id} stopped: its state machine failed (${messageOf(error)}). ` +
          'Its log is whole; resuming the session starts it again where it was.',
        error,
      ),
    )
  }

  #inspector() {
    return this.#core.inspect?.(this)
  }

  /** Fault of an effect: an event like any other. */
  fault(error: unknown, where: string): void {
    const fault: Fault = toFault(error, where)
    // A rejected post means that the log is gone: the agent has been halted with a better error.
    this.post({ type: 'agent.faulted', fault }).catch(() => {})
  }
}
