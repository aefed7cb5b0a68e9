/**
 * `troupe [prompt]`: one run in one engine, from the command line to the exit code.
 *
 *   R1  Nothing is made before the arguments, the directory, the prompt, the session and the model are settled.
 *   R2  The exit code is 0 only when the last run did what it was asked to, or when there was nothing to do.
 *   R3  Nothing is dropped: agents in the background are waited for, suspended or ended as the person says, and suspended
 *       where nobody can be asked. How signals and keys stop a run: `stop.ts`.
 *   R4  However it ends, the engine is closed and the terminal is as it was.
 */
import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { printable } from '../definitions/context/text.ts'
import type { FileDiagnostic } from '../definitions/files/agent-file.ts'
import { listPrices } from '../definitions/prices.ts'
import type { Project } from '../effects/project/project.ts'
import type { Engine, EngineOptions, Run, RunResult } from '../engine/api.ts'
import type { RunArguments } from './arguments.ts'
import { agentsAre, backgroundAtWork } from './at-work.ts'
import { chooseModel, type ModelChoice, OFFLINE, openModel } from './choose-model.ts'
import { coloursFor } from './colours.ts'
import { KEYS_HINT, pressKey } from './controls.ts'
import { retriesIn } from './environment.ts'
import { CliError, EXIT, UsageError } from './errors.ts'
import { counted, formatCount, formatDuration, tokensOf } from './format.ts'
import { EXIT_CODE_OF, type Host, homeOf } from './host.ts'
import { factsInFlight } from './in-flight.ts'
import { askHowToLeave, backgroundDone } from './leave.ts'
import { openProjectToRun, requireFolders } from './open-project.ts'
import { createProgress, type Progress, type ProgressStyle } from './progress.ts'
import { readPrompt } from './read-prompt.ts'
import { errorOf, subtypeOf } from './result-line.ts'
import { createRunOutput, type RunOutput } from './run-output.ts'
import type { SessionReader } from './session-reader.ts'
import { listenForStop, type Stop, unlessStopped } from './stop.ts'
import { createStreamJson, type StreamJson } from './stream-json.ts'
import { logsOfTarget } from './targets.ts'
import { createTerminalAsker, type TerminalAsker } from './terminal-asker.ts'

/** `max_tokens` of the requests of the command line. */
const MAX_OUTPUT_TOKENS = 32_000

/** The session that a command line goes on with, and its logs. */
interface Resumed {
  readonly sessionId: string
  readonly reader: SessionReader
}

/** Runs, and resolves with the exit code. Rejects with a `CliError` when it cannot even begin. */
export async function runCommand(args: RunArguments, host: Host): Promise<number> {
  await requireReadable(host.cwd)
  await requireHome(host)
  await requireFolders(args.addDirs, host.cwd)
  const choice = chooseModel(args.model, host.env)
  const retries = retriesIn(host.env)
  const resumed = await sessionToResume(args, host)
  const branchOf = await logToBranch(args, host)
  const isOptional =
    branchOf !== undefined ||
    args.prompt !== undefined ||
    args.defaultPrompt !== undefined ||
    resumed !== undefined
  const prompt =
    (await readPrompt(args.prompt, host, isOptional)) ??
    (resumed === undefined ? args.defaultPrompt : undefined)
  if (prompt === undefined && resumed === undefined && branchOf === undefined) {
    throw new UsageError('there is no prompt; give one, as in troupe -p "what does this do?", or pipe it in')
  }
  if (args.maxTurns !== undefined && prompt === undefined && branchOf === undefined) {
    throw new UsageError('--max-turns limits a new run; give a prompt as well')
  }
  const project = await openProjectToRun(args, host)
  if (choice.kind === 'offline' && choice.notice !== undefined) host.stderr.write(`${choice.notice}\n`)
  const engine = await host.createEngine({
    ...(await engineOptions(args, choice, host)),
    project,
    retries,
  })
  const progress = createProgress({
    style: progressStyle(args, host),
    output: host.stderr,
    clock: host.clock,
    colours: coloursFor(host.stderr, host.env),
    colorOf: (name) => project.agents.activeAgents.find(({ agentType }) => agentType === name)?.color,
    cwd: host.cwd,
    ...(mayAsk(args, host) && host.stdin.setRaw !== undefined && { hint: KEYS_HINT }),
  })
  const stop = listenForStop({
    engine,
    host,
    howToLeave: () =>
      asker === undefined || backgroundAtWork(engine.agents).length === 0
        ? undefined
        : askHowToLeave(engine, asker),
  })
  const asker: TerminalAsker | undefined = mayAsk(args, host)
    ? createTerminalAsker({
        engine,
        stdin: host.stdin,
        output: host.stderr,
        clock: host.clock,
        colours: coloursFor(host.stderr, host.env),
        progress,
        onKey: (key) => {
          if (asker !== undefined) pressKey(key, { engine, host, progress, stop, asker })
        },
      })
    : undefined
  const ignoreContinued = host.onContinued(() => asker?.listen())
  void stop.heard.then(() => asker?.stop())
  const output = createRunOutput(
    args.outputFormat,
    host.stdout,
    await streamJson(args, choice, host, project),
  )
  const subscription = engine.events$.subscribe((event) => {
    if (event.kind === 'diagnostic') progress.line(`troupe: ${event.message}`)
    output.event(event)
    progress.event(event)
    asker?.event(event)
  })
  for (const line of projectNotes(project.diagnostics)) progress.line(`troupe: ${line}`)
  try {
    asker?.listen()
    const session = { engine, args, prompt, resumed, branchOf, output, progress, stop, host }
    return await leaveBackground(await runAll(session), session)
  } finally {
    ignoreContinued()
    subscription.unsubscribe()
    asker?.stop()
    progress.stop()
    stop.ignore()
    await engine.close()
    await project.close()
  }
}

