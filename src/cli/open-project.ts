/** Opens the project that a command line is about, and refuses flags that nobody can mean. */
import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { ProjectOptions } from '../effects/project/open-project.ts'
import type { Project } from '../effects/project/project.ts'
import type { ProjectArguments } from './agents-arguments.ts'
import { projectOptions } from './agents-options.ts'
import { UsageError } from './errors.ts'
import type { Host } from './host.ts'

/**
 * Opens it for commands that look at it. A broken file of a project is told and passed over; `--settings` that are broken
 * are refused instead: who gives them with a deny rule must not get an answer without it. Rejects with a
 * {@link UsageError}.
 */
export const openProjectOf = (args: ProjectArguments, host: Host): Promise<Project> =>
  openUnless(args, host, {}, settingsPlaces(args, host.cwd))

/** Opens it for a run, and follows its files. What is wrong in any of its flags is refused. */
export const openProjectToRun = (args: ProjectArguments, host: Host): Promise<Project> => {
  const flags = [
    ...settingsPlaces(args, host.cwd),
    ...(args.agents === undefined ? [] : [{ flag: '--agents', place: '--agents' }]),
    ...args.pluginDirs.flatMap((value) => placesOf('--plugin-dir', value, host.cwd)),
    ...args.mcpConfigs.flatMap((value) => placesOf('--mcp-config', value, host.cwd)),
  ]
  return openUnless(args, host, { watch: true }, flags)
}

/** Where the value of a flag is spoken of by diagnostics. */
interface FlagPlace {
  readonly flag: string
  /** The flag itself for a text, or the path of a file. */
  readonly place: string
}

const settingsPlaces = ({ settings }: ProjectArguments, cwd: string): readonly FlagPlace[] =>
  settings === undefined ? [] : placesOf('--settings', settings, cwd)

const placesOf = (flag: string, value: string, cwd: string): readonly FlagPlace[] => [
  { flag, place: flag },
  { flag, place: resolve(cwd, value) },
]

async function openUnless(
  args: ProjectArguments,
  host: Host,
  more: Pick<ProjectOptions, 'watch'>,
  flags: readonly FlagPlace[],
): Promise<Project> {
  const project = await host.openProject({ ...(await projectOptions(args, host)), ...more })
  const problem = problemWith(flags, project)
  if (problem === undefined) return project
  await project.close()
  throw new UsageError(problem)
}

/** What is wrong with what was typed, in one line. */
function problemWith(
  flags: readonly FlagPlace[],
  { diagnostics }: Pick<Project, 'diagnostics'>,
): string | undefined {
  for (const { severity, file, line, column, message } of diagnostics) {
    const found = flags.find(({ place }) => place === file)
    if (severity !== 'error' || found === undefined) continue
    if (message.startsWith(file)) return message
    const name = file === found.flag ? file : `${found.flag} ${file}`
    const place =
      line === undefined ? '' : `, line ${line}${column === undefined ? '' : `, column ${column}`}`
    return `${name}${place}: ${message}`
  }
  return undefined
}

/** Checks the folders of `--add-dir`, as written. Rejects with a {@link UsageError}. */
export async function requireFolders(folders: readonly string[], cwd: string): Promise<void> {
  for (const folder of folders) await requireFolder(folder, cwd)
}

async function requireFolder(folder: string, cwd: string): Promise<void> {
  const path = resolve(cwd, folder)
  const hint = /\s/.test(folder) ? '; a prompt stands in front of the flag, or behind --' : ''
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) throw new UsageError(`--add-dir: there is no folder ${path}${hint}`)
  if (!found.isDirectory()) throw new UsageError(`--add-dir: ${path} is a file; name its folder`)
  await access(path, constants.R_OK | constants.X_OK).catch((error: unknown) => {
    throw new UsageError(`--add-dir: the folder ${path} cannot be read`, { cause: error })
  })
}
