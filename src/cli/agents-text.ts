/** Pieces that the commands about agents have in common: paths, sources, lists, tables. */
import { join } from 'node:path'
import type { AgentDefinition } from '../definitions/agent-definition.ts'
import type { FileDiagnostic } from '../definitions/files/agent-file.ts'
import { shownPath } from '../effects/tools/confinement.ts'
import { counted, displayWidth } from './format.ts'
import type { Host } from './host.ts'

/** Relative in the working directory, with `~` in the home folder, else as it is. Not yet fit for a terminal. */
export function shownFile(file: string, { cwd, userHome }: Pick<Host, 'cwd' | 'userHome'>): string {
  const shown = shownPath(file, cwd)
  return shown === file && file.startsWith(join(userHome, '/'))
    ? join('~', file.slice(userHome.length))
    : shown
}

const SOURCES: Readonly<Record<AgentDefinition['source'], string>> = {
  'built-in': 'built-in',
  plugin: 'plugin',
  userSettings: 'user',
  projectSettings: 'project',
  localSettings: 'local',
  flagSettings: 'flag',
  policySettings: 'policy',
}

/** In a word. */
export const sourceOf = ({ source }: Pick<AgentDefinition, 'source'>): string => SOURCES[source]

/** `all`, `none`, or the names. */
export function toolsInWords({ tools, disallowedTools = [] }: AgentDefinition): string {
  const without = disallowedTools.length === 0 ? '' : ` except ${disallowedTools.join(', ')}`
  if (tools === undefined || tools.includes('*')) return `all${without}`
  return tools.length === 0 ? 'none' : `${tools.join(', ')}${without}`
}

/** Rows as lines: every column as wide as its widest cell, two blanks apart; the last one is left as it is. */
export function table(rows: readonly (readonly string[])[]): readonly string[] {
  const columns = Math.max(0, ...rows.map((row) => row.length))
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => displayWidth(row[column] ?? ''))),
  )
  return rows.map((row) =>
    row
      .map((cell, column) =>
        column === columns - 1 ? cell : cell + ' '.repeat((widths[column] ?? 0) - displayWidth(cell)),
      )
      .join('  ')
      .trimEnd(),
  )
}

/** `2 errors, 1 warning`; undefined when there is neither. */
export function countsOf(diagnostics: readonly FileDiagnostic[]): string | undefined {
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length
  const warnings = diagnostics.length - errors
  const parts = [
    ...(errors > 0 ? [counted(errors, 'error')] : []),
    ...(warnings > 0 ? [counted(warnings, 'warning')] : []),
  ]
  return parts.length === 0 ? undefined : parts.join(', ')
}
