/**
 * What can happen to an agent: one discriminated union, the vocabulary of every log.
 *
 * Past facts, `noun.past`. Each event is a loose object, so that a field of a newer version survives a round trip;
 * the small values inside are closed. Conversation events (`run.started`, `reply.received`, `call.ended`) are stored as transcript lines,
 * all others as short lifecycle lines; the codec in `journal/` knows which. Time, ids and anything random are
 * data in here: a machine never asks for them.
 */
import * as z from 'zod'
import type { PermissionMode } from '../../definitions/permission-mode.ts'
import type { Verdict } from '../../definitions/review/verdict.ts'
import { AgentId, BlobHash, CallId } from '../ids.ts'
import { PromptContent, Reply, ResultContent, ToolResultBlock, Usage } from './messages.ts'

/** The version of the agent machine that new runs are recorded under. A change that would fold a recorded history differently raises it. */
export const MACHINE_VERSION = 1

/** A resolved value and the rule that decided it, so that anyone can ask why. */
const resolved = <T extends z.ZodType>(value: T) => z.object({ value, rule: z.string() })

/** An error as data: what happened, and whether trying again later makes sense. */
export const Fault = z.looseObject({
  code: z.string(),
  message: z.string(),
  retryable: z.boolean(),
})
export type Fault = z.infer<typeof Fault>

/** Who a message is from (law 12). Set by the engine, never by text. */
export const Origin = z.discriminatedUnion('from', [
  z.object({ from: z.literal('user') }),
  z.object({ from: z.literal('agent'), agentId: AgentId }),
  z.object({ from: z.literal('hook'), hook: z.string() }),
  z.object({ from: z.literal('engine') }),
])
export type Origin = z.infer<typeof Origin>

const PermissionModeName = z.enum([
  'plan',
  'dontAsk',
  'default',
  'acceptEdits',
  'auto',
  'bypassPermissions',
  'bubble',
]) satisfies z.ZodType<PermissionMode>

/** What a spawn was routed to, as the parent's log keeps it. The task itself is in the parent's call. */
export const SpawnPlan = z.looseObject({
  agentType: z.string(),
  description: z.string(),
  model: resolved(z.string()),
  mode: resolved(PermissionModeName),
  maxTurns: resolved(z.number().int().positive()).optional(),
  cwd: z.string().optional(),
  // What is ordinary is left out: no isolation, in the foreground, without thinking.
  isolation: resolved(z.string()).optional(),
  background: resolved(z.boolean()).optional(),
  thinking: resolved(z.string()).optional(),
  effort: resolved(z.union([z.enum(['low', 'medium', 'high']), z.number()])).optional(),
  tokens: resolved(z.number().int().positive()).optional(),
  /** What it takes over of its parent's conversation. */
  conversation: resolved(z.enum(['all', 'turn'])).optional(),
  /** Its prompt and its tools are its parent's, to the byte. */
  isFork: z.literal(true).optional(),
  /** The definition as it was then: a blob. Absent: the root's, which has none, and in logs of the first version. */
  definition: BlobHash.optional(),
})
export type SpawnPlan = z.infer<typeof SpawnPlan>

// ── the agent ────────────────────────────────────────────────────────────────────────────────────────────

/**
 * What a branch shares with the log that it goes on from. Shared lines are read where they are, never copied, so the
 * base has to stay as it was up to there.
 */
export const Base = z.looseObject({
  /** Session that the shared lines are of; as its own program names it. */
  sessionId: z.string(),
  path: z.string(),
  /** Who wrote the base: us, or Claude Code. */
  format: z.enum(['troupe', 'claude-code']),
  /** Position of the last shared line. */
  seq: z.number().int().nonnegative(),
  /** The run that was on there, or was last; 0 before the first. The branch counts on from it. */
  run: z.number().int().nonnegative(),
  /** Id of the last shared line, where the base has no positions of its own. */
  line: z.string().optional(),
  /** SHA-256 of the last shared line (of all lines of a reply), without the line feed at its end. */
  hash: BlobHash,
})
export type Base = z.infer<typeof Base>

/** A file as a call left or saw it: the hash of its content, null when there is none. */
export const SeenFile = z.object({ path: z.string(), hash: z.string().nullable() })
export type SeenFile = z.infer<typeof SeenFile>

