/** From the keys of a file to the definition of an agent. */
import type { AgentDefinition } from '../agent-definition.ts'
import { didYouMean } from '../closest-name.ts'
import type { FileOrigin } from './agent-file.ts'
import { nameOfFile, usableName } from './agent-name.ts'
import { FIELD_NAMES, type FieldName, RESTRICTING_FIELDS } from './field-names.ts'
import { FIELDS, type FieldContext } from './fields.ts'
import { type FileNotes, type Place, quoted } from './file-notes.ts'
import type { RawField } from './frontmatter.ts'
import { placeOf } from './places.ts'

/** What a file says, before it is known what it means. */
export interface RawAgent {
  readonly mode: 'strict' | 'repaired'
  readonly fields: readonly RawField[]
  readonly prompt: string
  /** Where it begins. */
  readonly place: Place
}

/** A definition with the keys that found no place in it. */
export interface BuiltDefinition {
  readonly definition: AgentDefinition
  readonly unknownKeys: Readonly<Record<string, unknown>>
}

/** What a file that is not YAML loses: misread, these would run commands or widen the agent. */
const LOST_BY_REPAIR: readonly FieldName[] = ['hooks', 'mcpServers', 'permissionMode']

/** Makes the definition. Undefined: there is none, and the notes say why. */
export function buildDefinition(
  raw: RawAgent,
  origin: FileOrigin,
  context: FieldContext,
): BuiltDefinition | undefined {
  const { notes } = context
  const chosen = chooseFields(raw.fields, notes)
  if (chosen === undefined) return undefined
  const read: Partial<AgentDefinition> = {}
  let isRejected = false
  for (const field of chosen.values()) {
    const part = readField(field, raw.mode, context)
    if (part === 'rejected') isRejected = true
    else Object.assign(read, part)
  }
  const unknown = raw.fields.filter(({ field }) => field === undefined)
  for (const field of unknown) noteUnknown(field, notes)
  const { whenToUse } = read
  if (whenToUse === undefined) {
    const message =
      'There is no `description` that can be read, so no agent could be chosen by it. Add one that says when to use it.'
    notes.fail('description-missing', message, raw.place)
  }
  const agentType = read.agentType ?? nameFromFile(origin, raw.place, notes)
  if (isRejected || whenToUse === undefined || agentType === undefined) return undefined
  const { prompt } = raw
  if (prompt === '')
    notes.warn('prompt-missing', 'There is no prompt: the agent knows only what it is told to do.', raw.place)
  const { path, source, plugin, baseDir } = origin
  return {
    definition: {
      ...read,
      agentType: withPlugin(agentType, plugin),
      whenToUse,
      getSystemPrompt: () => prompt,
      source,
      ...(plugin !== undefined && { plugin }),
      ...(baseDir !== undefined && { baseDir }),
      filename: path,
    },
    unknownKeys: Object.fromEntries(unknown.map(({ key, value }) => [key, value])),
  }
}

/** One value for each field, in the order of the file: what is spelt as it should be, then what comes first. */
function chooseFields(
  fields: readonly RawField[],
  notes: FileNotes,
): ReadonlyMap<FieldName, RawField> | undefined {
  const all = new Map<FieldName, RawField[]>()
  for (const raw of fields) {
    if (raw.field === undefined) continue
    const others = all.get(raw.field)
    if (others === undefined) all.set(raw.field, [raw])
    else others.push(raw)
  }
  const chosen = new Map<FieldName, RawField>()
  let isAmbiguous = false
  for (const [field, candidates] of all) {
    const [first] = candidates
    const best = candidates.find(({ key }) => key === field) ?? first
    if (best === undefined) continue
    chosen.set(field, best)
    const others = candidates.filter((other) => other !== best)
    const rival = RESTRICTING_FIELDS.includes(field)
      ? others.find((other) => !isSameValue(other.value, best.value))
      : undefined
    if (rival !== undefined) {
      isAmbiguous = true
      const message = `\`${field}\` is there twice and says different things. Which of them limits the agent cannot be known: remove one.`
      notes.fail('field-repeated', message, placeOf(rival))
      continue
    }
    for (const other of others) {
      const message = `\`${other.key}\` is there again, and only ${where(best)} counts. Remove one of them.`
      notes.warn('field-repeated', message, placeOf(other))
    }
  }
  return isAmbiguous ? undefined : chosen
}

function readField(
  raw: RawField,
  mode: RawAgent['mode'],
  context: FieldContext,
): Partial<AgentDefinition> | 'rejected' {
  const { field, key, value, isAsText } = raw
  const { notes } = context
  if (field === undefined) return {}
  if (mode === 'repaired' && LOST_BY_REPAIR.includes(field)) {
    const message = `\`${field}\` is not in force: it is read only where all of the frontmatter is YAML.`
    notes.warn('field-lost', message, placeOf(raw))
    return {}
  }
  if (key !== field) notes.warn('key-spelling', `\`${key}\` is read as \`${field}\`.`, placeOf(raw))
  if (isAsText && mode === 'strict') {
    const message = `\`${key}\` was read as the text that is written; other programs take a part of it for a comment or a structure. Put it in quotes.`
    notes.warn('value-as-text', message, placeOf(raw))
  }
  // Nothing behind the colon says nothing, except in a list of tools.
  const isEmpty = value === null || value === ''
  if (isEmpty && field !== 'tools' && field !== 'disallowedTools') return {}
  return FIELDS[field](raw, context)
}

function noteUnknown(raw: RawField, notes: FileNotes): void {
  const message = `The key ${quoted(raw.key)} means nothing here.${didYouMean(raw.key, FIELD_NAMES)}`
  notes.warn('key-unknown', message, placeOf(raw))
}

function nameFromFile({ path }: FileOrigin, place: Place, notes: FileNotes): string | undefined {
  const name = usableName(nameOfFile(path), notes, place)
  if (name === undefined) {
    notes.fail(
      'name-unusable',
      'There is no `name`, and that of the file cannot be one. Add a `name`.',
      place,
    )
    return undefined
  }
  notes.warn(
    'name-missing',
    `There is no \`name\` that can be used; the agent is called ${quoted(name)}, as its file.`,
    place,
  )
  return name
}

/** Agents of plugins are told apart by the plugin's name. */
function withPlugin(name: string, plugin: string | undefined): string {
  return plugin === undefined || name.startsWith(`${plugin}:`) ? name : `${plugin}:${name}`
}

function where({ segment }: RawField): string {
  return segment === undefined ? 'the first' : `the one on line ${segment.line}`
}

function isSameValue(left: unknown, right: unknown): boolean {
  // Plain data, or a symbol for what cannot be read: that is the same as nothing.
  return (
    typeof left !== 'symbol' && typeof right !== 'symbol' && JSON.stringify(left) === JSON.stringify(right)
  )
}
