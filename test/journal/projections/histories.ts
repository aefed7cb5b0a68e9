/**
 * Conversations for tests: a small language to write one down, and arbitraries for clean and damaged ones.
 */
import fc from 'fast-check'
import type { Conversation, ConversationEntry } from '../../../src/journal/projections/conversation.ts'
import { createConversation } from '../../../src/journal/projections/conversation.ts'
import { callsOf } from '../../../src/machines/agent/calls.ts'
import type { AgentEventOf, Recorded } from '../../../src/machines/agent/events.ts'
import { MACHINE_VERSION } from '../../../src/machines/agent/events.ts'
import type {
  ContentBlock,
  PromptContent,
  ToolResultBlock,
  ToolUseBlock,
  Usage,
} from '../../../src/machines/agent/messages.ts'
import type { CallId } from '../../../src/machines/ids.ts'
import { callId } from '../../../src/machines/ids.ts'

export const MODEL = 'claude-test-1'

export const text = (words: string): ContentBlock => ({ type: 'text', text: words })
export const thinking = (words: string): ContentBlock => ({
  type: 'thinking',
  thinking: words,
  signature: 'sig',
})
export const toolUse = (id: string, input: unknown = {}, name = 'Read'): ToolUseBlock => ({
  type: 'tool_use',
  id,
  name,
  input,
})
export const toolResult = (
  id: string,
  content?: ToolResultBlock['content'],
  isError?: boolean,
): ToolResultBlock => ({
  type: 'tool_result',
  tool_use_id: id,
  ...(content !== undefined && { content }),
  ...(isError !== undefined && { is_error: isError }),
})

interface ReplyOptions {
  readonly model?: string
  readonly stop?: string
  readonly usage?: Usage
}

/** A log in the making: each call appends one event and gives it its place. */
export interface History {
  readonly entries: ConversationEntry[]
  prompt(content: PromptContent): void
  /** Returns the ids of the calls that it makes. */
  reply(content: readonly ContentBlock[], options?: ReplyOptions): readonly CallId[]
  result(callId: CallId, result: ToolResultBlock): void
}

export function createHistory(): History {
  const entries: ConversationEntry[] = []
  let seq = 0
  let run = 0
  const record = (event: ConversationEntry['event'], lines = 1): void => {
    entries.push({ seq, at: 0, event, lines: [] })
    seq += lines
  }
  return {
    entries,
    prompt: (content) => {
      run++
      record({ type: 'run.started', run, machine: MACHINE_VERSION, content, origin: { from: 'user' } })
    },
    reply: (content, { model = MODEL, stop = 'end_turn', usage } = {}) => {
      const reply: AgentEventOf<'reply.received'>['reply'] = {
        id: `msg_${seq}`,
        type: 'message',
        role: 'assistant',
        model,
        content: [...content],
        stop_reason: stop,
        stop_sequence: null,
        usage: usage ?? { input_tokens: 1, output_tokens: 1 },
      }
      const calls = callsOf(reply, run, seq, [])
      record({ type: 'reply.received', reply, seq, calls }, Math.max(1, content.length))
      return calls.map((call) => call.callId)
    },
    result: (id, result) => record({ type: 'call.ended', callId: id, outcome: 'ok', result }),
  }
}

/** The first call of a reply that makes one. */
export function firstCall(calls: readonly CallId[]): CallId {
  const [call] = calls
  if (call === undefined) throw new Error('the reply makes no call')
  return call
}

export function conversationWith(entries: readonly Recorded[]): Conversation {
  const conversation = createConversation()
  for (const entry of entries) conversation.push(entry)
  return conversation
}

// ── damaged histories ────────────────────────────────────────────────────────────────────────────────────

const dirtyText = fc
  .array(fc.constantFrom('a', 'b', ' ', '\n', '\u0085', '😀', '\ud83d', '\ude00', 'word '), { maxLength: 4 })
  .map((parts) => parts.join(''))

const dirtyId = fc.constantFrom(
  'toolu_1',
  'toolu_2',
  'toolu_3',
  'bad id!',
  'bad.id.',
  '',
  '\ud800',
  'toolu_1_2',
)

const dirtyJson = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2, depthSize: 'small' },
    fc.constantFrom<unknown>(null, undefined, 1, true),
    dirtyText,
    fc.array(tie('value'), { maxLength: 2 }),
    fc.dictionary(fc.oneof(dirtyText, fc.constant('__proto__')), tie('value'), { maxKeys: 2 }),
  ),
})).value

const cacheMark = { cache_control: { type: 'ephemeral' } }
const marked = <T extends ContentBlock>(block: fc.Arbitrary<T>): fc.Arbitrary<ContentBlock> =>
  fc.tuple(block, fc.integer({ min: 0, max: 5 })).map(([b, n]) => (n === 0 ? { ...b, ...cacheMark } : b))

const anyText = marked(dirtyText.map(text))

const strangeBlock: fc.Arbitrary<ContentBlock> = fc.oneof(
  fc.constantFrom<ContentBlock>(
    { type: 'text' },
    { type: 'thinking' },
    { type: 'thinking', thinking: 'half \ud800', signature: 'sig' },
    { type: 'thinking', thinking: 'marked', signature: 'sig', ...cacheMark },
    { type: 'redacted_thinking' },
    { type: 'tool_use', id: 5, name: 'Read', input: {} },
    { type: 'tool_result' },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } },
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
  ),
  dirtyJson.map((value): ContentBlock => ({ type: 'block_of_tomorrow', value })),
)

