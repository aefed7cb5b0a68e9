/**
 * What a tool is to the engine.
 */
import type { z } from 'zod'
import type { SeenFile } from '../../machines/agent/events.ts'
import type { ResultContent } from '../../machines/agent/messages.ts'
import type { AgentId, CallId } from '../../machines/ids.ts'
import type { Clock } from '../clock.ts'
import type { ProcessRunner } from '../process/process-runner.ts'
import type { ShellTable } from '../process/shell-table.ts'
import type { AgentsPort } from './agents/agents-port.ts'
import type { AskPerson } from './ask-person.ts'
import type { TodoItem } from './todo-list.ts'

/**
 * What a resume may do with a call that has a start and no result (law 3): `interrupt` turns it into an
 * `interrupted` error result; `repeat` calls it again, because reading is harmless; `keyed` calls it again with
 * the same key, because its body does its work at most once by that key.
 */
export type ResumeRule = 'interrupt' | 'repeat' | 'keyed'

/** What a keyed tool records before it acts, and is given back at a resume. Plain JSON. */
export type Intent = Readonly<Record<string, unknown>>

/** Contents of files as this agent last saw them, by absolute path. A bounded LRU. */
export interface SeenFiles {
  /** The hash it was last seen with; null: seen not to exist; undefined: never seen. */
  hashOf(path: string): string | null | undefined
}

/**
 * Lets what a call waits for go on without it, and its body return at once. Says as what it goes on, an id for the agent's
 * tools; undefined when it cannot any more. Must not throw.
 */
export type MoveCall = () => string | undefined

/** What a call may use. */
export interface ToolContext {
  readonly agentId: AgentId
  readonly callId: CallId
  /** Stable over restarts and unique over all sessions: what a keyed body does its work at most once by. */
  readonly key: string
  /** The agent's working directory, absolute, symlinks resolved. */
  readonly cwd: string
  /** Folders besides `cwd` that file tools may write in: absolute, symlinks resolved. */
  readonly writableRoots?: readonly string[]
  /**
   * Whether a search may show a file (absolute path): false where a deny rule forbids `Read` of it. Grep and Glob
   * leave such files out. Absent: every file may be read. Must be pure and quick: it is asked once per file and name.
   */
  readonly mayRead?: (absolutePath: string) => boolean
  /**
   * Where the path of the call led, all links resolved, when permission for it was given. A file tool whose path leads
   * elsewhere by now refuses. Absent: nobody judged it, as for a call that is repeated after a restart.
   */
  readonly judged?: string
  /** Whether permissions let a redirect be followed to another host. Absent: none is; the model is told the address. */
  readonly mayFetch?: (url: string) => boolean | Promise<boolean>
  /** The background shells of this agent. Absent: it can have none. */
  readonly shells?: ShellTable
  /**
   * Offers to go on behind the call while that runs: `move` is called when somebody has the agent's calls moved to the
   * background. Returns the withdrawal. Absent: nobody moves this call.
   */
  readonly offerMove?: (move: MoveCall) => () => void
  /** The list that this agent wrote last. Absent: results of TodoWrite do not tell what the list was before. */
  readonly todos?: () => readonly TodoItem[]
  /** The other agents of the session. Absent: outside an engine. */
  readonly agents?: AgentsPort
  /** Asks the person, or the lead of a team. Absent: there is nobody who could answer. */
  readonly ask?: AskPerson
  /** Tells the person and the agent of something that is no result: one text, at any time while the call runs. */
  readonly notify?: (text: string) => void
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly processes: ProcessRunner
  readonly seen: SeenFiles
  /** What `intend` returned for this call, also when it is called again after a crash. */
  readonly intent: Intent | undefined
  /** True when the call was started before and this is the same call again after a restart. */
  readonly isRepeat: boolean
}

/** What a body hands back. Throw only for defects: an expected failure is a result with `isError`. */
export interface ToolOutput {
  readonly content: ResultContent
  readonly isError?: boolean
  /** The structured result for transcripts (`toolUseResult`): plain JSON without null fields. */
  readonly structured?: unknown
  /** Files whose content the agent now knows. */
  readonly files?: readonly SeenFile[]
  /** The end of another agent's run that this result tells. Counts only where the caller is owed it. */
  readonly delivered?: { readonly agentId: string; readonly run: number }
  /** Ids of messages to the caller that this result holds. Count only where they wait for it. */
  readonly injects?: readonly string[]
}

/** A tool. Generic in its parsed input. */
export interface Tool<I = unknown> {
  readonly name: string
  /** Older or foreign names, understood in rules and calls. */
  readonly aliases?: readonly string[]
  readonly description: string
  /** A strict object: unknown fields are refused. Where `jsonSchema` is given, that one decides. */
  readonly inputSchema: z.ZodType<I>
  /**
   * The input as JSON Schema, for a tool that comes with one (MCP): shown to the model as it is, where otherwise
   * `inputSchema` is translated. `inputSchema` must check by it.
   */
  readonly jsonSchema?: Readonly<Record<string, unknown>>
  readonly resume: ResumeRule
  /** Changes nothing in the world. */
  isReadOnly(input: I): boolean
  /** May run beside other such calls of the same turn. Must not throw. */
  isConcurrencySafe(input: I): boolean
  /**
   * Sends something to other machines, so that reading alone does not make it harmless: where a mode lets harmless calls
   * pass unasked, these are asked about. Absent: it does not.
   */
  reachesOut?(input: I): boolean
  /** A path that the call writes to, for rules and modes; relative to `cwd` or absolute. */
  writes?(input: I): string | undefined
  /** What a rule's specifier is matched against: a command for Bash, a path for file tools, an address for WebFetch. */
  ruleSubject?(input: I): string | undefined
  /**
   * Keyed tools: looks at the world and says what it is going to do, without touching it. Durable before `run`.
   * Throws a `ToolRefusal` when the call cannot be done: its message is the error result, `run` is not called.
   */
  intend?(input: I, context: ToolContext): Promise<Intent>
  run(input: I, context: ToolContext): Promise<ToolOutput>
}
