/** The texts about person and project that agents are given. */
import type { MemoryScope } from '../../definitions/agent-definition.ts'
import { LOCAL_MEMORY_IGNORE_LINE, renderMemoryPrompt } from '../../definitions/context/agent-memory.ts'
import { renderContext } from '../../definitions/context/user-context.ts'
import type { FileDiagnostic } from '../../definitions/files/agent-file.ts'
import { excludeLocalMemory, memoryFolder, readMemory } from '../context/memory.ts'
import { readClaudeMd } from '../context/read-claude-md.ts'
import { readGitStatus } from '../context/read-git-status.ts'
import { findRepositoryRoot } from '../context/repository-root.ts'
import { createGitRunner } from '../context/run-git.ts'
import type { Environment } from '../mcp/expand-variables.ts'
import { diagnosticOf } from './diagnostic.ts'
import type { Project, ProjectMemory } from './project.ts'
import type { ProjectPlaces } from './project-places.ts'

/**
 * Makes `Project.userContext`. Files and git status of a working directory are read once: the text is part of the
 * prefix that caches are keyed by, and must not change in the middle of a session.
 */
export function createUserContext(
  { home, configDir }: ProjectPlaces,
  env: Environment,
): Project['userContext'] {
  const files = remembering((cwd) => readClaudeMd({ cwd, home, configDir, stopAt: findRepositoryRoot(cwd) }))
  const status = remembering((cwd) => readGitStatus(cwd, { run: createGitRunner({ cwd, env }) }))
  return async (cwd, { gitStatus: hasStatus = true } = {}) => {
    const [claudeMd, gitStatus] = await Promise.all([files(cwd), hasStatus ? status(cwd) : undefined])
    return { text: renderContext({ claudeMd: claudeMd.files, gitStatus }), diagnostics: claudeMd.diagnostics }
  }
}

/**
 * Makes `Project.memory`. A memory is read anew each time: agents write it. `tell` hears what is amiss with the
 * project rather than with a memory.
 */
export function createMemory(
  { home, configDir, root, isRepository }: ProjectPlaces,
  tell: (diagnostic: FileDiagnostic) => void,
): Project['memory'] {
  const ignore = remembering(async (path) => {
    if ((await excludeLocalMemory(root)) !== 'not-possible') return
    const message = `Git does not ignore the memory ${path}, because .git/info/exclude cannot be written. Add ${LOCAL_MEMORY_IGNORE_LINE} to a .gitignore.`
    tell(diagnosticOf('warning', path, 'memory-not-ignored', message))
  })
  return async (scope: MemoryScope, agentType: string): Promise<ProjectMemory> => {
    const folder = memoryFolder(scope, agentType, { home, project: root, configDir })
    const { text, writableRoot, diagnostics } = await readMemory(folder)
    if (writableRoot === undefined) return { text: '', writableRoot, diagnostics }
    if (scope === 'local' && isRepository) await ignore(folder.path)
    return {
      text: renderMemoryPrompt({ folder: writableRoot, scope, text }),
      writableRoot,
      diagnostics,
    }
  }
}

/** Asks once for each key. */
function remembering<T>(ask: (key: string) => Promise<T>): (key: string) => Promise<T> {
  const known = new Map<string, Promise<T>>()
  return (key) => {
    const answer = known.get(key) ?? ask(key)
    known.set(key, answer)
    return answer
  }
}
