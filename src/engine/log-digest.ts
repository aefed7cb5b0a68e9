/**
 * What the engine makes of a log besides the run (the machine's) and the conversation: small, whatever the length of
 * the log, and a value that JSON can hold.
 *
 *   G1  One fold, {@link LogDigest.push}, live and at a resume alike: the digest is a function of the log alone.
 *   G2  `LogDigest.from(digest.value())` goes on as `digest` does. No content of the conversation is in the value: of
 *       the two replies that may still be needed it has the place in the log.
 */

import { keptReport } from '../definitions/hooks/stop-continuation.ts'
import type { SeenFilesRecord } from '../effects/tools/seen-files.ts'
import { createSeenFiles } from '../effects/tools/seen-files.ts'
import type { Span } from '../journal/log-items.ts'
import { callIdsOf } from '../journal/projections/conversation.ts'
import type { ModelUsage } from '../journal/projections/usage.ts'
import { addModelUsage, requestUsageOf } from '../journal/projections/usage.ts'
import type { AgentEventOf, Recorded, RunKey } from '../machines/agent/events.ts'
import type { ToolResultBlock, ToolUseBlock } from '../machines/agent/messages.ts'
import { isText, isToolUse, textOf } from '../machines/agent/messages.ts'
import type { AgentId, BlobHash, CallId } from '../machines/ids.ts'
import type { Denial } from './api.ts'
import { CallLedger } from './call-ledger.ts'
import type { DigestValue, ReplyPlace } from './digest-value.ts'
import type { RecordedHook } from './hook-ledger.ts'
import { HookLedger } from './hook-ledger.ts'
import { Inbox } from './inbox.ts'
import type { RunClock } from './run-clock.ts'
import { STOPPED_CLOCK, tick } from './run-clock.ts'
import { TaskLedger } from './task-ledger.ts'
import { modelUsageOf } from './tree-usage.ts'
import { type OwnWorktree, worktreeAfter } from './worktree/own-worktree.ts'

type Reply = AgentEventOf<'reply.received'>

/** A change of the permission mode, and the run in which it came. */
export interface ModeChange {
  readonly run: number
  readonly event: AgentEventOf<'mode.changed'>
}

/** A reply and its place; the reply itself is there when somebody may need it. */
interface Placed {
  readonly place: ReplyPlace
  readonly event: Reply | undefined
}

/** Replies that a value only knows the place of, read back from the log. */
export interface ReadReplies {
  readonly lastReply: Reply | undefined
  readonly report: Reply | undefined
}

export class LogDigest {
  readonly ledger = new CallLedger()
  readonly seen: SeenFilesRecord = createSeenFiles()
  #agentId: AgentId | undefined
  #leftChildren: readonly AgentId[] = []
  #clock: RunClock = STOPPED_CLOCK
  #modelUsage: ModelUsage = {}
  #denials: readonly Denial[] = []
  #ended: AgentEventOf<'agent.ended'> | undefined
  #prepared: AgentEventOf<'agent.prepared'> | undefined
  #review: AgentEventOf<'review.ended'> | undefined
  #hasRunProcesses = false
  #isSuspended = false
  #acceptedDamage: readonly Span[] = []
  #run = 0
  #lastReply: Placed | undefined
  #report: Placed | undefined
  #stopReason: string | undefined
  #told: Readonly<Record<string, BlobHash>> = {}
  #hooks = new HookLedger()
  /** The report that a stop hook found, where it stays. */
  #kept: string | undefined
  /** The reason for which it agreed to stop: its last word. */
  #parting: string | undefined
  #grants: readonly AgentEventOf<'permission.granted'>[] = []
  #servers: readonly AgentEventOf<'server.started'>[] = []
  #inbox = new Inbox()
  #task = new TaskLedger()
  #isInBackground = false
  #worktree: OwnWorktree | undefined
  #mode: ModeChange | undefined
  #warned: readonly string[] = []
  #model: string | undefined
  readonly #names = new Map<string, AgentId>()

