/**
 * Arbitraries of what can be in a log: blocks, replies, events of every type, and whole histories of one agent that
 * its machine takes.
 */
import fc from 'fast-check'
import type { MessageMeaning } from '../../src/definitions/message-meaning.ts'
import { callsOf } from '../../src/machines/agent/calls.ts'
import { addUsage, defersReview, endOf, NO_USAGE, owesReview } from '../../src/machines/agent/context.ts'
import type {
  AgentEvent,
  AgentEventOf,
  CallRequest,
  EventDraft,
  ReplyDraft,
} from '../../src/machines/agent/events.ts'
import { MACHINE_VERSION } from '../../src/machines/agent/events.ts'
import type { RunSnapshot } from '../../src/machines/agent/fold.ts'
import { beginRun, foldRun } from '../../src/machines/agent/fold.ts'
import type { ContentBlock, Reply, ToolResultBlock, Usage } from '../../src/machines/agent/messages.ts'
import { AgentId, BlobHash, callId } from '../../src/machines/ids.ts'

// ── text and values ──────────────────────────────────────────────────────────────────────────────────────

/** Text with everything that has ever broken a line format: separators, NULs, lone surrogates, quotes, nothing. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'grapheme', maxLength: 24 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '',
      ' ',
      '\n',
      '\r\n',
      '\u2028\u2029',
      '\u0000',
      '\ud800',
      'a\udc00b',
      '"}\n{"',
      '"id":null',
    ),
  },
)

/** Anything that JSON can hold. No -0, which JSON turns into 0. */
export const anyJson: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    fc.oneof(
      anyText,
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => n + 0),
      fc.boolean(),
      fc.constant(null),
    ),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(
      fc.oneof(fc.string({ maxLength: 6 }), fc.constantFrom('id', 'model', '__proto__', 'cwd')),
      tie('value'),
      {
        maxKeys: 3,
      },
    ),
  ),
})).value

/** Fields that a newer version may have added to anything. */
export const anyUnknownFields: fc.Arbitrary<Readonly<Record<string, unknown>>> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.dictionary(
      fc.string({ maxLength: 5 }).map((name) => `x_${name}`),
      anyJson,
      { maxKeys: 2 },
    ),
  },
)

const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(value, { nil: undefined })

/** An object without the fields whose value is undefined. */
function present<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  // Dropping undefined members is what the result type says; TypeScript cannot see it through `fromEntries`.
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }
}

const hex = (length: number): fc.Arbitrary<string> =>
  fc.bigInt({ min: 0n, max: 16n ** BigInt(length) - 1n }).map((n) => n.toString(16).padStart(length, '0'))

export const anyAgentId: fc.Arbitrary<AgentId> = hex(16).map((digits) => AgentId.parse(`a${digits}`))
export const anyBlobHash: fc.Arbitrary<BlobHash> = fc
  .oneof({ weight: 3, arbitrary: hex(40) }, { weight: 1, arbitrary: hex(64) })
  .map((digits) => BlobHash.parse(digits))
const anyCount = fc.nat(1_000_000)
const anyBudget = fc.constantFrom('tokens' as const, 'money' as const, 'time' as const)
const anyAmount = fc.double({ min: 0, max: 1e9, noNaN: true }).map((amount) => amount + 0)
const anyPositive = fc.integer({ min: 1, max: 1_000_000 })
const anyCallId = fc
  .tuple(anyPositive, anyCount, fc.nat(3))
  .map(([run, seq, index]) => callId(run, seq, index))
const anyName = fc.constantFrom('Read', 'Bash', 'Agent', 'Edit', 'mcp__server__tool')

/** Milliseconds since the epoch that have a four-digit year. */
export const anyTime: fc.Arbitrary<number> = fc.integer({ min: 0, max: Date.UTC(9999, 0) })

// ── messages ─────────────────────────────────────────────────────────────────────────────────────────────

export const anyToolUse: fc.Arbitrary<ContentBlock> = fc
  .tuple(fc.constantFrom('toolu_1', 'toolu_2', 'toolu_3', '"'), anyName, anyJson, anyUnknownFields)
  .map(([id, name, input, more]) => ({ ...more, type: 'tool_use', id, name, input }))

