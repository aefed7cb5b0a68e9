/**
 * Agents as JSON, from `--agents` and from plugins: `{ "agents": { "name": { "description", "prompt", "tools", … } } }`,
 * or the inner object alone. Each goes through the same table of fields as a file.
 */
import type { AgentFile, FileOrigin } from './agent-file.ts'
import { buildDefinition } from './build-definition.ts'
import { fieldOfKey } from './field-names.ts'
import { createFileNotes, quoted } from './file-notes.ts'
import { MAX_FILE_BYTES } from './file-text.ts'
import type { ParseOptions } from './parse-agent-file.ts'
import { isRecord, toPlainData } from './plain-data.ts'

/**
 * The agents of a JSON text, or of a value that was one. Never throws: what is no such JSON is one failed file.
 *
 * @public
 */
export function parseAgentsJson(
  json: unknown,
  origin: FileOrigin,
  options: ParseOptions = {},
): readonly AgentFile[] {
  const failed = (problem: string): readonly AgentFile[] => {
    const notes = createFileNotes(origin.path)
    const form = '{ "agents": { "name": { "description": "…", "prompt": "…" } } }'
    notes.fail('agents-json-unreadable', `The agents cannot be read: ${problem}. Write ${form}.`)
    return [{ kind: 'failed', file: origin.path, diagnostics: notes.diagnostics }]
  }
  const read = typeof json === 'string' ? readText(json) : toPlainData(json)
  if (read.kind === 'refused') return failed(read.reason)
  if (!isRecord(read.value)) return failed('they are no object')
  const agents = innerAgents(read.value)
  if (!isRecord(agents)) return failed('"agents" is no object')
  return [
    ...Object.entries(agents).map(([name, agent]) => parseOne(name, agent, origin, options)),
    ...(agents === read.value ? [] : ignoredKeys(read.value, origin)),
  ]
}

/** What stands beside `agents`: in a plugin's JSON the rest of the plugin, elsewhere a mistake. */
function ignoredKeys(value: Readonly<Record<string, unknown>>, origin: FileOrigin): readonly AgentFile[] {
  const keys = Object.keys(value).filter((key) => key !== 'agents')
  if (keys.length === 0 || origin.source === 'plugin') return []
  const notes = createFileNotes(origin.path)
  const names = keys.slice(0, 10).map(quoted).join(', ')
  notes.warn('key-unknown', `Beside "agents" ${names} means nothing here. Put agents into "agents".`)
  return [{ kind: 'not-an-agent', file: origin.path, diagnostics: notes.diagnostics }]
}

function readText(json: string): ReturnType<typeof toPlainData> {
  if (json.length > MAX_FILE_BYTES)
    return { kind: 'refused', reason: `they have more than ${MAX_FILE_BYTES} characters` }
  try {
    return toPlainData(JSON.parse(json.replace(/^\ufeff/, '')))
  } catch (error) {
    return { kind: 'refused', reason: error instanceof SyntaxError ? error.message : 'they are no JSON' }
  }
}

/** What is in `agents`, unless that is an agent of this name. */
function innerAgents(value: Readonly<Record<string, unknown>>): unknown {
  if (!Object.hasOwn(value, 'agents')) return value
  const { agents } = value
  const isAgent =
    isRecord(agents) && (typeof agents['description'] === 'string' || typeof agents['prompt'] === 'string')
  return isAgent ? value : agents
}

function parseOne(name: string, agent: unknown, origin: FileOrigin, options: ParseOptions): AgentFile {
  const file = origin.path
  const notes = createFileNotes(`${file} (agent ${quoted(name)})`)
  const { diagnostics } = notes
  if (!isRecord(agent)) {
    notes.fail(
      'agents-json-unreadable',
      `The agent ${quoted(name)} is no object with "description" and "prompt".`,
    )
    return { kind: 'failed', file, diagnostics }
  }
  const { prompt, ...rest } = agent
  const fields = Object.entries(rest)
    .filter(([key]) => fieldOfKey(key) !== 'name')
    .concat([['name', name]])
    .map(([key, value]) => ({ key, field: fieldOfKey(key), value, isAsText: false, segment: undefined }))
  if (prompt !== undefined && typeof prompt !== 'string')
    notes.warn('field-unreadable', '`prompt` must be a text; it was left out.')
  const text = typeof prompt === 'string' ? prompt.trim() : ''
  const built = buildDefinition({ mode: 'strict', fields, prompt: text, place: {} }, origin, {
    notes,
    toolNames: options.toolNames ?? [],
    modelNames: options.modelNames ?? [],
  })
  return built === undefined
    ? { kind: 'failed', file, diagnostics }
    : { kind: 'agent', mode: 'strict', ...built, diagnostics }
}
