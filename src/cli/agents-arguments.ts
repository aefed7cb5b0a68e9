/** The part of the command line that is about agents: `troupe agents …`, and the flags that a run shares with it. */
import { type Command, InvalidArgumentError } from 'commander'
import { didYouMean } from '../definitions/closest-name.ts'
import { UsageError } from './errors.ts'

/** What a project is opened with, in the words of the command line. */
export interface ProjectArguments {
  /** JSON text of `--agents`. */
  readonly agents: string | undefined
  /** As written; relative to the working directory. */
  readonly pluginDirs: readonly string[]
  /** Files or JSON texts. */
  readonly mcpConfigs: readonly string[]
  /** A file or a JSON text. */
  readonly settings: string | undefined
  /** Further folders to work in, as written; relative to the working directory. */
  readonly addDirs: readonly string[]
  readonly trustProject: boolean
}

/** What `troupe agents` was asked. */
export type AgentsArguments = ProjectArguments & { readonly json: boolean } & (
    | { readonly action: 'list' }
    /** Without paths: all places. */
    | { readonly action: 'validate'; readonly paths: readonly string[] }
    | { readonly action: 'show'; readonly name: string }
  )

/** What commander makes of the flags. */
export interface ProjectOptionValues {
  readonly agents?: string
  readonly pluginDir?: readonly string[]
  readonly mcpConfig?: readonly string[]
  readonly settings?: string
  readonly addDir?: readonly string[]
  readonly trustProject?: boolean
}

/** Adds the flags that say what a project is opened with. */
export function withProjectOptions(command: Command): Command {
  return command
    .option('--agents <json>', 'more agents: {"name": {"description": "…", "prompt": "…"}}')
    .option('--plugin-dir <dir>', 'a folder with a plugin; may be given again', collectPath)
    .option('--mcp-config <configs...>', 'MCP servers: files or JSON', collectPath)
    .option(
      '--settings <file-or-json>',
      'settings that are stronger than those of the project and your own',
      notEmpty,
    )
    .option('--add-dir <directories...>', 'further folders that agents work in', collectPath)
    .option('--trust-project', 'let the project bring hooks and MCP servers, which are programs')
}

/** The flags as data. */
export function projectArguments(options: ProjectOptionValues): ProjectArguments {
  return {
    agents: options.agents,
    pluginDirs: options.pluginDir ?? [],
    mcpConfigs: options.mcpConfig ?? [],
    settings: options.settings,
    addDirs: options.addDir ?? [],
    trustProject: options.trustProject ?? false,
  }
}

type Values = ProjectOptionValues & { readonly json?: boolean }

/** Adds the command. */
export function addAgentsCommand(program: Command, done: (parsed: AgentsArguments) => void): void {
  const agents = program
    .command('agents')
    .description('the kinds of agents that there are here')
    .helpCommand(false)
  const add = (usage: string, description: string, isDefault = false): Command =>
    withProjectOptions(agents.command(usage, { isDefault }).description(description))
      .option('--json', 'one JSON object per line')
      .option('--debug', 'errors with their stacks')
  const common = (options: Values): ProjectArguments & { readonly json: boolean } => ({
    ...projectArguments(options),
    json: options.json ?? false,
  })
  // Also what comes without a word, so that a wrong word ends here.
  add('list', 'list them, with those that are not in use and why', true)
    .allowExcessArguments()
    .action((options: Values, { args: [word] }: Command) => {
      if (word !== undefined) throw new UsageError(noCommand(word))
      done({ action: 'list', ...common(options) })
    })
  add('validate', 'check files of agents; exit code 1 when one gives no agent')
    .argument('[path...]', 'files or folders; default: all places where agents are looked for')
    .action((paths: readonly string[], options: Values) =>
      done({ action: 'validate', paths, ...common(options) }),
    )
  add('show', 'tell what one comes to, and why')
    .argument('<name>', 'what it is called')
    .action((name: string, options: Values) => done({ action: 'show', name, ...common(options) }))
}

const noCommand = (word: string): string =>
  `"${word}" is no command of troupe agents.${didYouMean(word, ['list', 'validate', 'show'])} See troupe agents --help`

const collectPath = (value: string, previous: readonly string[] = []): readonly string[] => [
  ...previous,
  notEmpty(value),
]

function notEmpty(value: string): string {
  if (value.trim() === '') throw new InvalidArgumentError('It is empty.')
  return value
}
