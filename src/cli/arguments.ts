/**
 * The command line as data. Parsing is pure: it neither reads nor writes anything, and a wrong line is an error
 * before anything has been touched.
 */

import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { closestName } from '../definitions/closest-name.ts'
import type { PermissionMode } from '../definitions/permission-mode.ts'
import type { Durability } from '../journal/storage.ts'
import {
  type AgentsArguments,
  addAgentsCommand,
  type ProjectArguments,
  type ProjectOptionValues,
  projectArguments,
  withProjectOptions,
} from './agents-arguments.ts'
import { UsageError } from './errors.ts'
import { splitRules } from './rules.ts'
import { addWorktreesCommand, type WorktreesArguments } from './worktrees-arguments.ts'

export type OutputFormat = 'text' | 'json' | 'stream-json'

/** Which session a run belongs to. */
type SessionChoice =
  | { readonly kind: 'new'; readonly sessionId?: string }
  | { readonly kind: 'latest' }
  | { readonly kind: 'resume'; readonly id: string }
  /** `target`: start of a session id, or a file. `at` undefined: its end. */
  | { readonly kind: 'branch'; readonly target: string; readonly at: number | undefined }

export interface RunArguments extends ProjectArguments {
  /** The words of the command line, joined; undefined when there are none. */
  readonly prompt: string | undefined
  /** What is asked when there is neither a prompt nor piped input. */
  readonly defaultPrompt: string | undefined
  readonly session: SessionChoice
  /** Answer once: nobody is asked anything. */
  readonly print: boolean
  readonly outputFormat: OutputFormat
  readonly includePartialMessages: boolean
  readonly verbose: boolean
  readonly model: string | undefined
  /** Answers where the model cannot. */
  readonly fallbackModel: string | undefined
  /** Name of the definition that the root agent follows. */
  readonly agent: string | undefined
  readonly permissionMode: PermissionMode | undefined
  readonly allowedTools: readonly string[]
  readonly disallowedTools: readonly string[]
  readonly maxTurns: number | undefined
  /** US dollars. */
  readonly maxBudgetUsd: number | undefined
  readonly maxBudgetTokens: number | undefined
  /** Seconds of running time. */
  readonly maxTime: number | undefined
  readonly systemPrompt: string | undefined
  readonly appendSystemPrompt: string | undefined
  readonly durability: Durability
  readonly takeOver: boolean
  readonly acceptDamage: boolean
  /** Commands of agents run in a sandbox of the system, also where no settings want it. */
  readonly sandbox: boolean
}

export type Parsed =
  | { readonly kind: 'print'; readonly text: string }
  | { readonly kind: 'run'; readonly run: RunArguments }
  | { readonly kind: 'sessions'; readonly json: boolean }
  | {
      readonly kind: 'log'
      readonly target: string | undefined
      readonly agent: string | undefined
      readonly json: boolean
    }
  | {
      readonly kind: 'replay'
      readonly target: string
      readonly at: number | undefined
      readonly json: boolean
      readonly rerun: boolean
      readonly liveTools: boolean
    }
  | { readonly kind: 'agents'; readonly agents: AgentsArguments }
  | { readonly kind: 'worktrees'; readonly worktrees: WorktreesArguments }
  | { readonly kind: 'diff'; readonly a: string; readonly b: string; readonly json: boolean }

/** Spelled out here because the schema behind the type would load a validator before `--help` can be shown. */
const PERMISSION_MODES = [
  'default',
  'acceptEdits',
  'plan',
  'dontAsk',
  'auto',
  'bypassPermissions',
] as const satisfies readonly PermissionMode[]

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

interface RunOptionValues extends ProjectOptionValues {
  readonly defaultPrompt?: string
  readonly print?: boolean
  readonly outputFormat: OutputFormat
  readonly includePartialMessages?: boolean
  readonly verbose?: boolean
  readonly model?: string
  readonly fallbackModel?: string
  readonly agent?: string
  readonly permissionMode?: PermissionMode
  readonly allowedTools?: readonly string[]
  readonly disallowedTools?: readonly string[]
  readonly maxTurns?: number
  readonly maxBudgetUsd?: number
  readonly maxBudgetTokens?: number
  readonly maxTime?: number
  readonly systemPrompt?: string
  readonly appendSystemPrompt?: string
  readonly sessionId?: string
  readonly resume?: string
  readonly continue?: boolean
  readonly durability: Durability
  readonly takeOver?: boolean
  readonly acceptDamage?: boolean
  readonly sandbox?: boolean
}

