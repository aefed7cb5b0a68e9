/** The way into `open-project.ts` for hosts: a host that opens no project must not pay for readers of files. */
import type { ProjectOptions } from './open-project.ts'
import type { Project } from './project.ts'

/**
 * Opens what the person and the project bring along: agent files, skills, CLAUDE.md, memories, MCP servers. Hand it to
 * `createEngine` and close it behind the engine. Never rejects for a file: what cannot be read is a diagnostic.
 */
export async function openProject(options: ProjectOptions): Promise<Project> {
  const { openProject: open } = await import('./open-project.ts')
  return open(options)
}
