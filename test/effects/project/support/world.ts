/** A person's home and a project, as real folders, gone when the test is over. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { openProject, type ProjectOptions } from '../../../../src/effects/project/open-project.ts'
import type { Project } from '../../../../src/effects/project/project.ts'

export interface World extends AsyncDisposable {
  readonly root: string
  readonly home: string
  /** A repository. */
  readonly project: string
  /** Writes a file, its folders included. Paths start at the root of the world. Returns the absolute path. */
  write(path: string, content?: string | Uint8Array): string
  /** Makes a link at `path` that leads to `target`, as written. */
  link(path: string, target: string): string
  open(options?: Partial<ProjectOptions>): Promise<Project>
}

export function createWorld(): World {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-project-')))
  const [home, project] = [join(root, 'home'), join(root, 'project')]
  mkdirSync(home)
  mkdirSync(join(project, '.git'), { recursive: true })
  const opened: Project[] = []
  const placed = (path: string): string => {
    const full = join(root, path)
    mkdirSync(dirname(full), { recursive: true })
    return full
  }
  return {
    root,
    home,
    project,
    write(path, content = agent(path)) {
      const full = placed(path)
      writeFileSync(full, content)
      return full
    },
    link(path, target) {
      const full = placed(path)
      symlinkSync(target, full)
      return full
    },
    async open(options) {
      const opening = await openProject({ cwd: project, home, env: {}, builtIn: [], ...options })
      opened.push(opening)
      return opening
    },
    async [Symbol.asyncDispose]() {
      for (const each of opened) await each.close()
      rmSync(root, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}

/** A file of an agent; its prompt says where it is from. `more`: lines of frontmatter. */
export function agent(prompt: string, name = 'reviewer', more = ''): string {
  return `---\nname: ${name}\ndescription: Reviews code\n${more}---\n${prompt}\n`
}

/** Prompt of the active agent of a name. */
export function promptOf(project: Project, name = 'reviewer'): string | undefined {
  return project.agents.activeAgents
    .find(({ agentType }) => agentType === name)
    ?.getSystemPrompt({ cwd: '/' })
}

/** Codes, sorted, of what is told about a file. */
export const codesOf = (project: Project, file: string): readonly string[] =>
  project.diagnostics
    .filter((diagnostic) => diagnostic.file === file)
    .map(({ code }) => code)
    .sort()

export const namesOf = (project: Project): readonly string[] =>
  project.agents.activeAgents.map(({ agentType }) => agentType)