/** A block of any kind, also of kinds that nobody knows yet. */
export const anyContentBlock: fc.Arbitrary<ContentBlock> = fc.oneof(
  fc.tuple(anyText, anyUnknownFields).map(([text, more]) => ({ ...more, type: 'text', text })),
  fc.tuple(anyText, anyText).map(([thinking, signature]) => ({ type: 'thinking', thinking, signature })),
  anyToolUse,
  anyUnknownFields.map((more) => ({ ...more, type: 'a_block_of_the_future' })),
)

export const anyUsage: fc.Arbitrary<Usage> = fc
  .record({
    input_tokens: anyCount,
    output_tokens: anyCount,
    cache_creation_input_tokens: optional(anyCount),
    cache_read_input_tokens: optional(anyCount),
    server_tool_use: optional(fc.constantFrom(null, { web_search_requests: 1 })),
    service_tier: optional(fc.constantFrom(null, 'standard')),
  })
  .map(present)

const anyPrompt = fc.oneof(anyText, fc.array(anyContentBlock, { maxLength: 3 }))

/** A whole reply, of any number of blocks, with and without what servers add. */
export const anyReply: fc.Arbitrary<Reply> = replyOf(fc.array(anyContentBlock, { maxLength: 4 }))

function replyOf(content: fc.Arbitrary<ContentBlock[]>, stop?: fc.Arbitrary<string>): fc.Arbitrary<Reply> {
  return fc
    .tuple(
      fc
        .record({
          id: fc.oneof(fc.constantFrom('msg_1', 'msg_2'), anyText),
          type: fc.constant('message' as const),
          role: fc.constant('assistant' as const),
          model: fc.oneof(fc.constant('claude-sonnet-4-6'), anyText),
          content,
          stop_reason:
            stop ?? fc.constantFrom('end_turn', 'tool_use', 'max_tokens', 'pause_turn', 'refusal', 'new'),
          stop_sequence: fc.oneof(fc.constant(null), anyText),
          usage: anyUsage,
          container: optional(fc.constantFrom(null, { id: 'container_1' })),
        })
        .map(present),
      anyUnknownFields,
    )
    .map(([reply, more]) => ({ ...more, ...reply }))
}

export const anyReplyDraft: fc.Arbitrary<ReplyDraft> = draftOf(anyReply)

function draftOf(anyReply: fc.Arbitrary<Reply>): fc.Arbitrary<ReplyDraft> {
  return fc
    .tuple(
      anyReply,
      fc.record({
        type: fc.constant('reply.received' as const),
        requestId: optional(anyText),
        concurrencySafe: fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }),
      }),
    )
    .map(([reply, draft]) => ({
      ...present(draft),
      reply,
      concurrencySafe: draft.concurrencySafe.slice(0, reply.content.length),
    }))
}

const anyToolResult: fc.Arbitrary<ToolResultBlock> = fc
  .tuple(
    fc.record({
      tool_use_id: fc.constantFrom('toolu_1', 'toolu_2', 'toolu_3'),
      content: optional(anyPrompt),
      is_error: optional(fc.boolean()),
    }),
    anyUnknownFields,
  )
  .map(([result, more]) => ({ ...more, ...present(result), type: 'tool_result' as const }))

// ── events ───────────────────────────────────────────────────────────────────────────────────────────────

const anyFault = fc
  .tuple(fc.record({ code: anyText, message: anyText, retryable: fc.boolean() }), anyUnknownFields)
  .map(([fault, more]) => ({ ...more, ...fault }))

const anyOrigin: fc.Arbitrary<AgentEventOf<'run.started'>['origin']> = fc.oneof(
  fc.constant({ from: 'user' as const }),
  anyAgentId.map((agentId) => ({ from: 'agent' as const, agentId })),
  anyText.map((hook) => ({ from: 'hook' as const, hook })),
  fc.constant({ from: 'engine' as const }),
)

const resolved = <T>(value: fc.Arbitrary<T>) =>
  fc.record({ value, rule: fc.oneof(anyText, fc.constant('parent')) })

const anyMode = fc.constantFrom('default' as const, 'plan' as const, 'bubble' as const)

