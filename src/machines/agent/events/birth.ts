/** Who an agent is: its birth, and what a run of it is asked with. */
import * as z from 'zod'
import { AgentId, BlobHash, CallId } from '../../ids.ts'
import { PermissionModeName, resolved, SeenFile } from './values.ts'

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
  /** Under which others send it messages, while nobody else has taken the name over. */
  name: z.string().optional(),
  /** Its prompt and its tools are its parent's, to the byte. */
  isFork: z.literal(true).optional(),
  /** The definition as it was then: a blob. Absent: the root's, which has none, and in logs of the first version. */
  definition: BlobHash.optional(),
})
export type SpawnPlan = z.infer<typeof SpawnPlan>

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
  /**
   * What the run hands in is reviewed before it may end; `deferrable`: unless nobody waits for it then, in which case it
   * owes the review. Absent: it is not reviewed.
   */
  review: z.literal([true, 'deferrable']).optional(),
})

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
