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
 * Opens it. A broken file of a project is told and passed over; what somebody has just typed is refused instead: who
 * gives `--settings` with a deny rule must not get a run without it. Rejects with a {@link UsageError}.
 */
export async function openProjectOf(
  args: ProjectArguments,
  host: Host,
  more: Pick<ProjectOptions, 'watch'> = {},
): Promise<Project> {
  const project = await host.openProject({ ...(await projectOptions(args, host)), ...more })
  const problem = settingsProblem(args.settings, project, host.cwd)
  if (problem === undefined) return project
  await project.close()
  throw new UsageError(problem)
}

/** What is wrong with the value of `--settings`, in one line. */
function settingsProblem(
  value: string | undefined,
  { diagnostics }: Pick<Project, 'diagnostics'>,
  cwd: string,
): string | undefined {
  if (value === undefined) return undefined
  const places = ['--settings', resolve(cwd, value)]
  const wrong = diagnostics.find(({ severity, file }) => severity === 'error' && places.includes(file))
  if (wrong === undefined) return undefined
  const { file, line, column, message } = wrong
  const name = file === '--settings' ? file : `--settings ${file}`
  const place = line === undefined ? '' : `, line ${line}${column === undefined ? '' : `, column ${column}`}`
  return `${name}${place}: ${message}`
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