const anyPlan: fc.Arbitrary<AgentEventOf<'agent.spawned'>['plan']> = fc
  .tuple(
    fc.record({
      agentType: anyText,
      source: fc.constantFrom('built-in', 'project'),
      description: anyText,
      model: resolved(anyText),
      mode: resolved(anyMode),
      maxTurns: optional(resolved(anyPositive)),
      cwd: optional(anyText),
    }),
    anyUnknownFields,
  )
  .map(([plan, more]) => ({ ...more, ...present(plan) }))

const anyOutcome: fc.Arbitrary<AgentEventOf<'agent.ended'>['outcome']> = fc.oneof(
  fc.constantFrom('completed' as const, 'partial' as const, 'no_report' as const).map((kind) => ({ kind })),
  fc
    .constantFrom('turns' as const, 'context' as const, 'tokens' as const, 'money' as const, 'time' as const)
    .map((limit) => ({ kind: 'limit' as const, limit })),
  anyText.map((problem) => ({ kind: 'invalid_report' as const, problem })),
  anyFault.map((fault) => ({ kind: 'failed' as const, fault })),
  fc
    .record({ by: anyText, reason: optional(anyText) })
    .map((by) => ({ kind: 'killed' as const, ...present(by) })),
)

const anyJudgement = fc
  .record({
    verdict: fc.oneof(
      optional(anyText).map((reason) => present({ kind: 'allow' as const, reason })),
      anyText.map((reason) => ({ kind: 'flag' as const, reason })),
      anyText.map((reason) => ({ kind: 'block' as const, reason })),
      anyText.map((why) => ({ kind: 'unavailable' as const, cause: 'malformed' as const, why })),
    ),
    model: optional(anyText),
    usage: optional(anyUsage),
    durationMs: anyCount,
  })
  .map(present)

const withType = <T extends string, F extends object>(
  type: T,
  fields: fc.Arbitrary<F>,
): fc.Arbitrary<F & { readonly type: T }> => fields.map((known) => ({ ...known, type }))

const anyRunKey = fc.record({ agentId: anyAgentId, run: anyPositive })

const anyToldEnd = fc
  .record({
    agentId: anyAgentId,
    run: anyPositive,
    modelUsage: optional(fc.dictionary(anyName, anyUsage, { maxKeys: 2 })),
  })
  .map(present)

const anyMeaning: fc.Arbitrary<MessageMeaning> = fc.oneof(
  fc.constantFrom({ kind: 'shutdown_request' as const }, { kind: 'plan_approval_request' as const }),
  fc.record({ kind: fc.constant('shutdown_response' as const), requestId: anyText, approve: fc.boolean() }),
  fc
    .record({
      kind: fc.constant('plan_approval_response' as const),
      requestId: anyText,
      approve: fc.boolean(),
      mode: optional(fc.constantFrom('default' as const, 'acceptEdits' as const)),
    })
    .map(present),
)

type Draft<T extends EventDraft['type']> = Extract<EventDraft, { type: T }>

