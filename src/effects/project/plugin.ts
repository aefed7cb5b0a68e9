/**
 * Plugins: a folder with a manifest, `.claude-plugin/plugin.json`, that may say where its agents are.
 *
 * P1 Whatever a manifest names lies inside the plugin's folder, links resolved; a path that leaves it is told and not
 *    looked at.
 * P2 Where a manifest names agents, these are its agents; else those of the folder `agents`.
 */
import { readdir, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import picomatch from 'picomatch'
import { printable } from '../../definitions/context/text.ts'
import type { FileDiagnostic } from '../../definitions/files/agent-file.ts'
import { messageOf } from '../../definitions/message-of.ts'
import { realFolder } from '../context/repository-root.ts'
import { isInside } from '../tools/confinement.ts'
import { type Tell, teller } from './diagnostic.ts'
import type { AgentSources } from './read-agent-files.ts'
import { isObject, parseJsonObject, readSettingsText } from './read-text.ts'
import type { AgentPlace } from './walk-agent-files.ts'

/** A plugin as it is asked for. */
export interface PluginFolder {
  /** Absolute. */
  readonly dir: string
  /** Default: the manifest's name, else that of the folder. */
  readonly name?: string
}

/** A plugin as it was found. */
export interface Plugin {
  readonly name: string
  readonly dir: string
  readonly agents: AgentSources
  readonly diagnostics: readonly FileDiagnostic[]
}

/** Looks at a plugin. Undefined, with the reason, where it is no folder. Never rejects. */
export async function readPlugin({ dir, name: given }: PluginFolder): Promise<Plugin> {
  const diagnostics: FileDiagnostic[] = []
  const manifestPath = join(dir, '.claude-plugin', 'plugin.json')
  const tell = teller(manifestPath, diagnostics)
  const nothing: AgentSources = { places: [], texts: [] }
  const fallbackName = given ?? usableName(basename(dir)) ?? 'plugin'
  const problem = await folderProblem(dir)
  if (problem !== undefined) {
    teller(dir, diagnostics)(
      'error',
      'plugin-unreadable',
      `The plugin ${printable(dir)} was left out: ${problem}. Give the folder that holds it.`,
    )
    return { name: fallbackName, dir, agents: nothing, diagnostics }
  }
  const manifest = await readManifest(manifestPath, realFolder(dir), tell)
  const own = usableName(manifest['name'])
  if (manifest['name'] !== undefined && own === undefined)
    tell(
      'warning',
      'plugin-manifest-unreadable',
      `\`name\` must be of letters, digits, "-", "_" and "."; the plugin is called ${fallbackName}.`,
    )
  const name = given ?? own ?? fallbackName
  const plugin: Located = { name, dir, real: realFolder(dir), manifestPath, tell }
  return { name, dir, agents: agentsOf(plugin, manifest['agents']), diagnostics }
}

interface Located {
  readonly name: string
  readonly dir: string
  readonly real: string
  readonly manifestPath: string
  readonly tell: Tell
}

async function folderProblem(dir: string): Promise<string | undefined> {
  try {
    if (!(await stat(dir)).isDirectory()) return 'it is no folder'
    await readdir(dir)
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}

async function readManifest(
  path: string,
  within: string,
  tell: Tell,
): Promise<Readonly<Record<string, unknown>>> {
  const read = await readSettingsText(path, within)
  if (read.kind === 'missing') return {}
  const parsed =
    read.kind === 'text' ? parseJsonObject(read.text) : { ...read, kind: 'broken' as const, line: undefined }
  if (parsed.kind === 'object') return parsed.value
  const message = `The manifest cannot be read: ${parsed.reason}. The plugin is taken as one without a manifest.`
  tell('error', 'plugin-manifest-unreadable', message, parsed.line)
  return {}
}

/** A name becomes part of the names of agents, `name:agent`, and of rules about them. */
function usableName(name: unknown): string | undefined {
  return typeof name === 'string' && /^[\p{L}\p{N}_][\p{L}\p{N}._-]{0,63}$/u.test(name) ? name : undefined
}

function agentsOf(plugin: Located, agents: unknown): AgentSources {
  const { dir, manifestPath, tell, name } = plugin
  const usual: AgentSources = { places: [placeOf(plugin, join(dir, 'agents'))], texts: [] }
  if (agents === undefined) return usual
  if (isObject(agents)) {
    const origin = { path: manifestPath, source: 'plugin', plugin: name, baseDir: dir } as const
    return { places: [], texts: [{ json: agents, origin }] }
  }
  const paths = typeof agents === 'string' ? [agents] : agents
  if (!Array.isArray(paths)) {
    const message =
      '`agents` must be a path, a pattern, a list of them, or an object of agents; the folder "agents" is read instead.'
    tell('error', 'plugin-agents-unreadable', message)
    return usual
  }
  return { places: paths.flatMap((path: unknown) => placeIn(plugin, path)), texts: [] }
}

const MOST_CHARACTERS = 200
/** Each star is another loop around the others, each pair of braces doubles the ways to match. */
const MOST_STARS = 3
const MOST_BRACES = 2
const LONGEST_MATCHED_PATH = 256
/** No groups, no repetition of groups, no regular expressions: patterns of strangers must be quick to match. */
const PLAIN_PATTERN = /^[\p{L}\p{N} _.\-/*?{},@~&'[\]]+$/u

function placeIn(plugin: Located, written: unknown): readonly AgentPlace[] {
  const { dir, tell } = plugin
  const shown = JSON.stringify(written)?.slice(0, MOST_CHARACTERS) ?? String(written)
  const unreadable = (problem: string): readonly AgentPlace[] => {
    tell('error', 'plugin-agents-unreadable', `The entry ${shown} of \`agents\` was left out: ${problem}.`)
    return []
  }
  if (typeof written !== 'string' || written.trim() === '') return unreadable('it is no path')
  if (written.length > MOST_CHARACTERS) return unreadable(`it has more than ${MOST_CHARACTERS} characters`)
  const pattern = written
    .trim()
    .replace(/^(?:\.\/+)+/, '')
    .replace(/\/+$/, '')
  const isGlob = picomatch.scan(pattern).isGlob
  const base = isGlob ? (picomatch.scan(pattern).base ?? '') : pattern
  const path = resolve(dir, base)
  // By its name already: whether something is there is nobody's business.
  if (!isInside(resolve(dir), path)) {
    tell(
      'error',
      'plugin-agents-outside',
      `The entry ${shown} of \`agents\` leads out of the plugin and is not looked at. Copy the agents into it.`,
    )
    return []
  }
  if (!isGlob) return [{ ...placeOf(plugin, path), isExpected: true }]
  if (!PLAIN_PATTERN.test(pattern)) return unreadable('patterns know *, ?, [ ] and { } only')
  const [stars, braces] = [/\*+/g, /\{/g].map((each) => pattern.match(each)?.length ?? 0)
  if ((stars ?? 0) > MOST_STARS || (braces ?? 0) > MOST_BRACES)
    return unreadable(
      `a pattern has at most ${MOST_STARS} stars (** is one) and ${MOST_BRACES} pairs of braces`,
    )
  const rest = pattern.slice(base.length).replace(/^\/+/, '')
  const matches = picomatch(rest, {
    noextglob: true,
    regex: false,
    nonegate: true,
    maxLength: MOST_CHARACTERS,
  })
  const selects = (relative: string): boolean => relative.length <= LONGEST_MATCHED_PATH && matches(relative)
  return [{ ...placeOf(plugin, path), isExpected: true, selects }]
}

function placeOf({ name, dir, real }: Located, path: string): AgentPlace {
  return { path, within: [real], origin: { source: 'plugin', plugin: name, baseDir: dir } }
}