/** What an agent begins with of its parent's conversation. Shared lines are read in the parent's log, never copied. */
export const Inherited = z.looseObject({
  /** First line of the parent's reply that made the call: what stands before it is shared, and its words. */
  seq: z.number().int().nonnegative(),
  /** All of it, or what came since the prompt of the parent's run. */
  from: z.enum(['all', 'turn']),
  /** Of a fork: the prompt and the tools that its parent was asked with, to the byte. */
  fork: z.looseObject({ system: BlobHash, tools: BlobHash }).optional(),
  /** Files that the parent had seen, as it had seen them. */
  seen: z.array(SeenFile).optional(),
})
export type Inherited = z.infer<typeof Inherited>

// ── verdicts ─────────────────────────────────────────────────────────────────────────────────────────────

/**
 * What the classifier says of a call or of the work of a run. `unavailable` is no judgement: it could not be asked, or
 * its answer could not be read.
 */
const AnyVerdict = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('allow'), reason: z.string().optional() }),
  z.object({ kind: z.literal('flag'), reason: z.string() }),
  z.object({ kind: z.literal('block'), reason: z.string() }),
  z.object({
    kind: z.literal('unavailable'),
    cause: z.enum(['timeout', 'refusal', 'malformed', 'error', 'stopped']),
    why: z.string(),
  }),
]) satisfies z.ZodType<Verdict>

/** What asking the classifier came to, and what it cost: one request of source `classifier`, or none that was answered. */
const judged = {
  verdict: AnyVerdict,
  /** As the reply names it. Absent when there was none. */
  model: z.string().optional(),
  usage: Usage.optional(),
  durationMs: z.number().int().nonnegative(),
}

/** First line of every log: who this agent is, each value with the rule that decided it. */
export const AgentSpawned = z.looseObject({
  type: z.literal('agent.spawned'),
  agentId: AgentId,
  depth: z.number().int().nonnegative(),
  parent: z.looseObject({ agentId: AgentId, callId: CallId, toolUseId: z.string() }).optional(),
  plan: SpawnPlan,
  /** Only for the root of a branched session: what comes before its first line. */
  base: Base.optional(),
  /** What it begins with of its parent's conversation. Absent: nothing, it knows its task. */
  inherits: Inherited.optional(),
  /** Root only: values in force for the session (feature gates, rules of the host), so that a resume decides alike. */
  session: z.looseObject({}).optional(),
})

/** The prompt and the tools of the run are rendered and stored; the first request may follow. */
export const AgentPrepared = z.looseObject({
  type: z.literal('agent.prepared'),
  system: BlobHash,
  tools: BlobHash,
  /** How the report is looked at before the run may complete. Absent: not at all. */
  report: z
    .looseObject({
      /** It must satisfy the definition's schema. */
      hasSchema: z.boolean(),
      /** How often the agent is asked once more for a report that is missing or does not fit. */
      corrections: z.number().int().nonnegative(),
    })
    .optional(),
  /** What the run hands in is reviewed before it may end. Absent: it is not. */
  review: z.literal(true).optional(),
})

// ── a tree of its own ────────────────────────────────────────────────────────────────────────────────────

/** A worktree is about to be made for the agent: durable before there is anything of it. */
export const WorktreeRequested = z.looseObject({
  type: z.literal('worktree.requested'),
  name: z.string(),
  /** The directory that the agent, or whoever started it, works in. */
  from: z.string(),
  /** Where it will be. Absent: a hook makes the folder and says where. */
  git: z
    .looseObject({ path: z.string(), branch: z.string(), base: z.string(), repository: z.string() })
    .optional(),
})

/** It is there: from here on it is the agent's working directory. Said again when it was made again at a resume. */
export const WorktreeCreated = z.looseObject({
  type: z.literal('worktree.created'),
  path: z.string(),
  /** The caller had uncommitted changes, and they are not in it. */
  lacksChanges: z.literal(true).optional(),
})

/** Nobody works in it any more; what becomes of it. */
export const WorktreeDecided = z.looseObject({
  type: z.literal('worktree.decided'),
  fate: z.enum(['kept', 'removed']),
  reasons: z.array(z.string()).min(1),
})