/** An arbitrary for every type of event, so that a new type does not compile without one. */
const drafts: { readonly [T in EventDraft['type']]: fc.Arbitrary<Draft<T>> } = {
  'agent.spawned': withType(
    'agent.spawned',
    fc
      .record({
        agentId: anyAgentId,
        depth: fc.nat(5),
        parent: optional(fc.record({ agentId: anyAgentId, callId: anyCallId, toolUseId: anyText })),
        plan: anyPlan,
        session: optional(anyUnknownFields),
      })
      .map(present),
  ),
  'agent.prepared': withType(
    'agent.prepared',
    fc
      .record({
        system: anyBlobHash,
        tools: anyBlobHash,
        report: optional(fc.record({ hasSchema: fc.boolean(), corrections: fc.nat(3) })),
        review: optional(fc.constantFrom(true as const, 'deferrable' as const)),
      })
      .map(present),
  ),
  'run.drained': fc.constant({ type: 'run.drained' as const }),
  'stop.blocked': fc.constant({ type: 'stop.blocked' as const }),
  'review.requested': fc.constant({ type: 'review.requested' as const }),
  'review.ended': withType('review.ended', anyJudgement),
  'call.classified': withType(
    'call.classified',
    fc.tuple(anyJudgement, anyCallId).map(([judgement, callId]) => ({ ...judgement, callId })),
  ),
  'hook.started': withType(
    'hook.started',
    fc
      .record({
        hook: anyText,
        moment: anyText,
        event: anyText,
        place: anyCount,
        label: anyText,
        command: optional(anyText),
      })
      .map(present),
  ),
  'hook.process_started': withType(
    'hook.process_started',
    fc.record({ hook: anyText, pid: anyPositive, startTime: optional(anyText) }).map(present),
  ),
  'hook.ended': withType(
    'hook.ended',
    fc.record({
      hook: anyText,
      durationMs: anyCount,
      outcome: fc.oneof(
        fc.constant({ kind: 'aborted' as const }),
        anyText.map((why) => ({ kind: 'lost' as const, why })),
        anyText.map((context) => ({ kind: 'answered' as const, answer: { context }, problems: [] })),
      ),
    }),
  ),
  'approval.requested': withType('approval.requested', fc.record({ callId: anyCallId, reason: anyText })),
  'approval.answered': withType(
    'approval.answered',
    fc
      .record({
        callId: anyCallId,
        decision: fc.constantFrom('allow' as const, 'deny' as const),
        by: anyText,
        message: optional(anyText),
      })
      .map(present),
  ),
  'question.asked': withType(
    'question.asked',
    fc.record({
      callId: anyCallId,
      place: fc.nat(3),
      about: fc.constantFrom('plan' as const, 'questions' as const),
    }),
  ),
  'question.answered': withType(
    'question.answered',
    fc
      .record({
        callId: anyCallId,
        place: fc.nat(3),
        answer: fc.record({ kind: fc.constantFrom('plan' as const, 'questions' as const, 'none' as const) }),
        by: anyText,
        messageId: optional(anyText),
      })
      .map(present),
  ),
  'mode.changed': withType(
    'mode.changed',
    fc.record({ from: anyMode, mode: anyMode, given: anyMode, by: anyText }),
  ),
  'permission.granted': withType('permission.granted', fc.record({ rule: anyText, by: anyText })),
  'agent.diagnosed': withType('agent.diagnosed', fc.record({ code: anyText, message: anyText })),
  'worktree.requested': withType(
    'worktree.requested',
    fc
      .record({
        name: anyText,
        from: anyText,
        git: optional(fc.record({ path: anyText, branch: anyText, base: anyText, repository: anyText })),
      })
      .map(present),
  ),
  'worktree.created': withType(
    'worktree.created',
    fc.record({ path: anyText, lacksChanges: optional(fc.constant(true as const)) }).map(present),
  ),
  'worktree.decided': withType(
    'worktree.decided',
    fc.record({
      fate: fc.constantFrom('kept' as const, 'removed' as const),
      reasons: fc.array(anyText, { minLength: 1, maxLength: 2 }),
    }),
  ),
  'worktree.removed': withType('worktree.removed', fc.constant({})),
  'worktree.left': withType('worktree.left', fc.constant({})),
  'servers.requested': withType(
    'servers.requested',
    fc.record({ servers: fc.array(anyText, { minLength: 1, maxLength: 2 }) }),
  ),
  'server.started': withType(
    'server.started',
    fc.record({ server: anyText, pid: anyPositive, startTime: optional(anyText) }).map(present),
  ),
  'message.added': withType(
    'message.added',
    fc
      .record({
        about: anyText,
        content: anyPrompt,
        origin: anyOrigin,
        before: optional(fc.constant(true as const)),
        state: optional(anyBlobHash),
        tells: optional(fc.array(anyToldEnd, { minLength: 1, maxLength: 2 })),
        injects: optional(fc.array(anyText, { minLength: 1, maxLength: 2 })),
      })
      .map(present),
  ),
  'child.launched': withType(
    'child.launched',
    fc.record({ child: anyRunKey, takenFrom: anyAgentId }, { requiredKeys: ['child'] }),
  ),
  'child.released': withType(
    'child.released',
    fc
      .record({
        child: anyRunKey,
        isUndeliverable: optional(fc.constant(true as const)),
        modelUsage: optional(fc.dictionary(anyName, anyUsage, { maxKeys: 2 })),
      })
      .map(present),
  ),
  'message.accepted': withType(
    'message.accepted',
    fc
      .record({ messageId: anyText, content: anyText, origin: anyOrigin, means: optional(anyMeaning) })
      .map(present),
  ),
  'report.accepted': withType('report.accepted', fc.record({ problem: optional(anyText) }).map(present)),
  'report.rejected': withType('report.rejected', fc.record({ problem: anyText })),
  'run.started': withType(
    'run.started',
    fc
      .record({
        run: anyPositive,
        machine: anyPositive,
        content: anyPrompt,
        origin: anyOrigin,
        maxTurns: optional(anyPositive),
        background: optional(fc.constant(true as const)),
        leavesChildren: optional(fc.constant(true as const)),
        owed: optional(fc.array(anyRunKey, { minLength: 1, maxLength: 2 })),
        tells: optional(fc.array(anyToldEnd, { minLength: 1, maxLength: 2 })),
        injects: optional(fc.array(anyText, { minLength: 1, maxLength: 2 })),
      })
      .map(present),
  ),
  'run.suspended': withType(
    'run.suspended',
    fc.record({ reason: fc.constantFrom('closed' as const, 'crashed' as const) }),
  ),
  'run.resumed': withType(
    'run.resumed',
    fc
      .record({
        survivors: optional(anyCount),
        acceptedDamage: optional(fc.array(fc.record({ from: anyCount, to: anyCount }), { maxLength: 2 })),
      })
      .map(present),
  ),
  'agent.ended': withType(
    'agent.ended',
    fc
      .record({
        run: anyPositive,
        status: fc.constantFrom('completed' as const, 'failed' as const, 'killed' as const),
        outcome: anyOutcome,
        turns: anyCount,
        toolUses: anyCount,
        usage: anyUsage,
        totalUsage: anyUsage,
        durationMs: anyCount,
        denials: optional(fc.dictionary(anyName, anyPositive, { maxKeys: 2 })),
        isOneRequest: fc.boolean(),
      })
      .map(({ isOneRequest, ...ended }) =>
        present(isOneRequest ? { ...ended, totalUsage: addUsage(ended.usage, NO_USAGE) } : ended),
      ),
  ),
  'budget.refused': withType(
    'budget.refused',
    fc
      .record({
        limit: anyBudget,
        of: anyAmount,
        used: anyAmount,
        asked: optional(anyAmount),
        owner: optional(anyAgentId),
      })
      .map(present),
  ),
  'budget.warned': withType(
    'budget.warned',
    fc.record({ limit: anyBudget, of: anyAmount, used: anyAmount, owner: optional(anyAgentId) }).map(present),
  ),
  'progress.summarised': withType(
    'progress.summarised',
    fc.record({
      text: fc.stringMatching(/^[a-z ]{0,40}$/),
      modelUsage: fc.dictionary(anyName, anyUsage, { maxKeys: 2 }),
    }),
  ),
  'name.registered': withType(
    'name.registered',
    fc.record({ name: fc.stringMatching(/^[a-z]{1,8}$/), agentId: anyAgentId }),
  ),
  'time.expired': withType('time.expired', fc.record({ of: anyCount })),
  'model.changed': withType('model.changed', fc.record({ from: anyText, to: anyText, why: anyFault })),
  'context.exceeded': withType('context.exceeded', fc.record({ tokens: anyCount, of: anyCount })),
  'results.cut': withType(
    'results.cut',
    fc.record({
      results: fc.array(fc.record({ callId: anyCallId, content: anyText }), { minLength: 1, maxLength: 2 }),
      saves: anyCount,
    }),
  ),
  'conversation.compacted': withType(
    'conversation.compacted',
    fc
      .record({
        summary: anyText,
        upTo: anyCount,
        trigger: fc.constantFrom('auto' as const, 'manual' as const),
        tokens: anyCount,
        modelUsage: fc.dictionary(anyName, anyUsage, { maxKeys: 2 }),
        roster: optional(anyText),
      })
      .map(present),
  ),
  'compaction.failed': withType(
    'compaction.failed',
    fc
      .record({ fault: anyFault, modelUsage: optional(fc.dictionary(anyName, anyUsage, { maxKeys: 2 })) })
      .map(present),
  ),
  'agent.faulted': withType('agent.faulted', fc.record({ fault: anyFault })),
  'kill.requested': withType(
    'kill.requested',
    fc
      .record({
        by: anyText,
        reason: optional(anyText),
        spares: optional(fc.constant('background' as const)),
      })
      .map(present),
  ),
  'agent.backgrounded': withType('agent.backgrounded', fc.record({ by: anyText })),
  'reply.received': anyReplyDraft,
  'request.failed': withType('request.failed', fc.record({ fault: anyFault, attempts: anyPositive })),
  'call.started': withType(
    'call.started',
    fc
      .record({
        callId: anyCallId,
        intent: optional(fc.dictionary(fc.string({ maxLength: 5 }), anyJson, { maxKeys: 2 })),
        child: optional(fc.record({ agentId: anyAgentId, plan: anyPlan })),
      })
      .map(present),
  ),
  'process.started': withType(
    'process.started',
    fc.record({ callId: anyCallId, pid: anyPositive, startTime: optional(anyText) }).map(present),
  ),
  'call.ended': withType(
    'call.ended',
    fc
      .record({
        callId: anyCallId,
        outcome: fc.constantFrom('ok' as const, 'error' as const, 'denied' as const, 'interrupted' as const),
        result: anyToolResult,
        toolUseResult: optional(anyJson),
        delivered: optional(fc.record({ agentId: anyAgentId, run: anyPositive })),
        answers: optional(
          fc.record({ requestId: anyText, approve: fc.boolean(), reason: optional(anyText) }).map(present),
        ),
        files: optional(fc.array(fc.record({ path: anyText, hash: fc.option(anyText) }), { maxLength: 2 })),
      })
      .map(present),
  ),
}

