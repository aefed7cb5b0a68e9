/** The keys of agent files: the fields they mean, and the spellings in use. */

/** What a file can say about an agent. `kind` tells how its text is read where YAML does not help. */
export const FIELD_KINDS = {
  name: 'word',
  /** `prose`: ` #`, colons and line breaks are text. */
  description: 'prose',
  tools: 'list',
  disallowedTools: 'list',
  model: 'word',
  effort: 'word',
  permissionMode: 'word',
  isolation: 'word',
  background: 'word',
  forksParentContext: 'word',
  requiredMcpServers: 'list',
  /** `nested`: lines below it are its own, whatever they begin with. */
  mcpServers: 'nested',
  skills: 'list',
  hooks: 'nested',
  memory: 'word',
  maxTurns: 'word',
  tokens: 'word',
  initialPrompt: 'prose',
  omitClaudeMd: 'word',
  appendSystemPrompt: 'word',
  criticalSystemReminder: 'prose',
  color: 'word',
  outputSchema: 'nested',
} as const satisfies Record<string, 'word' | 'prose' | 'list' | 'nested'>

/** A field of an agent file. */
export type FieldName = keyof typeof FIELD_KINDS

/** The fields, by the names they have in files. */
export const FIELD_NAMES: readonly FieldName[] = Object.keys(FIELD_KINDS).filter(isFieldName)

/** Fields that take something away from an agent: to misread them would widen it. */
export const RESTRICTING_FIELDS: readonly FieldName[] = ['tools', 'disallowedTools', 'permissionMode']

/** The field that a key means, in whatever case and with whatever between its words. */
export function fieldOfKey(key: string): FieldName | undefined {
  return isFieldName(key) ? key : BY_SPELLING.get(folded(key))
}

/**
 * Does a line that begins so begin a field, for certain enough that it is not prose? Field names begin with a small
 * letter, sentences do not; a field that restricts counts however it is written.
 */
export function isFieldKey(key: string): boolean {
  const field = fieldOfKey(key)
  return field !== undefined && (RESTRICTING_FIELDS.includes(field) || /^[a-z]/.test(key))
}

/** Words without regard to case, dashes, underscores and blanks. */
export function folded(text: string): string {
  return text.toLowerCase().replace(/[-_ ]/g, '')
}

function isFieldName(key: string): key is FieldName {
  return Object.hasOwn(FIELD_KINDS, key)
}

const BY_SPELLING = new Map<string, FieldName>([
  ...FIELD_NAMES.map((name) => [folded(name), name] as const),
  // Other words for them, in definitions made by programs, in commands and skills.
  ['agenttype', 'name'],
  ['whentouse', 'description'],
  ['allowedtools', 'tools'],
  ['colour', 'color'],
])
