/**
 * Runs the hooks of events.
 *
 * Owns: which hooks run, side by side, and what comes of each. Does not own: when events happen, the pairing of start
 * and stop, the log, and what a decision does; `combine` makes one decision of the runs.
 *
 * E1 A hook starts only after `onStarted` has resolved for it: what asks for it is in the log by then. What an
 *    observer throws ends the other hooks and rejects the run.
 * E2 `run` settles only when no process of its hooks is left.
 * E3 One run for each hook that is for the event, in the order of their places, whatever the order they end in.
 * E4 Hooks go wrong, `run` does not: whatever a hook does is an outcome.
 * E5 A hook is never run twice for one call of `run`. A resume does not call `run` again for what was started: it
 *    takes `lostOutcome`.
 */
import { setMaxListeners } from 'node:events'
import type { HookInput } from '../../definitions/hooks/hook-input.ts'
import { type HookOutcome, shortText } from '../../definitions/hooks/hook-outcome.ts'
import { readHookOutcome } from '../../definitions/hooks/read-outcome.ts'
import { hookLabel, type ScopedHook } from '../../definitions/hooks/scoped-hook.ts'
import { messageOf } from '../../definitions/message-of.ts'
import { type Clock, systemClock } from '../clock.ts'
import { mapBounded } from '../map-bounded.ts'
import { commandEnvironment } from './command-environment.ts'
import type { AnyHostHook, ApplicableHook, HookIdentity, HookRun } from './hook.ts'
import {
  createLocalHookProcesses,
  type HookProcesses,
  type HookProcessIdentity,
  type HookProcessRequest,
} from './hook-process.ts'
import { runFunction } from './run-function.ts'
import { createMatcherReader, selectHooks } from './select-hooks.ts'

/** Is told of each hook, for the log. */
export interface HookObserver {
  /** Before it runs. It waits until this resolves. */
  readonly onStarted?: (hook: HookIdentity) => void | Promise<void>
  /** Its process is there. Commands only. */
  readonly onProcess?: (hook: HookIdentity, process: HookProcessIdentity) => void
  /** Nothing of it runs any more. */
  readonly onEnded?: (run: HookRun) => void | Promise<void>
}

/** Options of {@link createHooks}. */
export interface HooksOptions extends HookObserver {
  /** The command hooks in force; asked at each event, as definitions and agents come and go. */
  readonly declarations: () => readonly ScopedHook[]
  readonly functions?: readonly AnyHostHook[]
  /** Default: real ones. */
  readonly processes?: HookProcesses
  /** Default: the system's. */
  readonly clock?: Clock
  /** What commands inherit. Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Names of variables that commands do not inherit: secrets. */
  readonly withheldEnv?: readonly string[]
  /** Folder of the project, absolute. */
  readonly projectDir: string
}

/** One event's run. */
export interface HooksRequest extends HookObserver {
  /** Whose event it is: hooks of other agents' definitions do not see it. */
  readonly agentId: string
  readonly signal: AbortSignal
  /** Working directory of commands, absolute. */
  readonly cwd: string
  /** `<agent>/hook:<n>`, `n` unique in the agent's log. Each hook's mark has its place behind it: `….0`. */
  readonly mark: string
}

/** Runs hooks. */
export interface Hooks {
  /** Whether any hook is for the input: without one there is nothing to log. */
  readonly has: (input: HookInput, agentId: string) => boolean
  /**
   * Runs all hooks for an input, commands and functions side by side. An abort ends them: each has an outcome all
   * the same. Rejects with what an observer threw, and with nothing else.
   */
  readonly run: (input: HookInput, request: HooksRequest) => Promise<readonly HookRun[]>
}

const DEFAULT_TIMEOUT_SECONDS = 60
const MAX_OUTPUT_BYTES = 1_000_000
/** Hooks of one event that run at once; more wait. */
const MOST_AT_ONCE = 16