interface Session {
  readonly engine: Engine
  readonly args: RunArguments
  readonly prompt: string | undefined
  readonly resumed: Resumed | undefined
  /** The log that is branched. */
  readonly branchOf: string | undefined
  readonly output: RunOutput
  readonly progress: Progress
  readonly stop: Stop
  readonly host: Host
}

/** First what was in flight, then the new prompt. */
async function runAll(session: Session): Promise<number> {
  const { engine, args, prompt, resumed, branchOf, output, progress, stop } = session
  if (branchOf !== undefined) return follow(startBranch(branchOf, session), true, session)
  let code: number = EXIT.success
  if (resumed !== undefined) {
    for (const fact of await factsInFlight(resumed.reader, resumed.sessionId)) {
      output.prepare(fact)
      progress.prepare(fact)
    }
    const resuming = engine.resume(resumed.sessionId, {
      takeOver: args.takeOver,
      acceptDamage: args.acceptDamage,
    })
    const run = await unlessStopped(resuming, stop)
    if (run === 'stopped') return stopped(resumed.sessionId, session)
    if (run !== undefined) {
      code = await follow(run, prompt === undefined, session)
      if (stop.signal !== undefined) return code
    } else if (prompt === undefined) {
      progress.line(
        `troupe: nothing is in flight in session ${resumed.sessionId}; give a prompt to go on with it`,
      )
    }
  }
  if (prompt === undefined) return code
  const sessionId = resumed?.sessionId ?? (args.session.kind === 'new' ? args.session.sessionId : undefined)
  const options = {
    ...(sessionId !== undefined && { sessionId }),
    ...(args.maxTurns !== undefined && { maxTurns: args.maxTurns }),
  }
  // Who goes on with a session goes on with its agent.
  const isNew = resumed === undefined && args.agent !== undefined
  const run = isNew
    ? engine.spawn({ description: 'main agent', prompt, subagent_type: args.agent ?? '' }, options)
    : engine.run(prompt, options)
  return follow(run, true, session)
}

/** What is not in force, as far as it fits; how much more there is to say. */
function projectNotes(diagnostics: readonly FileDiagnostic[]): readonly string[] {
  // A server that is withheld is no mistake in a file, and nobody would look for it there.
  const shown = diagnostics.filter(
    ({ severity, code }) => severity === 'error' || code === 'project-not-trusted',
  )
  const more = diagnostics.length - Math.min(shown.length, MAX_NOTES)
  return [
    ...shown.slice(0, MAX_NOTES).map(shortDiagnostic),
    ...(more > 0
      ? [`${more} ${more === 1 ? 'note' : 'notes'} on agent files and the like: troupe agents validate`]
      : []),
  ]
}

const MAX_NOTES = 5

/** One line for a diagnostic of a file: where, and what. `troupe agents validate` has all of it. */
function shortDiagnostic({ file, line, message }: FileDiagnostic): string {
  return printable(`${file}${line === undefined ? '' : `:${line}`}: ${message}`)
}

