/**
 * What a scenario of the crash matrix is: a whole session as data, and what must be true of it at its end, wherever its
 * process died. One file in `scenarios/` per scenario; each capability that comes later adds its own.
 */
import type { HookInput } from '../../src/definitions/hooks/hook-input.ts'
import type { AnyHostHook, HookReply } from '../../src/effects/hooks/hook.ts'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import type { ScriptedCall, ScriptedParts } from '../../src/effects/model/scripted-reply.ts'
import type { ApprovalRequest, Engine, EngineEvent, EngineOptions } from '../../src/engine/api.ts'
import type { AgentEventOf, Outcome } from '../../src/machines/agent/events.ts'
import { isToolUse } from '../../src/machines/agent/messages.ts'
import type { Final } from './final.ts'

export type CallOutcome = AgentEventOf<'call.ended'>['outcome']
export type RunOutcome = Outcome['kind']
export type Fact = Extract<EngineEvent, { kind: 'fact' }>

/** An attempt that breaks off in the middle of its text. */
export interface Cut {
  readonly cutAfter: string
}

/** What comes of one attempt at a request. */
export type Said = ScriptedParts | Error | Cut

/**
 * What a model says to one request: the same to every attempt, or something to each; the last one for all others. A
 * function says it to what it has read, such as the id of an agent.
 */
export type Line = Said | { readonly attempts: readonly Said[] } | ((request: ModelRequest) => ScriptedParts)

/** Replies by prompt: what the model says after that prompt, turn by turn. No two conversations have one prompt. */
export type Play = Readonly<Record<string, readonly Line[]>>

export interface Scenario {
  /** That of its file. */
  readonly name: string
  /** What it is there for, in one sentence. */
  readonly about: string
  /** What the user asks, one run of the root after the other: keys of `play`. */
  readonly prompts: readonly string[]
  readonly play: Play
  /**
   * What the model writes when a conversation is to be summed up, by its prompt and the number of replies: `the root 2`.
   * Default: {@link storyOf}, which says where it goes on.
   */
  readonly summaries?: Readonly<Record<string, Line>>
  /** What the classifier says to a question. Default: that it gives no verdict. */
  verdict?(question: string): Said
  /** Outcomes of the run that each prompt starts, a child's too. A prompt that is not named must never be asked. */
  readonly ends: Readonly<Record<string, RunOutcome | readonly RunOutcome[]>>
  /** Prompts among them that need not be asked: what is told, and together with what, is a matter of the moment. */
  readonly mayBeAsked?: readonly string[]
  /** Prompts among those that are sent to several, so that each of them may be asked it. */
  readonly sentToSeveral?: readonly string[]
  /**
   * Its agents are told of others in the background whenever these end: conversations have the same calls and not the
   * same words, and the last line of each prompt is said to every later request.
   */
  readonly isInBackground?: true
  /** The runs of the root do not wait for agents in the background. */
  readonly leavesChildren?: true
  /**
   * Outcomes of calls, by {@link labelOf}, where it is not `ok`. A call that its rule makes `interrupted` is expected
   * to be that, and needs no word here.
   */
  readonly outcomes?: Readonly<Record<string, CallOutcome | readonly CallOutcome[]>>
  /** Replies that a run of the root may take. */
  readonly maxTurns?: number
  readonly options?: Pick<
    EngineOptions,
    | 'limits'
    | 'permissions'
    | 'review'
    | 'definitions'
    | 'retries'
    | 'snapshotEvery'
    | 'features'
    | 'modelFacts'
    | 'maxTokens'
  >
  /** Whether its agents use the standard tools, on real files of their own. */
  readonly usesFiles?: boolean
  /** Whether its agents run commands, which only a real disk has. */
  readonly usesProcesses?: boolean
  /** Fills the agents' folder before the first process; only where commands run. */
  prepare?(project: string): void
  /** What the host does when something has happened. It is a pure function of the event, and so does it again. */
  onFact?(fact: Fact, engine: Engine): void
  /** What the host does when a call needs approval: as pure as `onFact`. */
  onApproval?(request: ApprovalRequest, engine: Engine): void
  /** Function hooks of the host; that each ran is noted in the record before it answers. */
  readonly hooks?: readonly ScenarioHook[]
  /** What is wrong at the end, in words, besides what every scenario must hold. */
  check?(final: Final): readonly string[]
}