/** Folder and branch are gone. */
export const WorktreeRemoved = z.looseObject({ type: z.literal('worktree.removed') })

/** The agent is back in the directory that it came from, while it goes on: only of one that entered at a word. */
export const WorktreeLeft = z.looseObject({ type: z.literal('worktree.left') })

/** MCP servers of the agent's own are about to be started. */
export const ServersRequested = z.looseObject({
  type: z.literal('servers.requested'),
  servers: z.array(z.string()).min(1),
})

/** One of them runs: a process group of ours, which a resume ends if it survived a crash. */
export const ServerStarted = z.looseObject({
  type: z.literal('server.started'),
  server: z.string(),
  pid: z.number().int().positive(),
  startTime: z.string().optional(),
})

/** Something of what the agent is could not be had as it was meant (law 11). */
export const AgentDiagnosed = z.looseObject({
  type: z.literal('agent.diagnosed'),
  code: z.string(),
  message: z.string(),
})

// ── what goes on beside a run ────────────────────────────────────────────────────────────────────────────

/** One run of one agent: what an end is told by. */
export const RunKey = z.looseObject({ agentId: AgentId, run: z.number().int().positive() })
export type RunKey = z.infer<typeof RunKey>

/** The end of a run in the background, told to whoever is owed it; what it cost is counted with the telling. */
export const ToldEnd = z.looseObject({
  agentId: AgentId,
  run: z.number().int().positive(),
  modelUsage: z.record(z.string(), Usage).optional(),
  /** Its log does not tell the end, and there will be none: whoever is owed it is told that the run failed. */
  isLost: z.literal(true).optional(),
})
export type ToldEnd = z.infer<typeof ToldEnd>

/**
 * A run goes on in the background, and this agent is owed its end: it is told by a notice, or reads the result. A fact
 * about the agent, not about a run of its own: it can happen between two of them.
 */
export const ChildLaunched = z.looseObject({ type: z.literal('child.launched'), child: RunKey })

/** Somebody else is told the end of that run now, as this agent came to its own end first; or the run never began. */
export const ChildReleased = z.looseObject({ type: z.literal('child.released'), child: RunKey })

/** A message that another agent sent while the run is on. It stands in the conversation with the next request. */
export const MessageAccepted = z.looseObject({
  type: z.literal('message.accepted'),
  /** The key of the sender's call: a call that is repeated after a crash sends nothing twice. */
  messageId: z.string(),
  content: z.string(),
  origin: Origin,
})

// ── the conversation beside prompts, replies and results ─────────────────────────────────────────────────

/**
 * A user-role message that nobody wrote as a prompt: what the agent is told of its surroundings, and corrections.
 * Stored as a user line that other programs do not show (`isMeta`).
 */
export const MessageAdded = z.looseObject({
  type: z.literal('message.added'),
  /** What it is about; readers of other versions may find other words. */
  about: z.string(),
  content: PromptContent,
  origin: Origin,
  /** It stands before the run's prompt. Absent: behind everything so far. */
  before: z.literal(true).optional(),
  /** For what changes in the course of a run: all of it as of now, as a blob. The message may tell the change only. */
  state: BlobHash.optional(),
  /** The ends that it tells: this line is their delivery. */
  tells: z.array(ToldEnd).optional(),
  /** The messages of other agents that it holds, by their ids. */
  injects: z.array(z.string()).optional(),
})

// ── a run ────────────────────────────────────────────────────────────────────────────────────────────────

/** A message that starts a run. Stored as the user line that it is. */
export const RunStarted = z.looseObject({
  type: z.literal('run.started'),
  /** 1 for the first run of an agent. */
  run: z.number().int().positive(),
  machine: z.number().int().positive(),
  content: PromptContent,
  origin: Origin,
  /** Model responses this run may take; absent: no limit. */
  maxTurns: z.number().int().positive().optional(),
  /** Nobody waits for it: it begins in the background. */
  background: z.literal(true).optional(),
  /** It ends when its model has said its last word, also while agents in the background run on. Absent: it waits for them. */
  leavesChildren: z.literal(true).optional(),
  /** Runs in the background whose ends it is owed from before. */
  owed: z.array(RunKey).optional(),
  /** The ends that its prompt tells. */
  tells: z.array(ToldEnd).optional(),
  /** The messages of other agents that its prompt holds. */
  injects: z.array(z.string()).optional(),
})

