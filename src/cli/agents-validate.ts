/** `troupe agents validate [path…]`: what is wrong with the files, as `file:line:column: severity: message [code]`. */
import { statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { AgentFile, AgentRegistry, FileDiagnostic } from '../definitions/files/agent-file.ts'
import { createAgentRegistry } from '../definitions/files/registry.ts'
import { realFolder } from '../effects/context/repository-root.ts'
import type { Project } from '../effects/project/project.ts'
import { createAgentFileReader } from '../effects/project/read-agent-files.ts'
import type { AgentPlace } from '../effects/project/walk-agent-files.ts'
import { shownPath } from '../effects/tools/confinement.ts'
import { countsOf } from './agents-text.ts'
import { coloursFor } from './colours.ts'
import { EXIT } from './errors.ts'
import { counted, oneLine, toJson } from './format.ts'
import type { Host } from './host.ts'

interface Format {
  readonly json: boolean
}

/** Checks everything that a session here would read. Resolves with the exit code. */
export function validateAgents(project: Project, format: Format, host: Host): number {
  return report(project.diagnostics, project.agents, format, host)
}

/** Checks files and folders anywhere, as agents of a project. Resolves with the exit code. */
export async function validatePaths(
  { paths, json }: Format & { readonly paths: readonly string[] },
  toolNames: readonly string[],
  host: Host,
): Promise<number> {
  const places = paths.map((path) => placeOf(resolve(host.cwd, path)))
  const files = await createAgentFileReader({ toolNames }).read({ places, texts: [] })
  const registry = createAgentRegistry(files, [])
  const named = new Set(places.map(({ path }) => path))
  const silent = files.flatMap((file) =>
    isSilentlyNone(file) && named.has(file.file) ? [noAgent(file.file)] : [],
  )
  return report([...registry.diagnostics, ...silent], registry, { json }, host)
}

function placeOf(path: string): AgentPlace {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  return {
    path,
    // Whoever names a path means it, wherever it leads; what it holds may not lead out of it.
    within: [realFolder(path)],
    origin: { source: 'projectSettings', baseDir: isFolder ? path : dirname(path) },
    isExpected: true,
  }
}

const isSilentlyNone = (file: AgentFile): file is Extract<AgentFile, { kind: 'not-an-agent' }> =>
  file.kind === 'not-an-agent' && file.diagnostics.length === 0

/** Beside agents such a file is no mistake; named, it is. */
function noAgent(file: string): FileDiagnostic {
  const message =
    'There is no frontmatter, so the file describes no agent. Begin it with a line ---, keys such as name and description, and another line ---.'
  return { severity: 'error', code: 'not-an-agent', message, file, line: 1, column: 1 }
}

function report(
  diagnostics: readonly FileDiagnostic[],
  { allAgents, failedFiles }: AgentRegistry,
  { json }: Format,
  host: Host,
): number {
  const colours = coloursFor(host.stdout, host.env)
  for (const { file, line = 1, column = 1, severity, code, message } of diagnostics.toSorted(byPlace)) {
    if (json) {
      host.stdout.write(`${toJson({ file, line, column, severity, code, message })}\n`)
      continue
    }
    const colour = severity === 'error' ? colours.red : colours.yellow
    const place = `${oneLine(shownPath(file, host.cwd))}:${line}:${column}`
    host.stdout.write(`${place}: ${colour(severity)}: ${oneLine(message)} ${colours.dim(`[${code}]`)}\n`)
  }
  const agents = allAgents.filter(({ definition }) => definition.source !== 'built-in').length
  const facts = [
    counted(agents, 'agent'),
    ...(failedFiles.length > 0 ? [`${failedFiles.length} failed`] : []),
    countsOf(diagnostics) ?? 'nothing to say',
  ]
  host.stderr.write(`troupe: ${facts.join(', ')}\n`)
  return diagnostics.some(({ severity }) => severity === 'error') ? EXIT.failure : EXIT.success
}

function byPlace(left: FileDiagnostic, right: FileDiagnostic): number {
  if (left.file !== right.file) return left.file < right.file ? -1 : 1
  return (left.line ?? 1) - (right.line ?? 1) || (left.column ?? 1) - (right.column ?? 1)
}
