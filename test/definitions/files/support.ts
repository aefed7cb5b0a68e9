/** Agent files for tests, and what comes of them. */
import type { AgentDefinition } from '../../../src/definitions/agent-definition.ts'
import type { AgentFile, FileOrigin } from '../../../src/definitions/files/agent-file.ts'
import { parseAgentFile } from '../../../src/definitions/files/parse-agent-file.ts'

/** Where the files of tests stand. */
export const ORIGIN: FileOrigin = { path: '/project/.claude/agents/reviewer.md', source: 'projectSettings' }

/** A file of these lines between fences, with a prompt. */
export const fileOf = (...lines: readonly string[]): string =>
  `---\n${lines.join('\n')}\n---\n\nYou review.\n`

/** A good file with more lines. */
export const goodFile = (...lines: readonly string[]): string =>
  fileOf('name: reviewer', 'description: Reviews code.', ...lines)

/** Reads a file that must give an agent. */
export function agentOf(
  content: string | Uint8Array,
  origin: FileOrigin = ORIGIN,
): Extract<AgentFile, { kind: 'agent' }> {
  const file = parseAgentFile(content, origin)
  if (file.kind !== 'agent')
    throw new Error(`no agent but ${file.kind}: ${file.diagnostics.map(({ message }) => message).join(' ')}`)
  return file
}

/** Severities and codes, with lines. */
export const codesOf = ({ diagnostics }: Pick<AgentFile, 'diagnostics'>): readonly string[] =>
  diagnostics.map(({ severity, code, line }) => `${severity} ${code}${line === undefined ? '' : `:${line}`}`)

/** A definition as data: its prompt instead of the function that gives it. */
export function asData({ getSystemPrompt, ...rest }: AgentDefinition): Record<string, unknown> {
  return { ...rest, prompt: getSystemPrompt({ cwd: '/project' }) }
}

/** What a file comes to, apart from the places of its diagnostics. */
export function outcomeOf(content: string | Uint8Array, origin: FileOrigin = ORIGIN): unknown {
  const file = parseAgentFile(content, origin)
  return file.kind === 'agent'
    ? { kind: file.kind, mode: file.mode, definition: asData(file.definition), unknownKeys: file.unknownKeys }
    : { kind: file.kind }
}