/** Hooks as the project and the host give them. */
export function createHooks(options: HooksOptions): Hooks {
  const { declarations, functions = [], clock = systemClock, env = process.env, withheldEnv = [] } = options
  const processes = options.processes ?? createLocalHookProcesses({ clock })
  const environment = { env, withheldEnv, projectDir: options.projectDir }
  const readMatcher = createMatcherReader()
  const select = (input: HookInput, agentId: string): readonly ApplicableHook[] =>
    selectHooks(input, agentId, declarations(), functions, readMatcher)

  const runOne = (
    { kind, hook }: ApplicableHook,
    identity: HookIdentity,
    json: string | undefined,
    request: HooksRequest,
    signal: AbortSignal,
  ): Promise<HookOutcome> => {
    // While it was written down that the hook starts, the run may have come to its end.
    if (signal.aborted) return Promise.resolve({ kind: 'aborted' })
    if (json === undefined) return Promise.resolve(lostOutcome('Its input cannot be written as JSON.'))
    if (kind === 'function') {
      // It was one before it was written; read again, it is a copy that nobody else sees.
      const input = JSON.parse(json) as HookInput
      return runFunction(hook, { input, timeoutMs: millisecondsOf(hook.timeout), signal, clock })
    }
    return runCommand(processes, hook, {
      command: hook.declaration.command,
      cwd: request.cwd,
      env: commandEnvironment(environment, hook.source),
      mark: identity.mark,
      input: json,
      timeoutMs: millisecondsOf(hook.declaration.timeout),
      maxOutputBytes: MAX_OUTPUT_BYTES,
      signal,
      onStarted: (process) => {
        options.onProcess?.(identity, process)
        request.onProcess?.(identity, process)
      },
    })
  }

  return {
    has: (input, agentId) => select(input, agentId).length > 0,
    async run(input, request) {
      const selected = select(input, request.agentId)
      if (selected.length === 0) return []
      const json = jsonOf(input)
      const all = linkedTo(request.signal)
      const errors: unknown[] = []
      const attempt = async (applicable: ApplicableHook, place: number): Promise<HookRun> => {
        const identity = identityOf(applicable, place, request.mark)
        const notRun = (outcome: HookOutcome): HookRun => ({ ...identity, durationMs: 0, outcome })
        if (all.signal.aborted) return notRun({ kind: 'aborted' })
        try {
          await options.onStarted?.(identity)
          await request.onStarted?.(identity)
          const startedAt = clock.now()
          const outcome = await runOne(applicable, identity, json, request, all.signal)
          const run: HookRun = { ...identity, durationMs: clock.now() - startedAt, outcome }
          await options.onEnded?.(run)
          await request.onEnded?.(run)
          return run
        } catch (error) {
          errors.push(error)
          all.abort(error)
          return notRun({ kind: 'aborted' })
        }
      }
      const runs = await mapBounded([...selected.entries()], MOST_AT_ONCE, ([place, applicable]) =>
        attempt(applicable, place),
      )
      all.release()
      if (errors.length > 0) throw errors[0]
      return runs
    },
  }
}

/** What stands for a hook of which it is not known what came of it: it was started, and the engine died. */
export function lostOutcome(
  why = 'It was started, and the program ended before its answer came.',
): HookOutcome {
  return { kind: 'lost', why }
}

async function runCommand(
  processes: HookProcesses,
  hook: ScopedHook,
  request: HookProcessRequest,
): Promise<HookOutcome> {
  const observed = observing(request)
  try {
    const { ended, exitCode, stdout, stderr, isCut } = await processes.run(observed.request)
    if (ended === 'aborted') return { kind: 'aborted' }
    const exit = { exitCode, stdout, stderr, isCut, timedOut: ended === 'timeout' }
    return readHookOutcome(exit, hook.declaration.event)
  } catch (error) {
    // An observer's error is no fault of the hook.
    observed.rethrow()
    const message = messageOf(error)
    return { kind: 'failed', fault: { code: 'hook-not-started', message: shortText(message, 1_000) } }
  }
}

/** The request, with an ear for what its observer throws. */
function observing(request: HookProcessRequest): {
  readonly request: HookProcessRequest
  readonly rethrow: () => void
} {
  let thrown: { readonly error: unknown } | undefined
  const onStarted = (process: HookProcessIdentity): void => {
    try {
      request.onStarted?.(process)
    } catch (error) {
      thrown = { error }
      throw error
    }
  }
  const rethrow = (): void => {
    if (thrown !== undefined) throw thrown.error
  }
  return { request: { ...request, onStarted }, rethrow }
}

function identityOf(applicable: ApplicableHook, place: number, mark: string): HookIdentity {
  const { event, source, command } = describe(applicable)
  return {
    place,
    mark: `${mark}.${place}`,
    event,
    label: hookLabel(event, source),
    source,
    ...(command !== undefined && { command }),
  }
}

function describe({
  kind,
  hook,
}: ApplicableHook): Pick<HookIdentity, 'event' | 'source'> & { readonly command?: string } {
  if (kind === 'command') {
    const { event, command } = hook.declaration
    return { event, source: hook.source, command }
  }
  return { event: hook.event, source: { kind: 'host', ...(hook.name !== undefined && { name: hook.name }) } }
}

/** A signal that follows another one and can be aborted by itself. */
function linkedTo(signal: AbortSignal): AbortController & { readonly release: () => void } {
  const controller = new AbortController()
  // Each hook listens, and Node takes more than ten listeners for a leak.
  setMaxListeners(0, controller.signal)
  const follow = (): void => controller.abort(signal.reason)
  signal.addEventListener('abort', follow, { once: true })
  if (signal.aborted) follow()
  return Object.assign(controller, { release: () => signal.removeEventListener('abort', follow) })
}

const millisecondsOf = (seconds: number = DEFAULT_TIMEOUT_SECONDS): number => seconds * 1_000

/** Undefined for what is no JSON: results of a host's tools may hold anything. */
function jsonOf(input: HookInput): string | undefined {
  try {
    return JSON.stringify(input)
  } catch {
    return undefined
  }
}