function startBranch(log: string, { engine, args, prompt, host }: Session): Run {
  const { session, maxTurns } = args
  const model = chooseModel(args.model, host.env).kind === 'offline' ? OFFLINE : args.model
  return engine.branch(log, {
    ...(session.kind === 'branch' && session.at !== undefined && { at: session.at }),
    ...(prompt !== undefined && { prompt }),
    // Without the flag it is the base's, unless the offline one answers: the log shall say so.
    ...(model !== undefined && { modelId: model }),
    ...(maxTurns !== undefined && { maxTurns }),
  })
}

/** Waits for a run and reports its end. Resolves with the exit code that it means. */
async function follow(run: Run, isLast: boolean, session: Session): Promise<number> {
  const { output, progress, stop } = session
  const result = await unlessStopped(run.result, stop)
  if (result === 'stopped') return stopped(run.sessionId, session)
  if (isLast) progress.stop()
  output.result(result, isLast)
  if (!isLast) {
    progress.line('troupe: the run that was interrupted is finished first; its answer:')
    for (const line of (result.text === '' ? '(none)' : result.text).split('\n')) progress.line(line)
  }
  const isInterrupted = stop.isInterrupted && result.status === 'killed'
  const error = isInterrupted ? 'troupe: interrupted' : errorLine(result)
  for (const line of endLines(result, error, progress.totals())) progress.line(line)
  if (subtypeOf(result) === 'success') return EXIT.success
  return isInterrupted ? EXIT_CODE_OF.SIGINT : EXIT.failure
}

function errorLine(result: RunResult): string | undefined {
  const error = errorOf(result)
  return error && `troupe: the run ended without success: ${error}`
}

/** What becomes of agents that are at work when the last run has ended (R3). Resolves with the exit code. */
async function leaveBackground(code: number, session: Session): Promise<number> {
  const { engine, stop, progress } = session
  const working = backgroundAtWork(engine.agents)
  const sessionId = working[0]?.sessionId
  if (sessionId === undefined || stop.signal !== undefined) return code
  const choice = await stop.howToLeave()
  if (stop.signal !== undefined) return stopped(sessionId, session)
  if (choice === 'wait') {
    progress.line(`troupe: waits for ${counted(working.length, 'agent')} in the background; Ctrl-C suspends`)
    if ((await unlessStopped(backgroundDone(engine), stop)) === 'stopped') return stopped(sessionId, session)
    progress.line(`troupe: done; what came of it is told with the next prompt: troupe -r ${sessionId} "…"`)
    return code
  }
  if (choice === 'kill') {
    await engine.killAll('the person has left')
    return code
  }
  const left = backgroundAtWork(engine.agents).length
  if (left === 0) return code
  progress.line(`troupe: ${agentsAre(left)} suspended in the background; go on with: troupe -r ${sessionId}`)
  return code === EXIT.success ? EXIT.failure : code
}

function endLines(result: RunResult, error: string | undefined, totals: string): string[] {
  const id = result.sessionId
  const short = id.slice(0, 8)
  const lines: string[] = error === undefined ? [] : [error]
  if (result.outcome.kind === 'partial')
    lines.push('troupe: the answer was cut at the length that a reply may have')
  if (result.outcome.kind === 'no_report') lines.push('troupe: the model stopped without an answer')
  const tokens = `${formatCount(tokensOf(result.totalUsage))} tokens`
  return [
    ...lines,
    `troupe: ${totals}, ${tokens}, ${formatDuration(result.durationMs)}; session ${id}: troupe log ${short}, troupe -r ${short} "…"`,
  ]
}

/** The stop was heard and the engine is closing; waits for it, says how to go on. */
async function stopped(sessionId: string, { stop, progress }: Session): Promise<number> {
  await stop.closed
  progress.stop()
  progress.line(`troupe: suspended; go on with: troupe -r ${sessionId}`)
  return EXIT_CODE_OF[stop.signal ?? 'SIGINT']
}

async function requireReadable(folder: string): Promise<void> {
  try {
    await access(folder, constants.R_OK | constants.X_OK)
  } catch (error) {
    throw new CliError(`the directory ${folder} cannot be read; go to one that can`, { cause: error })
  }
}

