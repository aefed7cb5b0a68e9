/** A run, from its prompt to its end. */
import * as z from 'zod'
import { PromptContent, Usage } from '../messages.ts'
import { ToldEnd } from './background.ts'
import { Fault, Origin, RunKey } from './values.ts'

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
  /** Its work is reviewed when the end is first handed on: `review.ended` follows behind it, before the next run. */
  review: z.literal('owed').optional(),
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

/** The report was looked at and may stand, or there is nothing that another turn would change. */
export const ReportAccepted = z.looseObject({
  type: z.literal('report.accepted'),
  /** What is wrong with it all the same. */
  problem: z.string().optional(),
})

/** The report is missing or does not fit; the agent was told and goes on. */
export const ReportRejected = z.looseObject({ type: z.literal('report.rejected'), problem: z.string() })