/** The process stopped running this agent: on purpose (`closed`), or found out at the next start (`crashed`). */
export const RunSuspended = z.looseObject({
  type: z.literal('run.suspended'),
  reason: z.enum(['closed', 'crashed']),
})

/** The run goes on in another process. `survivors`: processes of the dead engine that were ended first. */
export const RunResumed = z.looseObject({
  type: z.literal('run.resumed'),
  survivors: z.number().int().nonnegative().optional(),
  /** Damage in the log that the person accepted, as byte offsets. */
  acceptedDamage: z.array(z.object({ from: z.number().int(), to: z.number().int() })).optional(),
  /** In what the agent is not who it was, in words. */
  differences: z.array(z.string()).optional(),
})

/** What a run came to. Its `kind` decides the status. */
export const Outcome = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('completed') }),
  /** A limit was reached; what there is, is the report. */
  z.object({
    kind: z.literal('limit'),
    limit: z.enum(['turns', 'tokens', 'money', 'time', 'context']),
    /** Whose words it is by, where it is not ours: the server's, of a request that was too long. */
    problem: z.string().optional(),
  }),
  /** The reply was cut at the model's own `max_tokens`. */
  z.object({ kind: z.literal('partial') }),
  /** The model stopped without a word. */
  z.object({ kind: z.literal('no_report') }),
  /** There is a report, and it does not satisfy the schema that its definition asks for. */
  z.object({ kind: z.literal('invalid_report'), problem: z.string() }),
  z.object({ kind: z.literal('failed'), fault: Fault }),
  z.object({
    kind: z.literal('killed'),
    by: z.string(),
    reason: z.string().optional(),
    spares: z.literal('background').optional(),
  }),
])
export type Outcome = z.infer<typeof Outcome>

export const EndStatus = z.enum(['completed', 'failed', 'killed'])
export type EndStatus = z.infer<typeof EndStatus>

/** Nothing of the run is left; its stop hooks may look at it before it ends. */
export const RunDrained = z.looseObject({ type: z.literal('run.drained') })

/** A stop hook sends the agent back to work; it was told why. */
export const StopBlocked = z.looseObject({
  type: z.literal('stop.blocked'),
  /** The report so far stays, unless it is replaced in so many words. Absent: the last text is the report, as ever. */
  keepsReport: z.literal(true).optional(),
})

/** The work of the run is about to be reviewed. An interrupted review is made again. */
export const ReviewRequested = z.looseObject({ type: z.literal('review.requested') })

/** What the review came to; the run may end. */
export const ReviewEnded = z.looseObject({ type: z.literal('review.ended'), ...judged })

/** A hook is about to run. Hooks run at most once: one that was started and has no end when a run is resumed is lost. */
export const HookStarted = z.looseObject({
  type: z.literal('hook.started'),
  /** Its name in this log, and in the mark of its process. */
  hook: z.string(),
  /** What it is run at: an event, and where there are several of them, which. */
  moment: z.string(),
  event: z.string(),
  /** Its place among the hooks of the moment. */
  place: z.number().int().nonnegative(),
  /** Who speaks. */
  label: z.string(),
  command: z.string().optional(),
})

/** A hook's own process group is running. */
export const HookProcessStarted = z.looseObject({
  type: z.literal('hook.process_started'),
  hook: z.string(),
  pid: z.number().int().positive(),
  startTime: z.string().optional(),
})

const Coded = z.looseObject({ code: z.string(), message: z.string() })
const Reason = z.looseObject({ reason: z.string().optional() })

/** What came of a hook. */
export const HookResult = z.discriminatedUnion('kind', [
  z.looseObject({
    kind: z.literal('answered'),
    answer: z.looseObject({
      verdict: z
        .looseObject({ kind: z.enum(['allow', 'ask', 'deny', 'block']), reason: z.string().optional() })
        .optional(),
      stop: Reason.optional(),
      updatedInput: z.record(z.string(), z.unknown()).optional(),
      context: z.string().optional(),
      notice: z.string().optional(),
    }),
    problems: z.array(Coded),
  }),
  z.looseObject({ kind: z.literal('failed'), fault: Coded }),
  z.looseObject({ kind: z.literal('aborted') }),
  z.looseObject({ kind: z.literal('lost'), why: z.string() }),
])