const anyToolUse = fc
  .record({
    id: dirtyId,
    name: fc.constantFrom('Read', 'Bash', '', 'ä b', 'x'.repeat(200)),
    input: dirtyJson,
  })
  .map(({ id, name, input }) => toolUse(id, input, name))

const anyThinking = fc.oneof(
  dirtyText.map(thinking),
  fc.constant<ContentBlock>({ type: 'redacted_thinking', data: 'opaque' }),
)

/** Any block anywhere: calls in prompts, results in replies, half of everything. */
export const anyBlock: fc.Arbitrary<ContentBlock> = fc.oneof(
  { weight: 4, arbitrary: marked(anyToolUse) },
  { weight: 3, arbitrary: anyText },
  { weight: 3, arbitrary: anyThinking },
  { weight: 2, arbitrary: strangeBlock },
  { weight: 1, arbitrary: dirtyId.map((id) => toolResult(id, 'forged')) },
)

const anyContent = fc.oneof(dirtyText, fc.array(anyBlock, { maxLength: 3 }))

const anyResult: fc.Arbitrary<ToolResultBlock> = fc
  .record({
    id: dirtyId,
    content: fc.option(anyContent, { nil: undefined }),
    isError: fc.option(fc.boolean(), { nil: undefined }),
    isMarked: fc.boolean(),
  })
  .map(({ id, content, isError, isMarked }) => ({
    ...toolResult(id, content, isError),
    ...(isMarked && cacheMark),
  }))

type Step =
  | { readonly kind: 'prompt'; readonly content: PromptContent }
  | {
      readonly kind: 'reply'
      readonly content: ContentBlock[]
      readonly model: string
      readonly stop: string
    }
  /** A result for one of the calls so far, counted from the last; -1: for none. */
  | { readonly kind: 'result'; readonly back: number; readonly result: ToolResultBlock }
  /** The log lost its last entry, or has it twice. */
  | { readonly kind: 'lost' | 'twice' }
  /** The log lost the calls of its last reply. */
  | { readonly kind: 'callsLost' }

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: anyContent.map((content): Step => ({ kind: 'prompt', content })) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('reply' as const),
      content: fc.array(anyBlock, { maxLength: 5 }),
      model: fc.constantFrom(MODEL, MODEL, `${MODEL}-20260101`, 'claude-other'),
      stop: fc.constantFrom('end_turn', 'tool_use', 'pause_turn'),
    }),
  },
  {
    weight: 8,
    arbitrary: fc
      .record({ back: fc.integer({ min: -1, max: 5 }), result: anyResult })
      .map((step): Step => ({ kind: 'result', ...step })),
  },
  { weight: 1, arbitrary: fc.constantFrom<Step>({ kind: 'lost' }, { kind: 'twice' }, { kind: 'callsLost' }) },
)

const UNKNOWN = callId(99, 9999, 0)

/** Conversations as no engine would write them. */
export const damagedHistory: fc.Arbitrary<ConversationEntry[]> = fc
  .array(anyStep, { maxLength: 14 })
  .map((steps) => {
    const history = createHistory()
    const calls: CallId[] = []
    for (const step of steps) {
      const last = history.entries.at(-1)
      switch (step.kind) {
        case 'prompt':
          history.prompt(step.content)
          break
        case 'reply':
          calls.push(...history.reply(step.content, step))
          break
        case 'result':
          history.result(step.back < 0 ? UNKNOWN : (calls.at(-1 - step.back) ?? UNKNOWN), step.result)
          break
        case 'lost':
          history.entries.pop()
          break
        case 'twice':
          if (last !== undefined) history.entries.push(last)
          break
        case 'callsLost':
          if (last?.event.type === 'reply.received') {
            history.entries.splice(-1, 1, { ...last, event: { ...last.event, calls: [] } })
          }
      }
    }
    return history.entries
  })

// ── clean histories ──────────────────────────────────────────────────────────────────────────────────────

const word = fc.constantFrom('yes', 'no 😀', 'a longer text\nin two lines')
const cleanTurn = fc.record({
  prompt: fc.oneof(
    word,
    word.map((w) => [text(w)]),
  ),
  rounds: fc.array(
    fc.record({
      isThinking: fc.boolean(),
      says: fc.option(word, { nil: undefined }),
      calls: fc.array(
        fc.record({ input: fc.dictionary(word, word, { maxKeys: 2 }), content: word, isLate: fc.boolean() }),
        { minLength: 1, maxLength: 3 },
      ),
    }),
    { maxLength: 3 },
  ),
  answer: word,
})

/** What a healthy engine writes, up to a point where a request is due: runs, replies, each call with its result. */
export const cleanHistory: fc.Arbitrary<ConversationEntry[]> = fc
  .tuple(fc.array(cleanTurn, { maxLength: 3 }), word)
  .map(([turns, last]) => {
    const history = createHistory()
    let made = 0
    for (const { prompt, rounds, answer } of turns) {
      history.prompt(prompt)
      for (const { isThinking, says, calls } of rounds) {
        const uses = calls.map(({ input }) => toolUse(`toolu_${made++}`, input))
        const ids = history.reply([
          ...(isThinking ? [thinking('hm')] : []),
          ...(says === undefined ? [] : [text(says)]),
          ...uses,
        ])
        const results = calls.map(({ content, isLate }, i) => ({
          isLate,
          id: ids[i] ?? UNKNOWN,
          block: toolResult(uses[i]?.id ?? '', content),
        }))
        // Calls run side by side: their results come in any order.
        for (const { id, block } of results.filter((r) => !r.isLate)) history.result(id, block)
        for (const { id, block } of results.filter((r) => r.isLate)) history.result(id, block)
      }
      history.reply([text(answer)])
    }
    history.prompt(last)
    return history.entries
  })