/** A draft of any type. Each is right for itself; one after the other they make no sense, see {@link plausibleHistory}. */
export const anyEventDraft: fc.Arbitrary<EventDraft> = fc.oneof(
  ...Object.values(drafts).map((draft: fc.Arbitrary<EventDraft>) =>
    fc
      .tuple(draft, anyUnknownFields)
      .map(([known, more]): EventDraft => (known.type === 'reply.received' ? known : { ...more, ...known })),
  ),
)

/** An event of any type, as a reader gets it; a reply stands at any position of any run. */
export const anyAgentEvent: fc.Arbitrary<AgentEvent> = fc
  .tuple(anyEventDraft, anyPositive, anyCount)
  .map(([draft, run, seq]) => {
    if (draft.type !== 'reply.received') return draft
    const { concurrencySafe, ...rest } = draft
    return { ...rest, seq, calls: callsOf(draft.reply, run, seq, concurrencySafe) }
  })

// ── histories ────────────────────────────────────────────────────────────────────────────────────────────

type Ending = 'answer' | 'refusal' | 'request.failed' | 'kill.requested' | 'agent.faulted' | 'none'

interface TurnPlan {
  readonly draft: ReplyDraft
  readonly results: readonly Draft<'call.ended'>[]
  readonly marksStart: boolean
  readonly hasProcess: boolean
}