/** A hook has ended, and nothing of it runs any more. */
export const HookEnded = z.looseObject({
  type: z.literal('hook.ended'),
  hook: z.string(),
  durationMs: z.number().int().nonnegative(),
  outcome: HookResult,
})

/** The end of a run. The last fact of it: nothing leaves an end. */
export const AgentEnded = z.looseObject({
  type: z.literal('agent.ended'),
  run: z.number().int().positive(),
  status: EndStatus,
  outcome: Outcome,
  turns: z.number().int().nonnegative(),
  toolUses: z.number().int().nonnegative(),
  /** Of the last request. */
  usage: Usage,
  /** Sum over all requests of the run, own requests only. */
  totalUsage: Usage,
  /** Running time in milliseconds, as the engine's clock measured it. */
  durationMs: z.number().int().nonnegative(),
  /** Refused calls per tool. Absent when there were none. */
  denials: z.record(z.string(), z.number().int().positive()).optional(),
  /** The worktree that was kept, because something in it would have been lost. */
  worktreePath: z.string().optional(),
  /** Absent: a hook made it. */
  worktreeBranch: z.string().optional(),
})

/** Something that must not happen did: an effect threw, or an event could not be folded. */
export const AgentFaulted = z.looseObject({ type: z.literal('agent.faulted'), fault: Fault })

/** Somebody wants this run ended. */
export const KillRequested = z.looseObject({
  type: z.literal('kill.requested'),
  by: z.string(),
  reason: z.string().optional(),
  /** Its agents in the background go on. Absent: they end with it. */
  spares: z.literal('background').optional(),
})

/** The run was moved out of its parent's foreground. */
export const AgentBackgrounded = z.looseObject({ type: z.literal('agent.backgrounded'), by: z.string() })

// ── a turn ───────────────────────────────────────────────────────────────────────────────────────────────

/** One tool call that a reply asks for. */
export const CallRequest = z.object({
  callId: CallId,
  toolUseId: z.string(),
  name: z.string(),
  /** May run beside its neighbours. Decided by the tool when the reply came, kept for ever. */
  concurrencySafe: z.boolean(),
})
export type CallRequest = z.infer<typeof CallRequest>

/** A whole reply. Stored as one line per content block; it counts with its last line. */
export const ReplyReceived = z.looseObject({
  type: z.literal('reply.received'),
  reply: Reply,
  requestId: z.string().optional(),
  /** Position of its first line. */
  seq: z.number().int().nonnegative(),
  calls: z.array(CallRequest),
})

/** The model could not be reached, or its stream could not be finished, after all retries. */
export const RequestFailed = z.looseObject({
  type: z.literal('request.failed'),
  fault: Fault,
  attempts: z.number().int().positive(),
})

/** The model cannot be had: for the rest of the run another one answers. */
export const ModelChanged = z.looseObject({
  type: z.literal('model.changed'),
  from: z.string(),
  to: z.string(),
  why: Fault,
})

/** What is spent of a budget: whole tokens, US dollars, or milliseconds of running time. */
const BudgetNote = {
  limit: z.enum(['tokens', 'money', 'time']),
  of: z.number().nonnegative(),
  used: z.number().nonnegative(),
  /** Whose limit it is, where that is not this agent: an agent above it. */
  owner: AgentId.optional(),
}

/** A request was not made, because it might have gone beyond a budget. The run ends with what there is. */
export const BudgetRefused = z.looseObject({
  type: z.literal('budget.refused'),
  ...BudgetNote,
  /** What it might have cost at most. */
  asked: z.number().nonnegative().optional(),
})

/** A budget is nearly used up. Once in a run. */
export const BudgetWarned = z.looseObject({ type: z.literal('budget.warned'), ...BudgetNote })

/** The running time is used up. The run ends at the next point at which nothing is cut off. */
export const TimeExpired = z.looseObject({
  type: z.literal('time.expired'),
  /** The limit, in milliseconds. */
  of: z.number().nonnegative(),
})