/** A function hook whose answer depends on nothing but what it is told. */
export interface ScenarioHook extends Omit<AnyHostHook, 'run'> {
  answer?(input: HookInput): HookReply
}

/** The time that a long call takes, in milliseconds of the engine's clock. */
export const LONG_MS = 60_000

/** What the tools of the matrix take. */
export interface Work {
  /** Names what is done: no two calls of a scenario have the same. */
  readonly id: string
  /** Milliseconds before the work is done. */
  readonly ms?: number
  /** May run beside its neighbours. */
  readonly beside?: boolean
  readonly how?: 'error' | 'throws'
}

const work = (name: string, input: Work): ScriptedCall => ({ name, input: { ...input } })

/** Reads: `repeat`. */
export const look = (id: string, more: Omit<Work, 'id'> = {}): ScriptedCall => work('Look', { id, ...more })
/** Does its work at most once by its key: `keyed`. */
export const put = (id: string, more: Omit<Work, 'id'> = {}): ScriptedCall => work('Put', { id, ...more })
/** Just does it: `interrupt`. */
export const act = (id: string, more: Omit<Work, 'id'> = {}): ScriptedCall => work('Act', { id, ...more })
/** Starts a child with this prompt: re-attached. */
export const agent = (prompt: string, type = 'general-purpose'): ScriptedCall => ({
  name: 'Agent',
  input: { description: 'a child', prompt, subagent_type: type },
})

/** Starts a child in the background. Its description is its prompt, so that a notice of it says which one it is. */
export const inBackground = (prompt: string, type = 'general-purpose'): ScriptedCall => ({
  name: 'Agent',
  input: { description: prompt, prompt, subagent_type: type, run_in_background: true },
})

/** The id of the child with this prompt, as the result of the call that started it tells it; `nobody` when it does not. */
export function idOf({ messages }: Pick<ModelRequest, 'messages'>, prompt: string): string {
  const blocks = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content))
  const call = blocks.find(
    (block) => isToolUse(block) && labelOf(block.name, block.input) === `Agent ${prompt}`,
  )
  const result = blocks.find((block) => block['tool_use_id'] === call?.['id'])
  return /a[0-9a-f]{16}/.exec(JSON.stringify(result?.['content'] ?? ''))?.[0] ?? 'nobody'
}

/** A summary that says whose conversation it is, and how many replies it has had. */
export const storyOf = (prompt: string, turn: number): string =>
  `The story of "${prompt}" up to turn ${turn}.`

/** Where a conversation stands that begins with such a summary. */
export function placeIn(text: string): { readonly who: string; readonly turn: number } | undefined {
  const [, who, turn] = /The story of "(.*?)" up to turn (\d+)\./.exec(text) ?? []
  return who === undefined ? undefined : { who, turn: Number(turn) }
}

/** What a text asks, without the envelope of the engine: `news of a, b` of notices, a message or a directive as it was sent. */
export function promptIn(text: string): string {
  const told = [...text.matchAll(/<summary>Agent "(.*?)" \(/g)].flatMap(([, name]) => name ?? [])
  if (told.length > 0) return `news of ${told.toSorted().join(', ')}`
  const directive = /^<fork_directive>.*\n\nDirective:\n(.*?)\n\n<\/fork_directive>$/s.exec(text.trim())?.[1]
  if (directive !== undefined) return directive
  return /^<agent-message[^>]*>\s*(.*?)\s*<\/agent-message>$/s.exec(text.trim())?.[1] ?? text
}

/** What a call is known by, whatever agent makes it: its tool and what it is about. */
export function labelOf(name: string, input: unknown): string {
  const { id, prompt, file_path, content, new_string, command, message } = (input ?? {}) as Readonly<
    Record<string, unknown>
  >
  const said = isStructured(message) ? `${message.type} ${message.reason ?? message.feedback ?? ''}` : message
  const about =
    file_path === undefined
      ? (id ?? prompt ?? command ?? said ?? '')
      : `${file_path}: ${content ?? new_string}`
  return `${name} ${String(about)}`
}

const isStructured = (
  message: unknown,
): message is { readonly type: string; readonly reason?: string; readonly feedback?: string } =>
  typeof message === 'object' && message !== null && 'type' in message
