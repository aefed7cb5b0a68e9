/**
 * Opens what the person and the project bring along.
 *
 * Owns: where files are looked for, who wins, what an untrusted project may not bring, and noticing changes. Does
 * not own: what a file means (`definitions`), nor starting anything: no server, no hook, nothing of the project runs.
 *
 * O1 Settings, plugins' manifests and MCP servers are read once: what may be started does not change under an agent.
 *    Agents and skills follow their files when they are watched.
 * O2 `agents` and `skills` are the same objects until their content changes; then they are new ones and everybody
 *    who asked is told, after all of it is in place.
 * O3 Two readings never overlap; a change during one leads to another.
 * O4 Nothing that cannot be read makes it reject: it is a diagnostic.
 */
import { statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { type AgentDefinition, type ProjectFacts, whenToUseOf } from '../../definitions/agent-definition.ts'
import { BUILT_IN_DEFINITIONS } from '../../definitions/built-in/index.ts'
import type { Skill } from '../../definitions/context/skill.ts'
import { byCodeUnits } from '../../definitions/context/text.ts'
import type { AgentFile, AgentRegistry, FileDiagnostic } from '../../definitions/files/agent-file.ts'
import { createAgentRegistry } from '../../definitions/files/registry.ts'
import type { DefinitionTrust, TrustSurface } from '../../definitions/files/trust.ts'
import { checkHooks, hooksForAll, type ScopedHook } from '../../definitions/hooks/scoped-hook.ts'
import { type Clock, systemClock } from '../clock.ts'
import { loadSkills, type SkillPlaces } from '../context/load-skills.ts'
import { realFolder } from '../context/repository-root.ts'
import type { Environment } from '../mcp/expand-variables.ts'
import { environmentOf } from '../settings/environment.ts'
import { permissionRulesOf } from '../settings/permission-rules.ts'
import { isOfProject, readSettings } from '../settings/read-settings.ts'
import { sandboxSettingsOf } from '../settings/sandbox-settings.ts'
import { worktreeSettingsOf } from '../settings/worktree-settings.ts'
import { againAfter } from './again-after.ts'
import { diagnosticOf } from './diagnostic.ts'
import { gatherMcpServers } from './mcp-servers.ts'
import { type Plugin, type PluginFolder, readPlugin } from './plugin.ts'
import type { Project } from './project.ts'
import { agentPlaces, findPlaces, type ProjectPlaces } from './project-places.ts'
import { type AgentSources, createAgentFileReader } from './read-agent-files.ts'
import { type SurroundingSettings, surroundingSettings } from './settings.ts'
import { withoutDistrusted } from './trust.ts'
import { createMemory, createUserContext } from './user-context.ts'
import { watchTargets } from './watch-targets.ts'

/** What a project is opened with. Only `cwd` is required. */
export interface ProjectOptions {
  /** The working directory, absolute. */
  readonly cwd: string
  /** The person's home folder. Default: that of the system. */
  readonly home?: string
  /** The person's settings folder. Default: `$CLAUDE_CONFIG_DIR`, else `<home>/.claude`. */
  readonly configDir?: string
  /** For `$CLAUDE_CONFIG_DIR`, variables in MCP servers, and git. Default: that of the process. */
  readonly env?: Environment
  /** Definitions that are there without any file. Default: the built-in ones. */
  readonly builtIn?: readonly AgentDefinition[]
  /** Text of `--agents`. */
  readonly agentsJson?: string
  readonly plugins?: readonly PluginFolder[]
  /** Folder of whoever administers the machine: `agents/`, `managed-settings.json`. Default: none. */
  readonly policyDir?: string
  /** Files, or JSON texts, of `--mcp-config`; relative to `cwd`. */
  readonly mcpConfigs?: readonly string[]
  /** The value of `--settings`: a file, relative to `cwd`, or a JSON text. Stronger than all but a policy's. */
  readonly settings?: string
  /** Further folders that agents work in, relative to `cwd`: of the person, so an untrusted project has them too. */
  readonly directories?: readonly string[]
  /** Tools of the host besides the known ones: other names in definitions are unknown. */
  readonly toolNames?: readonly string[]
  /** Short names of models besides the known ones. */
  readonly modelNames?: readonly string[]
  /** The project may bring hooks and MCP servers, which are programs that run. Default false. */
  readonly trust?: boolean
  /** Follow changes of agents and skills. Default false. */
  readonly watch?: boolean
  /** For the pause after a change. */
  readonly clock?: Clock
}

/** Opens a project. Close it when it is watched. */
export async function openProject(options: ProjectOptions): Promise<Project> {
  const {
    env = process.env,
    home = homedir(),
    builtIn = BUILT_IN_DEFINITIONS,
    trust: isTrusted = false,
  } = options
  const configDir = resolve(options.configDir ?? (env['CLAUDE_CONFIG_DIR'] || join(home, '.claude')))
  const places = findPlaces({ cwd: options.cwd, home, configDir, policyDir: options.policyDir })
  const policy = options.policyDir === undefined ? {} : { policyDir: options.policyDir }
  const [read, plugins] = await Promise.all([
    readSettings({
      ...{ cwd: places.cwd, folders: places.folders, configDir, ...policy },
      ...(options.settings !== undefined && { flags: options.settings }),
    }),
    Promise.all((options.plugins ?? []).map(readPlugin)),
  ])
  const settings = surroundingSettings(read.layers)
  const settingsEnv = environmentOf(read.layers, { isTrusted })
  const mcp = await gatherMcpServers({
    cwd: places.cwd,
    environment: { ...env, ...settingsEnv },
    configs: options.mcpConfigs ?? [],
    mcpJson: { path: join(places.root, '.mcp.json'), within: places.root },
    settings: settings.files,
    isTrusted,
  })
  const strict = settings.files.flatMap((file) => file.strictPluginOnlyCustomization)
  const load = createLoader({
    sources: sourcesOf(places, plugins, options.agentsJson),
    skills: skillPlaces(places, plugins),
    reader: createAgentFileReader(
      {
        ...(options.toolNames !== undefined && { toolNames: options.toolNames }),
        ...(options.modelNames !== undefined && { modelNames: options.modelNames }),
      },
      (file) => withoutDistrusted(file, { hooks: isTrusted, mcpServers: isTrusted || mcp.allowsAll }),
    ),
    builtIn,
    strict,
  })
  const permissions = permissionRulesOf(read.layers, { isTrusted, home })
  const folders = existingFolders([
    ...(options.directories ?? []).map((folder) => resolve(places.cwd, folder)),
    ...permissions.additionalDirectories,
  ])
  const worktree = worktreeSettingsOf(read.layers, { isTrusted })
  const sandbox = sandboxSettingsOf(read.layers, { home })
  const settingsHooks = hooksOf(settings.files, isTrusted)
  const fixed = [
    ...read.diagnostics,
    ...settings.diagnostics,
    ...settingsHooks.diagnostics,
    ...permissions.diagnostics,
    ...worktree.diagnostics,
    ...sandbox.diagnostics,
    ...folders.diagnostics,
    ...mcp.diagnostics,
    ...plugins.flatMap(({ diagnostics }) => diagnostics),
  ]
  let loaded = await load(undefined)
  const late: FileDiagnostic[] = []
  let isClosed = false
  const listeners = new Set<() => void>()

  const reading = againAfter(async () => {
    if (isClosed) return
    const before = loaded
    const next = await load(before)
    if (isClosed) return
    loaded = next
    if (next.agents === before.agents && next.skills === before.skills) return
    for (const listener of [...listeners]) tellOne(listener)
  })
  const watcher =
    options.watch === true
      ? (await import('./watch-places.ts')).watchPlaces({
          targets: watchTargets(places, plugins),
          clock: options.clock ?? systemClock,
          onChange: reading.ask,
          onIncomplete: (reason) => {
            const message = `Changes of agents and skills will not all be noticed: ${reason}.`
            late.push(diagnosticOf('warning', places.cwd, 'watch-incomplete', message))
          },
        })
      : undefined

  const settingsFiles = settings.files.map(({ path }) => path).sort(byCodeUnits)
  const mcpNames = mcp.servers.map(({ name }) => name)
  const facts = memoised(
    (state: Loaded): ProjectFacts => ({
      agents: state.agents.activeAgents
        .filter(({ source, isUnlisted }) => source !== 'built-in' && isUnlisted !== true)
        .map((definition) => ({
          name: definition.agentType,
          description: whenToUseOf(definition, { callerTools: options.toolNames ?? [] }),
        })),
      skills: state.skills.map(({ name, description }) => ({ name, description })),
      mcpServers: mcpNames,
      settingsFiles,
    }),
  )
  return {
    get agents() {
      return loaded.agents
    },
    get skills() {
      return loaded.skills
    },
    mcpServers: mcp.servers,
    hooks: settingsHooks.hooks,
    permissions,
    worktree: worktree.options,
    ...(sandbox.sandbox !== undefined && { sandbox: sandbox.sandbox }),
    directories: folders.found,
    env: settingsEnv,
    secrets: [...new Set(read.layers.flatMap((layer) => layer.settings.secrets))],
    userSettingsFile: join(realFolder(configDir), 'settings.json'),
    userContext: createUserContext(places, env),
    memory: createMemory(places, (diagnostic) => late.push(diagnostic)),
    get facts() {
      return facts(loaded)
    },
    get diagnostics() {
      return [...fixed, ...loaded.agents.diagnostics, ...loaded.skillDiagnostics, ...late]
    },
    onChange(listener) {
      // Two parties may ask with the same function.
      const own = (): void => listener()
      listeners.add(own)
      return () => void listeners.delete(own)
    },
    async close() {
      isClosed = true
      listeners.clear()
      await watcher?.close()
      await reading.idle()
    },
  }
}

/** What follows its files. */
interface Loaded {
  readonly files: readonly AgentFile[]
  readonly agents: AgentRegistry
  readonly skills: readonly Skill[]
  readonly skillDiagnostics: readonly FileDiagnostic[]
}

interface LoaderParts {
  readonly sources: AgentSources
  readonly skills: SkillPlaces
  readonly reader: ReturnType<typeof createAgentFileReader>
  readonly builtIn: readonly AgentDefinition[]
  readonly strict: readonly TrustSurface[]
}

function createLoader(parts: LoaderParts): (before: Loaded | undefined) => Promise<Loaded> {
  const { sources, reader, builtIn, strict } = parts
  const trust: DefinitionTrust = strict.length === 0 ? {} : { strictPluginOnlyCustomization: strict }
  return async (before) => {
    const [files, { skills, diagnostics }] = await Promise.all([
      reader.read(sources),
      loadSkills(parts.skills),
    ])
    const isSameAgents =
      before?.files.length === files.length && files.every((file, index) => file === before.files[index])
    const isSameSkills = before !== undefined && JSON.stringify(skills) === JSON.stringify(before.skills)
    return {
      files,
      agents:
        before !== undefined && isSameAgents ? before.agents : createAgentRegistry(files, builtIn, trust),
      skills: isSameSkills ? before.skills : skills,
      skillDiagnostics: diagnostics,
    }
  }
}

/** Further folders to work in, links resolved. One that is not there now is no place to work in later. */
function existingFolders(paths: readonly string[]): {
  readonly found: readonly string[]
  readonly diagnostics: readonly FileDiagnostic[]
} {
  const isFolder = (path: string): boolean =>
    statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  const found = paths.filter(isFolder).map(realFolder)
  const diagnostics = paths
    .filter((path) => !isFolder(path))
    .map((path) =>
      diagnosticOf(
        'warning',
        path,
        'settings-not-honoured',
        'It is named as a further folder to work in (permissions.additionalDirectories) and is no folder that is there: agents do not work in it.',
      ),
    )
  return { found: [...new Set(found)], diagnostics }
}

/** Hooks of settings. A project's run only when it is trusted; what is reserved for plugins and policies is theirs. */
function hooksOf(
  files: readonly SurroundingSettings[],
  isTrusted: boolean,
): { readonly hooks: readonly ScopedHook[]; readonly diagnostics: readonly FileDiagnostic[] } {
  const isReserved = files.some((file) => file.strictPluginOnlyCustomization.includes('hooks'))
  const diagnostics: FileDiagnostic[] = []
  const hooks = files.flatMap(({ scope, path, hooks }) => {
    if (hooks.length === 0) return []
    if (isOfProject(scope) && !isTrusted) {
      const message =
        'The hooks of this file do not run, because the project is not trusted. Look at their commands; then trust the project (--trust-project).'
      diagnostics.push(diagnosticOf('warning', path, 'project-not-trusted', message))
      return []
    }
    if (isReserved && scope !== 'policy') {
      const message = 'The hooks of this file do not run: a policy reserves hooks for plugins.'
      diagnostics.push(diagnosticOf('warning', path, 'settings-not-honoured', message))
      return []
    }
    return hooksForAll(hooks, { kind: 'file', path })
  })
  return { hooks, diagnostics: [...diagnostics, ...hookDiagnostics(hooks)] }
}

const hookDiagnostics = (hooks: readonly ScopedHook[]): readonly FileDiagnostic[] =>
  checkHooks(hooks).map(({ severity, code, message, source }) => ({
    severity,
    code,
    message,
    file: source.kind === 'file' ? source.path : 'hooks',
  }))

function sourcesOf(
  places: ProjectPlaces,
  plugins: readonly Plugin[],
  agentsJson: string | undefined,
): AgentSources {
  const flags = {
    json: agentsJson,
    origin: { path: '--agents', source: 'flagSettings', baseDir: places.cwd },
  } as const
  return {
    places: [...agentPlaces(places), ...plugins.flatMap(({ agents }) => agents.places)],
    texts: [...(agentsJson === undefined ? [] : [flags]), ...plugins.flatMap(({ agents }) => agents.texts)],
  }
}

function skillPlaces({ configDir, folders, root }: ProjectPlaces, plugins: readonly Plugin[]): SkillPlaces {
  return {
    userDir: configDir,
    projectDirs: folders.map(({ path }) => join(path, '.claude')),
    // Folders that are on their own have no common root.
    ...(folders.every(({ within }) => within === root) && { stopAt: root }),
    plugins: plugins.map(({ name, dir }) => ({ name, dir })),
  }
}

/** What one listener does wrong is no reason not to tell the others. */
function tellOne(listener: () => void): void {
  try {
    listener()
  } catch {
    // It is the listener's own business; there is nobody here who could be told.
  }
}

/** Computes once for each object. */
function memoised<K extends object, V>(compute: (key: K) => V): (key: K) => V {
  const known = new WeakMap<K, V>()
  return (key) => {
    const value = known.get(key) ?? compute(key)
    known.set(key, value)
    return value
  }
}