interface RunPlan {
  readonly prompt: Draft<'run.started'>
  readonly prepared: Draft<'agent.prepared'>
  readonly turns: readonly TurnPlan[]
  readonly goesToBackground: boolean
  readonly isInterrupted: boolean
  readonly ending: Ending
  readonly answer: ReplyDraft
  readonly fault: AgentEventOf<'agent.faulted'>['fault']
  readonly review: Draft<'review.ended'>
}

const anyTurn: fc.Arbitrary<TurnPlan> = fc.record({
  draft: draftOf(
    replyOf(
      fc
        .tuple(
          fc.array(anyContentBlock, { maxLength: 2 }),
          fc.array(anyToolUse, { minLength: 1, maxLength: 3 }),
        )
        .map(([blocks, calls]) => [...blocks, ...calls]),
      fc.constant('tool_use'),
    ),
  ),
  results: fc.array(drafts['call.ended'], { minLength: 3, maxLength: 3 }),
  marksStart: fc.boolean(),
  hasProcess: fc.boolean(),
})

const anyRun: fc.Arbitrary<RunPlan> = fc.record({
  prompt: drafts['run.started'],
  // Without a look at the report, which would need its own answer before the end.
  prepared: drafts['agent.prepared'].map(({ report: _, ...rest }) => rest),
  turns: fc.array(anyTurn, { maxLength: 3 }),
  goesToBackground: fc.boolean(),
  isInterrupted: fc.boolean(),
  ending: fc.constantFrom<Ending>(
    'answer',
    'answer',
    'refusal',
    'request.failed',
    'kill.requested',
    'agent.faulted',
  ),
  answer: draftOf(
    replyOf(
      anyText.map((text) => [{ type: 'text', text }]),
      fc.constant('end_turn'),
    ),
  ),
  fault: anyFault,
  review: drafts['review.ended'],
})

