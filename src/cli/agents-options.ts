/** From the command line to the options of a project. */
import { resolve } from 'node:path'
import { BUILT_IN_DEFINITIONS, CLI_DEFINITIONS } from '../definitions/built-in/index.ts'
import type { ProjectOptions } from '../effects/project/open-project.ts'
import type { ProjectArguments } from './agents-arguments.ts'
import type { Host } from './host.ts'

/** What a project is opened with, the same for a run and for `troupe agents`. */
export async function projectOptions(args: ProjectArguments, host: Host): Promise<ProjectOptions> {
  const { tools } = await host.builtIns()
  return {
    cwd: host.cwd,
    home: host.userHome,
    env: host.env,
    builtIn: [...BUILT_IN_DEFINITIONS, ...CLI_DEFINITIONS],
    toolNames: tools,
    ...(args.agents !== undefined && { agentsJson: args.agents }),
    plugins: args.pluginDirs.map((dir) => ({ dir: resolve(host.cwd, dir) })),
    mcpConfigs: args.mcpConfigs,
    ...(args.settings !== undefined && { settings: args.settings }),
    directories: args.addDirs,
    trust: args.trustProject,
    clock: host.clock,
  }
}