/** What the arguments ask for. Throws {@link UsageError} for a line that nobody can mean. */
export function parseArguments(argv: readonly string[], version: string): Parsed {
  let printed = ''
  let parsed: Parsed | undefined
  refuseMistypedCommand(argv)
  const program = createProgram(version, (result) => {
    parsed = result
  })
  // A subcommand is the first word; after a flag the same word is a prompt ("troupe -p log"). What follows it is its
  // own, also where a run has a flag of that name.
  if (COMMANDS[argv[0] ?? ''] !== undefined || isHelp(argv))
    addCommands(program.enablePositionalOptions(), (result) => {
      parsed = result
    })
  for (const command of withSubcommands(program)) {
    command.exitOverride().configureOutput({ writeOut: (text) => (printed += text), writeErr: () => {} })
  }
  try {
    program.parse([...argv], { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return { kind: 'print', text: printed }
    throw new UsageError(
      `${error.message.replace(/^error: /, '').replace(/(?<![.\s])[.\s]+$/, '')}; see troupe --help`,
    )
  }
  if (parsed === undefined) throw new UsageError('nothing to do; see troupe --help')
  return parsed
}

const withSubcommands = (command: Command): readonly Command[] => [
  command,
  ...command.commands.flatMap(withSubcommands),
]

const isHelp = (argv: readonly string[]): boolean => ['--help', '-h', 'help'].includes(argv[0] ?? '')

/** One bare word that is nearly a subcommand was hardly meant as a question: a model costs money. */
function refuseMistypedCommand(argv: readonly string[]): void {
  const [word = ''] = argv
  if (argv.some((argument) => argument === '-p' || argument === '--print') || !/^[a-z]+$/.test(word)) return
  if (word === 'help' || COMMANDS[word] !== undefined) return
  const meant = closestName(word, Object.keys(COMMANDS))
  if (meant === undefined) return
  throw new UsageError(
    `"${word}" is no command; did you mean "troupe ${meant}"? To ask it: troupe -p ${word}`,
  )
}

/** What every way to start a run takes. */
function withRunOptions(command: Command): Command {
  return withProjectOptions(command)
    .option('-p, --print', 'answer once and exit')
    .addOption(
      new Option('--output-format <format>', 'what goes to standard output')
        .choices(['text', 'json', 'stream-json'])
        .default('text'),
    )
    .addOption(new Option('--input-format <format>', 'what comes from standard input').choices(['text']))
    .option('--include-partial-messages', 'with stream-json: replies also while they are written')
    .option('--verbose', 'without a terminal: report progress on standard error')
    .option('--model <model>', 'sonnet, opus, haiku, a full model id, or offline')
    .option('--fallback-model <model>', 'answers where the model is overloaded or fails')
    .option('--agent <name>', 'the definition that the main agent follows')
    .addOption(
      new Option('--permission-mode <mode>', 'what agents may do without being asked').choices(
        PERMISSION_MODES,
      ),
    )
    .option(
      '--allowedTools, --allowed-tools <rules...>',
      'rules that allow, as in "Bash(git log:*),Read"',
      collectRules,
    )
    .option('--disallowedTools, --disallowed-tools <rules...>', 'rules that forbid', collectRules)
    .option('--sandbox', 'run commands of agents in a sandbox of the system')
    .option('--max-turns <n>', 'replies that the run may take', wholeNumber(1))
    .option('--max-budget-usd <amount>', 'US dollars that a run and its sub-agents may cost', amount)
    .option('--max-budget-tokens <n>', 'tokens that they may use', wholeNumber(1))
    .option('--max-time <seconds>', 'running time of the run', amount)
    .option('--system-prompt <text>', 'replaces the system prompt')
    .option('--append-system-prompt <text>', 'is added to the system prompt')
    .addOption(
      new Option('--durability <level>', 'write survives the end of the process, fsync that of the machine')
        .choices(['write', 'fsync'])
        .default('fsync'),
    )
    .option('--debug', 'errors with their stacks')
}

function createProgram(version: string, done: (parsed: Parsed) => void): Command {
  return withRunOptions(
    new Command('troupe')
      .description('Runs an agent and its sub-agents on the code in this directory. Every step is in a log.')
      .usage('[options] [prompt...]')
      .argument('[prompt...]', 'what to do; text that is piped in is added to it')
      .version(version, '-v, --version', 'print the version')
      .helpOption('-h, --help', 'print this help')
      .helpCommand(false),
  )
    .addOption(
      new Option('--session-id <uuid>', 'id of the new session')
        .argParser(sessionId)
        .conflicts(['resume', 'continue']),
    )
    .addOption(
      new Option('-r, --resume <id>', 'go on with this session; the start of its id is enough').conflicts(
        'continue',
      ),
    )
    .option('-c, --continue', 'go on with the latest session of this directory')
    .option('--take-over', "resume a session that another machine's process holds")
    .option('--accept-damage', 'resume over a gap in a log; the log will say so')
    .addOption(new Option('--default-prompt <text>').hideHelp())
    .addHelpText('after', MORE_HELP)
    .action((words: readonly string[], options: RunOptionValues) => {
      done({ kind: 'run', run: runArguments(words, options) })
    })
}

const MORE_HELP = `
Without --model: Anthropic when ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN or ANTHROPIC_BASE_URL is set,
else an offline planner that needs no key.

Environment:
  TROUPE_HOME             where sessions are kept; ~/.troupe
  TROUPE_MAX_RETRIES      attempts after the first when a model fails or is overloaded; 10
  TROUPE_FIRST_BYTE_MS    how long a model may take to begin its answer; 60000
  TROUPE_GAP_MS           how long it may pause in the middle of one; 120000
  TROUPE_OFFLINE_PACE_MS  pause before each reply of the offline planner; 0

Examples:
  troupe -p "where is the retry policy, and who calls it?"
  git diff | troupe -p "review this" --output-format json
  troupe -c -p "and its tests?"
  troupe log`

/** A subcommand: what it adds to the program. */
const COMMANDS: Readonly<Record<string, (program: Command, done: (parsed: Parsed) => void) => void>> = {
  agents: (program, done) => addAgentsCommand(program, (agents) => done({ kind: 'agents', agents })),
  worktrees: (program, done) =>
    addWorktreesCommand(program, (worktrees) => done({ kind: 'worktrees', worktrees })),
  sessions: (program, done) =>
    program
      .command('sessions')
      .description('list the sessions of this directory')
      .option('--json', 'one JSON object per session')
      .option('--debug', 'errors with their stacks')
      .action(({ json = false }: { json?: boolean }) => done({ kind: 'sessions', json })),
  log: (program, done) =>
    program
      .command('log')
      .description('tell what happened in a session: the latest, one by id, or a file')
      .argument('[id|file]', 'start of a session id, or a log file')
      .option('--agent <id>', 'one agent only; the start of its id is enough')
      .option('--json', 'one JSON object per event')
      .option('--debug', 'errors with their stacks')
      .action((target: string | undefined, { agent, json = false }: { agent?: string; json?: boolean }) =>
        done({ kind: 'log', target, agent, json }),
      ),
  replay: (program, done) =>
    program
      .command('replay')
      .description('fold a log to the state it leads to, and check it')
      .argument('<file|id>', 'a log file, or the start of a session id')
      .option('--at <n>', 'the state after the event at position n of the log', wholeNumber(0))
      .option('--rerun', 'play its replies through the engine again, and show where it differs')
      .option('--live-tools', 'with --rerun: run the tools instead of taking their results from the log')
      .option('--json', 'one JSON object per log')
      .option('--debug', 'errors with their stacks')
      .action((target: string, options: ReplayOptionValues) => done(replayArguments(target, options))),
  diff: (program, done) =>
    program
      .command('diff')
      .description('show where the stories of two logs first differ')
      .argument('<a>', 'a log file, or the start of a session id')
      .argument('<b>', 'another one')
      .option('--json', 'one JSON object')
      .option('--debug', 'errors with their stacks')
      .action((a: string, b: string, { json = false }: { json?: boolean }) =>
        done({ kind: 'diff', a, b, json }),
      ),
  branch: (program, done) =>
    withRunOptions(
      program
        .command('branch')
        .description(
          'go on from any position of a log, in a session of its own; transcripts of Claude Code too',
        )
        .argument('<id|file>', 'the start of a session id, or a log file')
        .argument('[prompt...]', 'what to ask there; default: to go on')
        .option(
          '--at <n>',
          'position of the last line that the branch shares; default: the end',
          wholeNumber(0),
        ),
    ).action((target: string, words: readonly string[], options: RunOptionValues & { at?: number }) =>
      done({
        kind: 'run',
        run: { ...runArguments(words, options), session: { kind: 'branch', target, at: options.at } },
      }),
    ),
}

interface ReplayOptionValues {
  readonly at?: number
  readonly json?: boolean
  readonly rerun?: boolean
  readonly liveTools?: boolean
}

function replayArguments(
  target: string,
  { at, json = false, rerun = false, liveTools = false }: ReplayOptionValues,
): Parsed {
  if (liveTools && !rerun) throw new UsageError('--live-tools needs --rerun')
  if (rerun && at !== undefined) throw new UsageError('--rerun plays a whole log; leave --at out')
  return { kind: 'replay', target, at, json, rerun, liveTools }
}

function addCommands(program: Command, done: (parsed: Parsed) => void): void {
  for (const add of Object.values(COMMANDS)) add(program, done)
}

function runArguments(words: readonly string[], options: RunOptionValues): RunArguments {
  if (options.includePartialMessages && options.outputFormat !== 'stream-json') {
    throw new UsageError('--include-partial-messages needs --output-format stream-json')
  }
  const prompt = words.join(' ')
  return {
    prompt: prompt.trim() === '' ? undefined : prompt,
    defaultPrompt: options.defaultPrompt,
    session: sessionChoice(options),
    print: options.print ?? false,
    outputFormat: options.outputFormat,
    includePartialMessages: options.includePartialMessages ?? false,
    verbose: options.verbose ?? false,
    model: options.model?.trim() || undefined,
    fallbackModel: options.fallbackModel?.trim() || undefined,
    agent: options.agent?.trim() || undefined,
    permissionMode: options.permissionMode,
    allowedTools: options.allowedTools ?? [],
    disallowedTools: options.disallowedTools ?? [],
    maxTurns: options.maxTurns,
    maxBudgetUsd: options.maxBudgetUsd,
    maxBudgetTokens: options.maxBudgetTokens,
    maxTime: options.maxTime,
    systemPrompt: options.systemPrompt,
    appendSystemPrompt: options.appendSystemPrompt,
    durability: options.durability,
    takeOver: options.takeOver ?? false,
    acceptDamage: options.acceptDamage ?? false,
    sandbox: options.sandbox ?? false,
    ...projectArguments(options),
  }
}

function sessionChoice({
  sessionId,
  resume,
  continue: latest,
  takeOver,
  acceptDamage,
}: RunOptionValues): SessionChoice {
  if (resume !== undefined) return { kind: 'resume', id: resume }
  if (latest) return { kind: 'latest' }
  if (takeOver || acceptDamage) {
    throw new UsageError('--take-over and --accept-damage need a session to resume; add -r ID or -c')
  }
  return { kind: 'new', ...(sessionId !== undefined && { sessionId }) }
}

const collectRules = (value: string, previous: readonly string[] = []): string[] => [
  ...previous,
  ...splitRules(value),
]

function wholeNumber(least: number): (value: string) => number {
  return (value) => {
    const number = Number(value)
    if (!/^\d+$/.test(value) || !Number.isSafeInteger(number) || number < least) {
      throw new InvalidArgumentError(`It must be a whole number, ${least} or more.`)
    }
    return number
  }
}

/** A number above 0, with a point or without. */
function amount(value: string): number {
  const number = Number(value)
  if (!/^\d*\.?\d+$/.test(value) || !(number > 0) || number === Number.POSITIVE_INFINITY)
    throw new InvalidArgumentError('It must be a number above 0, such as 2 or 0.50.')
  return number
}

function sessionId(value: string): string {
  const id = value.toLowerCase()
  if (!UUID.test(id)) throw new InvalidArgumentError('It must be a UUID.')
  return id
}
