/** A digest of a log as a snapshot holds it. */
import * as z from 'zod'
import {
  AgentEnded,
  AgentPrepared,
  ApprovalAnswered,
  ApprovalRequested,
  CallClassified,
  CallStarted,
  HookProcessStarted,
  HookResult,
  MessageAccepted,
  ModeChanged,
  PermissionGranted,
  ProcessStarted,
  QuestionAnswered,
  QuestionAsked,
  ReviewEnded,
  RunKey,
  SeenFile,
  ServerStarted,
} from '../machines/agent/events.ts'
import { Usage } from '../machines/agent/messages.ts'
import { AgentId, BlobHash, CallId } from '../machines/ids.ts'
import { TaskValue } from './task-ledger.ts'
import { OwnWorktree } from './worktree/own-worktree.ts'

const Bytes = z.number().int().nonnegative()

/** Where a reply stands in its log: its bytes, its first line, and the run that it belongs to. */
export const ReplyPlace = z.strictObject({ from: Bytes, to: Bytes, seq: Bytes, run: Bytes })
export type ReplyPlace = z.infer<typeof ReplyPlace>

const DigestValueSchema = z.strictObject({
  agentId: AgentId.optional(),
  /** Started calls without a result. */
  calls: z.array(z.strictObject({ started: CallStarted, processes: z.array(ProcessStarted) })),
  /** Approvals of calls without a result. */
  approvals: z
    .array(z.strictObject({ requested: ApprovalRequested, answered: ApprovalAnswered.optional() }))
    .optional(),
  /** Verdicts on calls without a result. */
  verdicts: z.array(CallClassified).optional(),
  /** The review of this run. */
  review: ReviewEnded.optional(),
  /** Questions of calls without a result. */
  questions: z
    .array(z.strictObject({ asked: QuestionAsked, answered: QuestionAnswered.optional() }))
    .optional(),
  /** The last change of mode, and the run in which it came. */
  mode: z.strictObject({ run: Bytes, event: ModeChanged }).optional(),
  /** Hooks of this run, by their moment. */
  hooks: z
    .record(
      z.string(),
      z.array(
        z.strictObject({
          hook: z.string(),
          place: Bytes,
          label: z.string(),
          outcome: HookResult.optional(),
          process: HookProcessStarted.optional(),
        }),
      ),
    )
    .optional(),
  hookCount: Bytes.optional(),
  /** Rules that were granted. */
  grants: z.array(PermissionGranted).optional(),
  /** Children of calls whose result is not the child's end. */
  leftChildren: z.array(AgentId),
  clock: z.strictObject({ before: z.number(), since: z.number().optional(), last: z.number() }),
  modelUsage: z.record(z.string(), Usage),
  /** Own calls that were refused in this run. */
  denials: z.array(
    z.strictObject({
      agentId: AgentId,
      callId: CallId,
      toolName: z.string(),
      toolUseId: z.string(),
      toolInput: z.unknown().optional(),
      reason: z.string(),
    }),
  ),
  seen: z.array(SeenFile),
  ended: AgentEnded.optional(),
  prepared: AgentPrepared.optional(),
  hasRunProcesses: z.boolean(),
  isSuspended: z.boolean(),
  acceptedDamage: z.array(z.strictObject({ from: z.number(), to: z.number() })),
  run: Bytes,
  lastReply: ReplyPlace.optional(),
  report: ReplyPlace.optional(),
  stopReason: z.string().optional(),
  /** Processes of MCP servers that were started and may still run. */
  servers: z.array(ServerStarted).optional(),
  /** What the conversation was last told of things that change, by what they are about. */
  told: z.record(z.string(), BlobHash).optional(),
  /** Runs in the background whose ends this agent is owed. */
  owed: z.array(RunKey).optional(),
  /** Messages that are not in the conversation yet. */
  mail: z.array(MessageAccepted).optional(),
  /** The last message of each sender. */
  lastMessages: z.record(z.string(), z.string()).optional(),
  /** Requests to stop that were read and not answered: who asked, by their ids. */
  stopRequests: z.record(z.string(), AgentId).optional(),
  /** Ends that were taken over, with who was owed them before. */
  takenOver: z.array(z.strictObject({ child: RunKey, from: AgentId })).optional(),
  /** Of a root: the last agent of each name. */
  names: z.record(z.string(), AgentId).optional(),
  /** The model that answers this run in place of its own. */
  model: z.string().optional(),
  /** Budgets that this run was warned of. */
  warned: z.array(z.string()).optional(),
  /** Nobody waits for the run that is on, or was last. */
  isInBackground: z.literal(true).optional(),
  worktree: OwnWorktree.optional(),
  task: TaskValue,
})

/** A digest as JSON can hold it. */
export type DigestValue = z.infer<typeof DigestValueSchema>
export const DigestValue: z.ZodType<DigestValue> = DigestValueSchema