  /** The digest that {@link value} was taken of. */
  static from(value: DigestValue, replies: ReadReplies): LogDigest {
    const digest = new LogDigest()
    digest.ledger.restore(value)
    digest.#review = value.review
    digest.#mode = value.mode
    digest.#grants = value.grants ?? []
    digest.#hooks = HookLedger.from(value.hooks ?? {}, value.hookCount ?? 0)
    digest.#agentId = value.agentId
    digest.seen.note(value.seen)
    digest.#leftChildren = value.leftChildren
    digest.#clock = { ...value.clock, since: value.clock.since }
    digest.#modelUsage = value.modelUsage
    digest.#denials = value.denials.map((denial) => ({ ...denial, toolInput: denial.toolInput }))
    digest.#ended = value.ended
    digest.#prepared = value.prepared
    digest.#hasRunProcesses = value.hasRunProcesses
    digest.#isSuspended = value.isSuspended
    digest.#acceptedDamage = value.acceptedDamage
    digest.#run = value.run
    digest.#lastReply = value.lastReply && { place: value.lastReply, event: replies.lastReply }
    digest.#report = value.report && { place: value.report, event: replies.report }
    digest.#stopReason = value.stopReason
    digest.#told = value.told ?? {}
    digest.#servers = value.servers ?? []
    digest.#inbox = Inbox.from(value)
    digest.#task = TaskLedger.from(value.task)
    digest.#isInBackground = value.isInBackground === true
    digest.#worktree = value.worktree
    digest.#warned = value.warned ?? []
    digest.#model = value.model
    for (const [name, agentId] of Object.entries(value.names ?? {})) digest.#names.set(name, agentId)
    return digest
  }

  /** Takes the next event of the log. `span`: the bytes of its lines. */
  push(recorded: Recorded, span: Span): void {
    const { event } = recorded
    this.#isSuspended = event.type === 'run.suspended'
    switch (event.type) {
      case 'agent.spawned':
        this.#agentId = event.agentId
        if (event.inherits?.seen !== undefined) this.seen.note(event.inherits.seen)
        break
      case 'run.started':
        this.#run = event.run
        this.#modelUsage = {}
        this.#denials = []
        this.#prepared = undefined
        this.#review = undefined
        this.#report = undefined
        this.#hooks.beginRun()
        this.#kept = undefined
        this.#parting = undefined
        this.#warned = []
        this.#model = undefined
        this.#isInBackground = event.background === true
        this.#takeNews(event)
        break
      case 'agent.backgrounded':
        this.#isInBackground = true
        break
      case 'stop.blocked':
        if (event.keepsReport === true) this.#kept ??= this.reportText
        this.#parting = undefined
        break
      case 'agent.prepared':
        this.#prepared = event
        break
      case 'conversation.compacted':
        // Lists are told again; what stood before the task is kept by the compaction.
        this.#told = keepTold(this.#told, LASTING)
        break
      case 'model.changed':
        this.#model = event.to
        break
      case 'name.registered':
        this.#names.set(event.name, event.agentId)
        break
      case 'budget.warned':
        this.#warned = [...this.#warned, event.limit]
        break
      case 'agent.ended':
        this.#ended = event
        this.#inbox.endRun()
        break
      case 'review.ended':
        this.#review = event
        break
      case 'process.started':
        this.#hasRunProcesses = true
        break
      case 'run.resumed':
        if (event.acceptedDamage !== undefined)
          this.#acceptedDamage = [...this.#acceptedDamage, ...event.acceptedDamage]
        break
      case 'reply.received':
        this.#pushReply(event, span)
        break
      case 'call.ended':
        this.#pushCallEnd(event)
        break
      case 'hook.started':
      case 'hook.process_started':
      case 'hook.ended':
        this.#hooks.push(event)
        break
      case 'permission.granted':
        this.#grants = [...this.#grants, event]
        break
      case 'mode.changed':
        this.#mode = { run: this.#run, event }
        break
      case 'server.started':
        this.#servers = [...this.#servers, event]
        break
      case 'message.added':
        if (event.state !== undefined) this.#told = { ...this.#told, [event.about]: event.state }
        this.#takeNews(event)
        break
      case 'child.launched':
        this.#inbox.owe(event.child, event.takenFrom)
        break
      case 'child.released':
        this.#inbox.release([event.child])
        if (event.modelUsage !== undefined)
          this.#modelUsage = addModelUsage(this.#modelUsage, event.modelUsage)
        break
      case 'message.accepted':
        this.#inbox.accept(event)
        break
      case 'worktree.requested':
      case 'worktree.created':
      case 'worktree.decided':
      case 'worktree.removed':
      case 'worktree.left':
        this.#worktree = worktreeAfter(this.#worktree, event)
        break
      default:
    }
    if (ENDS_OF_REQUESTS.has(event.type))
      this.#modelUsage = addModelUsage(this.#modelUsage, requestUsageOf(event))
    this.ledger.push(recorded)
    this.#task.push(recorded)
    this.#clock = tick(this.#clock, recorded)
  }