/** The next request would not leave enough of the model's context window. Figures are tokens. */
export const ContextExceeded = z.looseObject({
  type: z.literal('context.exceeded'),
  tokens: z.number().int().nonnegative(),
  /** More than this is too many. */
  of: z.number().int().nonnegative(),
})

/** Long results stand in requests with their two ends only from now on. The log keeps them as they were. */
export const ResultsCut = z.looseObject({
  type: z.literal('results.cut'),
  results: z.array(z.object({ callId: CallId, content: ResultContent })).min(1),
  /** Tokens that requests are shorter by, as estimated. */
  saves: z.number().int().nonnegative(),
})

/**
 * What is before it stands in requests as this summary from now on. Stored as a user line; the log keeps everything.
 */
export const ConversationCompacted = z.looseObject({
  type: z.literal('conversation.compacted'),
  summary: z.string(),
  /** Position, in this log, of the last line of the conversation that is summed up. 0: only what is before this log. */
  upTo: z.number().int().nonnegative(),
  trigger: z.enum(['auto', 'manual']),
  /** Tokens of the request that was too long, as estimated. */
  tokens: z.number().int().nonnegative(),
  /** What the summary cost, by model. */
  modelUsage: z.record(z.string(), Usage),
  /** Agents that run in the background, in words. */
  roster: z.string().optional(),
})

/** There is no summary; the run goes on with the whole conversation. */
export const CompactionFailed = z.looseObject({
  type: z.literal('compaction.failed'),
  fault: Fault,
  /** What the attempts have cost, by model. */
  modelUsage: z.record(z.string(), Usage).optional(),
})

/** The report was looked at and may stand, or there is nothing that another turn would change. */
export const ReportAccepted = z.looseObject({
  type: z.literal('report.accepted'),
  /** What is wrong with it all the same. */
  problem: z.string().optional(),
})

/** The report is missing or does not fit; the agent was told and goes on. */
export const ReportRejected = z.looseObject({ type: z.literal('report.rejected'), problem: z.string() })

/**
 * The body of a call is about to run. Durable first for every call whose body is not harmless to repeat.
 * `intent` is what a keyed tool needs to know at a resume; `child` is the agent that an `Agent` call starts.
 */
export const CallStarted = z.looseObject({
  type: z.literal('call.started'),
  callId: CallId,
  intent: z.record(z.string(), z.unknown()).optional(),
  child: z.object({ agentId: AgentId, plan: SpawnPlan }).optional(),
})

/** The classifier was asked about a call that neither a rule nor its harmlessness allows. It is asked once. */
export const CallClassified = z.looseObject({
  type: z.literal('call.classified'),
  callId: CallId,
  ...judged,
})

/** A call may run only if somebody approves it. The call waits; so may others, each for its own answer. */
export const ApprovalRequested = z.looseObject({
  type: z.literal('approval.requested'),
  callId: CallId,
  /** Why it was not simply allowed, for whoever decides. */
  reason: z.string(),
})

/** The one answer. */
export const ApprovalAnswered = z.looseObject({
  type: z.literal('approval.answered'),
  callId: CallId,
  decision: z.enum(['allow', 'deny']),
  /** Who decided: `host`, or a name that the host gives. */
  by: z.string(),
  /** For the model, with a refusal. */
  message: z.string().optional(),
  /** What the call runs with instead of what the model wrote. */
  input: z.unknown().optional(),
})

/** A tool asks the person something; its call waits. The question itself is in the call's input. */
export const QuestionAsked = z.looseObject({
  type: z.literal('question.asked'),
  callId: CallId,
  /** Its place among the questions of the call. */
  place: z.number().int().nonnegative(),
  about: z.enum(['plan', 'questions']),
})

/** The one answer, or that it was put away (`none`). */
export const QuestionAnswered = z.looseObject({
  type: z.literal('question.answered'),
  callId: CallId,
  place: z.number().int().nonnegative(),
  answer: z.looseObject({ kind: z.enum(['plan', 'questions', 'none']) }),
  /** Who answered: `host`, or a name that the host gives. */
  by: z.string(),
})

/** The permission mode of the agent is another one from now on, because somebody who may say so approved its plan. */
export const ModeChanged = z.looseObject({
  type: z.literal('mode.changed'),
  from: PermissionModeName,
  mode: PermissionModeName,
  /** The mode that the person or host had given the session: under another one the change does not hold. */
  given: PermissionModeName,
  by: z.string(),
})