/**
 * What can happen to one agent, from its birth on: up to three runs, of which the last may still be on. Its machine
 * takes every event of it, call ids and ends are right when it is encoded from an empty log on.
 */
export const plausibleHistory: fc.Arbitrary<readonly EventDraft[]> = fc
  .tuple(drafts['agent.spawned'], fc.array(anyRun, { minLength: 1, maxLength: 3 }), fc.boolean())
  .map(([spawned, runs, isOpen]) => {
    const history: EventDraft[] = [spawned]
    let seq = 1
    for (const [i, plan] of runs.entries()) {
      const last = isOpen && i === runs.length - 1
      const told = tellRun(spawned.agentId, i + 1, seq, last ? { ...plan, ending: 'none' } : plan)
      history.push(...told.drafts)
      seq = told.seq
    }
    return history
  })

function tellRun(
  agentId: AgentId,
  number: number,
  from: number,
  plan: RunPlan,
): { readonly drafts: readonly EventDraft[]; readonly seq: number } {
  const told: EventDraft[] = []
  let run: RunSnapshot = beginRun(agentId, number)
  let seq = from

  const tell = (draft: Exclude<EventDraft, ReplyDraft | Draft<'agent.spawned'>>): void => {
    told.push(draft)
    run = foldRun(run, draft)
    seq += 1
  }
  const reply = (draft: ReplyDraft): readonly CallRequest[] => {
    const calls = callsOf(draft.reply, number, seq, draft.concurrencySafe)
    told.push(draft)
    run = foldRun(run, { type: 'reply.received', reply: draft.reply, seq, calls })
    seq += Math.max(1, draft.reply.content.length)
    return calls
  }

  // No limit of turns: the plan alone decides how long the run is.
  // Nor is it owed anything from before, which would have to be told first.
  const { maxTurns: _, owed: __, ...prompt } = plan.prompt
  tell({ ...prompt, run: number, machine: MACHINE_VERSION })
  tell(plan.prepared)
  if (plan.goesToBackground && prompt.background !== true) tell({ type: 'agent.backgrounded', by: 'user' })
  for (const turn of plan.turns) {
    for (const [i, call] of reply(turn.draft).entries()) {
      const result = turn.results[i % turn.results.length]
      if (turn.marksStart) tell({ type: 'call.started', callId: call.callId })
      if (turn.hasProcess) tell({ type: 'process.started', callId: call.callId, pid: 4_711, startTime: '42' })
      if (plan.isInterrupted && i === 0) {
        tell({ type: 'run.suspended', reason: 'crashed' })
        tell({ type: 'run.resumed' })
      }
      if (result === undefined) throw new Error('every turn has results')
      tell({
        ...result,
        callId: call.callId,
        result: { ...result.result, tool_use_id: call.toolUseId },
        // Agreed to, a request to stop would end the run here.
        ...(result.answers !== undefined && { answers: { ...result.answers, approve: false } }),
      })
    }
  }
  switch (plan.ending) {
    case 'none':
      return { drafts: told, seq }
    case 'answer':
      reply(plan.answer)
      break
    case 'refusal':
      reply({ ...plan.answer, reply: { ...plan.answer.reply, stop_reason: 'refusal' } })
      break
    case 'request.failed':
      tell({ type: 'request.failed', fault: plan.fault, attempts: 11 })
      break
    case 'kill.requested':
      tell({ type: 'kill.requested', by: 'user' })
      break
    case 'agent.faulted':
      tell({ type: 'agent.faulted', fault: plan.fault })
      break
  }
  if (owesReview(run.context)) {
    tell({ type: 'review.requested' })
    tell(plan.review)
  }
  tell(endOf(run.context, 1_234))
  if (defersReview(run.context)) tell(plan.review)
  return { drafts: told, seq }
}