/** It may be made yet; a file in its place would be met by the first line of the log only. */
async function requireHome(host: Host): Promise<void> {
  const home = homeOf(host)
  const found = await stat(home).catch(() => undefined)
  if (found?.isDirectory() === false)
    throw new CliError(`${home}, where sessions are kept, is no folder; set TROUPE_HOME to one`)
}

async function sessionToResume({ session }: RunArguments, host: Host): Promise<Resumed | undefined> {
  if (session.kind === 'new' || session.kind === 'branch') return undefined
  const reader = await host.sessions(homeOf(host))
  if (session.kind === 'resume') return { sessionId: await reader.find(session.id), reader }
  const sessionId = await reader.latest()
  if (sessionId === undefined) {
    throw new CliError(`there is no session of ${host.cwd} to continue; start one with troupe -p "…"`)
  }
  return { sessionId, reader }
}

/** The root's log of what is branched. */
async function logToBranch({ session }: RunArguments, host: Host): Promise<string | undefined> {
  if (session.kind !== 'branch') return undefined
  const [log] = await logsOfTarget(session.target, await host.sessions(homeOf(host)), host)
  if (log === undefined) throw new UsageError(`${session.target} has no log; see troupe sessions`)
  return log
}

async function engineOptions(args: RunArguments, choice: ModelChoice, host: Host): Promise<EngineOptions> {
  return {
    model: await openModel(choice, host),
    // Whatever a definition calls its model, the offline one answers; the log shall say so.
    ...(choice.kind === 'offline' && {
      modelId: OFFLINE,
      modelAliases: { sonnet: OFFLINE, opus: OFFLINE, haiku: OFFLINE },
    }),
    ...(choice.kind === 'anthropic' && choice.modelId !== undefined && { modelId: choice.modelId }),
    ...(choice.kind === 'anthropic' &&
      args.fallbackModel !== undefined && { fallbackModel: args.fallbackModel }),
    maxTokens: MAX_OUTPUT_TOKENS,
    limits: {
      ...(args.maxBudgetUsd !== undefined && { usd: args.maxBudgetUsd }),
      ...(args.maxBudgetTokens !== undefined && { tokens: args.maxBudgetTokens }),
      ...(args.maxTime !== undefined && { runningMs: args.maxTime * 1_000 }),
    },
    cwd: host.cwd,
    home: homeOf(host),
    durability: args.durability,
    ...(args.sandbox && { sandbox: {} }),
    permissions: {
      ...(args.permissionMode !== undefined && { mode: args.permissionMode }),
      allow: args.allowedTools,
      deny: args.disallowedTools,
      ...(mayAsk(args, host) && { wait: true }),
    },
    ...(mayAsk(args, host) && { questions: { wait: true } }),
    ...(args.systemPrompt !== undefined && { systemPrompt: args.systemPrompt }),
    ...(args.appendSystemPrompt !== undefined && { appendSystemPrompt: args.appendSystemPrompt }),
  }
}

/** Whether a person is there who can be asked: at a terminal that shows the questions, with nothing else to read there. */
function mayAsk({ print, outputFormat }: RunArguments, { stdin, stderr }: Host): boolean {
  return !print && outputFormat === 'text' && stdin.isTTY && stderr.isTTY
}

/** A tree where it can stand: on a terminal that is not also scrolled by lines of JSON. */
function progressStyle(
  { outputFormat, verbose }: RunArguments,
  { stdout, stderr, env }: Host,
): ProgressStyle {
  const sharesTerminal = outputFormat === 'stream-json' && stdout.isTTY
  if (stderr.isTTY && env['TERM'] !== 'dumb' && !sharesTerminal) return 'tree'
  return verbose ? 'lines' : 'none'
}

async function streamJson(
  args: RunArguments,
  choice: ModelChoice,
  host: Host,
  { permissions }: Pick<Project, 'permissions'>,
): Promise<StreamJson> {
  const { tools, agents } = await host.builtIns()
  return createStreamJson({
    cwd: host.cwd,
    tools,
    agents,
    model: choice.kind === 'offline' ? OFFLINE : (choice.modelId ?? 'sonnet'),
    permissionMode: args.permissionMode ?? permissions?.defaultMode ?? 'default',
    apiKeySource: choice.kind === 'anthropic' ? choice.apiKeySource : 'none',
    version: host.version,
    partial: args.includePartialMessages,
    prices: listPrices,
    maxOutputTokens: MAX_OUTPUT_TOKENS,
    uuid: () => host.ids.uuid(),
  })
}
