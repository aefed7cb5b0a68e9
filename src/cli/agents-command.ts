/** `troupe agents list|validate|show`: which kinds of agents there are here, and why they are as they are. */
import type { AgentsArguments } from './agents-arguments.ts'
import { listAgents } from './agents-list.ts'
import { projectOptions } from './agents-options.ts'
import { showAgent } from './agents-show.ts'
import { validateAgents, validatePaths } from './agents-validate.ts'
import type { Host } from './host.ts'
import { openProjectOf, requireFolders } from './open-project.ts'

/** Writes the answer to standard output. Starts nothing. Resolves with the exit code. */
export async function agentsCommand(args: AgentsArguments, host: Host): Promise<number> {
  const options = await projectOptions(args, host)
  if (args.action === 'validate' && args.paths.length > 0)
    return validatePaths(args, options.toolNames ?? [], host)
  await requireFolders(args.addDirs, host.cwd)
  const project = await openProjectOf(args, host)
  try {
    switch (args.action) {
      case 'list':
        return listAgents(project, args, host)
      case 'validate':
        return validateAgents(project, args, host)
      case 'show':
        return showAgent(project, args, options.toolNames ?? [], host)
    }
  } finally {
    await project.close()
  }
}