/** Calls like this need no approval from now on: in the whole session, or by this agent. */
export const PermissionGranted = z.looseObject({
  type: z.literal('permission.granted'),
  rule: z.string(),
  by: z.string(),
})

/** A call's own process group is running; a resume ends what survived a crash by it. */
export const ProcessStarted = z.looseObject({
  type: z.literal('process.started'),
  callId: CallId,
  pid: z.number().int().positive(),
  /** Kernel start time (clock ticks since boot on Linux), so that a reused pid is not taken for ours. */
  startTime: z.string().optional(),
})

/**
 * The result of a call: `ok`, `error`, `denied` by permissions, or `interrupted`. Stored as the user line with
 * the `tool_result`. For an `Agent` call this line *is* the delivery of the child's end to its parent.
 */
export const CallEnded = z.looseObject({
  type: z.literal('call.ended'),
  callId: CallId,
  outcome: z.enum(['ok', 'error', 'denied', 'interrupted']),
  result: ToolResultBlock,
  /** The structured result, for readers of transcripts; never sent to the model. */
  toolUseResult: z.unknown().optional(),
  /** Key of the delivered end: the child and its run. */
  delivered: RunKey.optional(),
  /** The messages of other agents that the result holds. */
  injects: z.array(z.string()).optional(),
  /** Files whose content the agent now knows. */
  files: z.array(SeenFile).optional(),
})

// ── unions ───────────────────────────────────────────────────────────────────────────────────────────────

/** Everything that one line, or one group of lines, of a log can say. */
export const AgentEvent = z.discriminatedUnion('type', [
  AgentSpawned,
  AgentPrepared,
  WorktreeRequested,
  WorktreeCreated,
  WorktreeDecided,
  WorktreeRemoved,
  WorktreeLeft,
  ServersRequested,
  ServerStarted,
  AgentDiagnosed,
  ChildLaunched,
  ChildReleased,
  MessageAccepted,
  MessageAdded,
  RunStarted,
  RunSuspended,
  RunResumed,
  RunDrained,
  StopBlocked,
  ReviewRequested,
  ReviewEnded,
  HookStarted,
  HookProcessStarted,
  HookEnded,
  AgentEnded,
  AgentFaulted,
  KillRequested,
  AgentBackgrounded,
  ReplyReceived,
  RequestFailed,
  ModelChanged,
  BudgetRefused,
  BudgetWarned,
  TimeExpired,
  ContextExceeded,
  ResultsCut,
  ConversationCompacted,
  CompactionFailed,
  ReportAccepted,
  ReportRejected,
  CallStarted,
  CallClassified,
  ApprovalRequested,
  ApprovalAnswered,
  QuestionAsked,
  QuestionAnswered,
  ModeChanged,
  PermissionGranted,
  ProcessStarted,
  CallEnded,
])
export type AgentEvent = z.infer<typeof AgentEvent>
export type AgentEventType = AgentEvent['type']
/** The event of one type. */
export type AgentEventOf<T extends AgentEventType> = Extract<AgentEvent, { type: T }>

/** What the machine of a run is sent: everything but the agent's birth, which precedes its runs. */
export type RunEvent = Exclude<AgentEvent, { type: 'agent.spawned' }>
export type RunEventType = RunEvent['type']

/** A reply before it has a place in a log: it does not know its position and its call ids yet. */
export interface ReplyDraft {
  readonly type: 'reply.received'
  readonly reply: Reply
  readonly requestId?: string | undefined
  /** For each block of the reply: may it run beside its neighbours? Only read for `tool_use` blocks. */
  readonly concurrencySafe: readonly boolean[]
}

/** What is posted to a mailbox: an event, or a reply that gets its position when it is encoded. */
export type EventDraft = Exclude<AgentEvent, { type: 'reply.received' }> | ReplyDraft

/** An event with its place. `seq` is the position of its (first) line, `lines` the ids of its conversation lines. */
export interface Recorded<E extends AgentEvent = AgentEvent> {
  readonly seq: number
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly event: E
  readonly lines: readonly string[]
}