  /** What a line of the conversation tells of others. */
  #takeNews({ tells, injects }: Pick<AgentEventOf<'message.added'>, 'tells' | 'injects'>): void {
    if (tells !== undefined) {
      this.#inbox.tell(tells)
      for (const { modelUsage } of tells)
        if (modelUsage !== undefined) this.#modelUsage = addModelUsage(this.#modelUsage, modelUsage)
    }
    if (injects !== undefined) this.#inbox.read(injects)
  }

  #pushReply(event: Reply, { from, to }: Span): void {
    const placed: Placed = { place: { from, to, seq: event.seq, run: this.#run }, event }
    this.#lastReply = placed
    if (textOf(event.reply.content) !== '') this.#report = placed
    this.#stopReason = event.reply.stop_reason
  }

  #pushCallEnd(event: AgentEventOf<'call.ended'>): void {
    if (event.files !== undefined) this.seen.note(event.files)
    if (event.injects !== undefined) this.#inbox.read(event.injects)
    if (event.answers !== undefined) {
      this.#inbox.answer(event.answers.requestId)
      if (event.answers.approve) this.#parting = event.answers.reason
    }
    const child = this.ledger.get(event.callId)?.started.child
    this.#hooks.forgetCall(event.callId)
    if (event.delivered !== undefined) {
      this.#modelUsage = addModelUsage(this.#modelUsage, modelUsageOf(event.toolUseResult))
      this.#inbox.tell([event.delivered])
    } else if (child !== undefined && !this.owed.some(({ agentId }) => agentId === child.agentId)) {
      this.#leftChildren = [...this.#leftChildren, child.agentId]
    }
    if (event.outcome === 'denied' && this.#agentId !== undefined) {
      const block = this.toolUse(event.callId)
      const denial: Denial = {
        agentId: this.#agentId,
        callId: event.callId,
        toolName: block?.name ?? '',
        toolUseId: event.result.tool_use_id,
        toolInput: block?.input,
        reason: refusalIn(event.result),
      }
      this.addDenials([denial])
    }
  }

  /** Remembers what was refused to a descendant, too: of this run, and not in this log. */
  addDenials(denials: readonly Denial[]): void {
    if (denials.length > 0) this.#denials = [...this.#denials, ...denials]
  }

  /** What a call of the last reply asks for, as the model wrote it. */
  toolUse(callId: CallId): ToolUseBlock | undefined {
    const event = this.#lastReply?.event
    const index = event === undefined ? -1 : callIdsOf(event).indexOf(callId)
    const block = event?.reply.content[index]
    return block !== undefined && isToolUse(block) ? block : undefined
  }

  /** Children of calls whose result is not the child's end, oldest first. */
  get leftChildren(): readonly AgentId[] {
    return this.#leftChildren
  }

  get clock(): RunClock {
    return this.#clock
  }

  /** Tokens of this run, own and delivered. */
  get modelUsage(): ModelUsage {
    return this.#modelUsage
  }

  get denials(): readonly Denial[] {
    return this.#denials
  }

  /** The end of the last run that has ended. */
  get ended(): AgentEventOf<'agent.ended'> | undefined {
    return this.#ended
  }

  /** What the run that is on, or was last, is asked with. */
  get prepared(): AgentEventOf<'agent.prepared'> | undefined {
    return this.#prepared
  }

  /** What the review of this run came to. */
  get review(): AgentEventOf<'review.ended'> | undefined {
    return this.#review
  }

  /** Whether the end of the last run says that its work has yet to be reviewed, and no verdict stands behind it. */
  get owesReview(): boolean {
    return this.#ended?.review === 'owed' && this.#ended.run === this.#run && this.#review === undefined
  }

  get hasRunProcesses(): boolean {
    return this.#hasRunProcesses
  }

  /** Whether the last event says that the run was switched off. */
  get isSuspended(): boolean {
    return this.#isSuspended
  }

  /** Damage that somebody has agreed to go on with. */
  get acceptedDamage(): readonly Span[] {
    return this.#acceptedDamage
  }

  /** The last reply of all, if it is at hand: after a snapshot only while calls of it are open. */
  get lastReply(): Reply | undefined {
    return this.#lastReply?.event
  }

  /** Text of the last reply of this run that has any, or the reason for which it stopped; empty when there is none. */
  get reportText(): string {
    const last = this.#parting ?? this.#lastText
    return this.#kept === undefined ? last : keptReport(this.#kept, last).text
  }

  /** Whether the report is not simply the last text. */
  get keepsReport(): boolean {
    return this.#kept !== undefined || this.#parting !== undefined
  }

  get #lastText(): string {
    return this.#report?.event === undefined ? '' : textOf(this.#report.event.reply.content)
  }

  /** Hooks of this run, by their moment. */
  get hooks(): ReadonlyMap<string, readonly RecordedHook[]> {
    return this.#hooks.byMoment
  }

  /** How many hooks this agent has ever started. */
  get hookCount(): number {
    return this.#hooks.count
  }

  /** Rules that were granted while it ran. */
  get grants(): readonly AgentEventOf<'permission.granted'>[] {
    return this.#grants
  }

  /** The last change of its permission mode. */
  get modeChange(): ModeChange | undefined {
    return this.#mode
  }

  /** MCP servers that were started; a root's may be those of its session, which outlive its runs. */
  get servers(): readonly AgentEventOf<'server.started'>[] {
    return this.#servers
  }

  /** What the conversation was last told about something that changes: the blob with all of it. */
  told(about: string): BlobHash | undefined {
    return this.#told[about]
  }

  /** Runs in the background whose ends it has not been told, oldest first. */
  get owed(): readonly RunKey[] {
    return this.#inbox.owed
  }

  /** Ends that were taken over from that agent, told or not; none when it is known to have come to its end. */
  takenOverFrom(agentId: AgentId): readonly RunKey[] {
    return this.#inbox.takenOverFrom(agentId)
  }

  /** Whether nobody waits for the run that is on, or was last. */
  get isInBackground(): boolean {
    return this.#isInBackground
  }

  /** The model that answers this run in place of its own; undefined: its own does. */
  get model(): string | undefined {
    return this.#model
  }

  /** Of a root: the last agent of each name. */
  get names(): ReadonlyMap<string, AgentId> {
    return this.#names
  }

  /** Budgets that this run was warned of. */
  get warned(): readonly string[] {
    return this.#warned
  }

  /** Messages of other agents that are not in the conversation yet, oldest first. */
  get mail(): readonly AgentEventOf<'message.accepted'>[] {
    return this.#inbox.mail
  }

  /** Requests to stop that it has read in this run and not answered: who asked, by the id of the request. */
  get stopRequests(): ReadonlyMap<string, AgentId> {
    return this.#inbox.stopRequests
  }

  /** Whether it has got this message already. Asked only of a sender's last one. */
  hasMessage(messageId: string): boolean {
    return this.#inbox.has(messageId)
  }

  /** The worktree that the agent has, is getting or had last. */
  get worktree(): OwnWorktree | undefined {
    return this.#worktree
  }

  /** What a task shows of the agent. */
  get task(): TaskLedger {
    return this.#task
  }

  /** Why the model stopped last. */
  get stopReason(): string | undefined {
    return this.#stopReason
  }

  /** The digest as a value, shared parts included: take its JSON, do not change it. Only what the log says is in it. */
  value(): DigestValue {
    const { before, since, last } = this.#clock
    return {
      ...this.#inbox.value(),
      ...(this.#model !== undefined && { model: this.#model }),
      ...(this.#names.size > 0 && { names: Object.fromEntries(this.#names) }),
      ...(this.#warned.length > 0 && { warned: [...this.#warned] }),
      ...(this.#isInBackground && { isInBackground: true as const }),
      ...(this.#agentId !== undefined && { agentId: this.#agentId }),
      ...this.ledger.value(),
      task: this.#task.value(),
      ...(this.#review !== undefined && { review: this.#review }),
      ...(this.#mode !== undefined && { mode: { run: this.#mode.run, event: this.#mode.event } }),
      ...(this.#hooks.byMoment.size > 0 && { hooks: this.#hooks.value() }),
      ...(this.#hooks.count > 0 && { hookCount: this.#hooks.count }),
      ...(this.#grants.length > 0 && { grants: [...this.#grants] }),
      leftChildren: [...this.#leftChildren],
      clock: { before, last, ...(since !== undefined && { since }) },
      modelUsage: this.#modelUsage,
      denials: this.#denials.filter((denial) => denial.agentId === this.#agentId),
      seen: [...this.seen.files()],
      ...(this.#ended !== undefined && { ended: this.#ended }),
      ...(this.#prepared !== undefined && { prepared: this.#prepared }),
      hasRunProcesses: this.#hasRunProcesses,
      isSuspended: this.#isSuspended,
      acceptedDamage: this.#acceptedDamage.map(({ from, to }) => ({ from, to })),
      run: this.#run,
      ...(this.#lastReply !== undefined && { lastReply: this.#lastReply.place }),
      ...(this.#report !== undefined && { report: this.#report.place }),
      ...(this.#stopReason !== undefined && { stopReason: this.#stopReason }),
      ...(Object.keys(this.#told).length > 0 && { told: this.#told }),
      ...(this.#servers.length > 0 && { servers: [...this.#servers] }),
      ...(this.#worktree !== undefined && { worktree: this.#worktree }),
    }
  }
}

/** Outcomes of requests to models. */
const ENDS_OF_REQUESTS: ReadonlySet<string> = new Set([
  'reply.received',
  'review.ended',
  'call.classified',
  'conversation.compacted',
  'compaction.failed',
  'progress.summarised',
])

/** What is told once before a task, and stays in the conversation over a compaction. */
const LASTING: readonly string[] = ['context']

const keepTold = (
  told: Readonly<Record<string, BlobHash>>,
  about: readonly string[],
): Readonly<Record<string, BlobHash>> =>
  Object.fromEntries(Object.entries(told).filter(([name]) => about.includes(name)))

/** Why a call was refused: the first text of its result. What hooks and reminders add stands behind it. */
function refusalIn({ content = '' }: ToolResultBlock): string {
  return typeof content === 'string' ? content : (content.find(isText)?.text ?? '')
}
