/**
 * All definitions of a moment: which of them count, and why the others do not.
 *
 * R1. For each name one definition is active. It is the first by source (policy, flag, local, project, user, plugin,
 *     built-in), then by nearness of the project folder, then by path.
 * R2. The others are kept, marked with the one that won, and named in a diagnostic together with it.
 * R3. The answer does not depend on the order in which files were found.
 */
import type { AgentDefinition, DefinitionSource } from '../agent-definition.ts'
import type { AgentFile, AgentRegistry, FileDiagnostic, FoundAgent } from './agent-file.ts'
import { createFileNotes, quoted } from './file-notes.ts'
import { applyTrust, type DefinitionTrust } from './trust.ts'

/** Strongest first, with the words for messages. */
const PRECEDENCE: Readonly<Record<DefinitionSource, readonly [rank: number, words: string]>> = {
  policySettings: [0, 'policy'],
  flagSettings: [1, 'flag'],
  localSettings: [2, 'local'],
  projectSettings: [3, 'project'],
  userSettings: [4, 'user'],
  plugin: [5, 'plugin'],
  'built-in': [6, 'built-in'],
}

/**
 * Sorts out what was found. Never throws.
 *
 * @param found files in any order; those that are no agents count for nothing
 * @param builtIn what the host has; the first of a name counts
 * @public
 */
export function createAgentRegistry(
  found: readonly AgentFile[],
  builtIn: readonly AgentDefinition[],
  trust: DefinitionTrust = {},
): AgentRegistry {
  const files = found.toSorted((left, right) => compareTexts(pathOf(left), pathOf(right)))
  const definitions = files.flatMap((file) => (file.kind === 'agent' ? [file.definition] : []))
  const trusted = [...definitions, ...builtIn].map((definition) => applyTrust(definition, trust))
  const byName = new Map<string, AgentDefinition[]>()
  for (const definition of trusted.map((each) => each.definition).toSorted(compareStrength)) {
    const { agentType } = definition
    const others = byName.get(agentType)
    if (others === undefined) byName.set(agentType, [definition])
    else others.push(definition)
  }
  const names = [...byName.keys()].toSorted(compareTexts)
  const activeAgents: AgentDefinition[] = []
  const allAgents: FoundAgent[] = []
  const shadowed: FileDiagnostic[] = []
  for (const name of names) {
    const [winner, ...losers] = byName.get(name) ?? []
    if (winner === undefined) continue
    activeAgents.push(winner)
    allAgents.push({ definition: winner, shadowedBy: undefined })
    for (const loser of losers) {
      allAgents.push({ definition: loser, shadowedBy: winner })
      shadowed.push(...shadowing(loser, winner))
    }
  }
  return {
    activeAgents,
    allAgents,
    failedFiles: files.flatMap((file) =>
      file.kind === 'failed' ? [{ file: file.file, reason: reasonOf(file.diagnostics) }] : [],
    ),
    diagnostics: [
      ...files.flatMap(({ diagnostics }) => diagnostics),
      ...trusted.flatMap(({ definition, losses }) => distrust(definition, losses)),
      ...shadowed,
    ],
  }
}

function pathOf(file: AgentFile): string {
  return file.kind === 'agent' ? (file.definition.filename ?? '') : file.file
}

/** By code units: the same on every machine and in every language. */
function compareTexts(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}

function compareStrength(left: AgentDefinition, right: AgentDefinition): number {
  const bySource = PRECEDENCE[left.source][0] - PRECEDENCE[right.source][0]
  if (bySource !== 0) return bySource
  const [leftPath, rightPath] = [left.filename ?? '', right.filename ?? '']
  const byFolder = compareNearness(projectOf(leftPath), projectOf(rightPath))
  return byFolder !== 0 ? byFolder : compareTexts(leftPath, rightPath)
}

/** Of a folder and one within it the inner is nearer to the work. The deeper comes first; those alike are equal. */
function compareNearness(left: string, right: string): number {
  if (left === right) return 0
  return right.length - left.length || compareTexts(left, right)
}

/** The folder that a file speaks for: what holds its `.claude`. */
function projectOf(path: string): string {
  const posix = path.replaceAll('\\', '/')
  const end = posix.lastIndexOf('/.claude/agents/')
  return end === -1 ? '' : posix.slice(0, end + 1)
}

function reasonOf(diagnostics: readonly FileDiagnostic[]): string {
  const errors = diagnostics.filter(({ severity }) => severity === 'error').map(({ message }) => message)
  return errors.join(' ')
}

function describe({ source, filename }: AgentDefinition): string {
  const [, words] = PRECEDENCE[source]
  return filename === undefined ? words : `${words}, ${filename}`
}

function shadowing(loser: AgentDefinition, winner: AgentDefinition): readonly FileDiagnostic[] {
  const file = loser.filename ?? winner.filename
  // Among built-in definitions the host has decided.
  if (file === undefined) return []
  const notes = createFileNotes(file)
  const why =
    loser.source !== winner.source
      ? `${PRECEDENCE[winner.source][1]} goes before ${PRECEDENCE[loser.source][1]}`
      : projectOf(loser.filename ?? '') !== projectOf(winner.filename ?? '')
        ? 'that folder is nearer'
        : 'that comes first by path'
  const message = `The agent ${quoted(loser.agentType)} (${describe(loser)}) is not used, as there is another of this name (${describe(winner)}): ${why}. Rename one of them if both are wanted.`
  notes.warn('agent-shadowed', message)
  return notes.diagnostics
}

function distrust(definition: AgentDefinition, losses: readonly string[]): readonly FileDiagnostic[] {
  if (losses.length === 0) return []
  const notes = createFileNotes(definition.filename ?? PRECEDENCE[definition.source][1])
  const message = `The agent ${quoted(definition.agentType)} runs, but ${losses.join(', and ')}: strictPluginOnlyCustomization reserves that for plugins and policy.`
  notes.warn('field-untrusted', message)
  return notes.diagnostics
}
