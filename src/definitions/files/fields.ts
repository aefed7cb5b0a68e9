/**
 * The table of fields: how the value of each becomes part of a definition.
 *
 * A value that cannot be read is left out with a warning, unless that would widen the agent: `tools` and
 * `disallowedTools` reject the file, `permissionMode` becomes the narrowest, `isolation` the one that there is.
 */
import * as z from 'zod'
import type { AgentDefinition, Effort } from '../agent-definition.ts'
import { didYouMean } from '../closest-name.ts'
import { MODEL_ALIASES } from '../model-aliases.ts'
import { PermissionMode } from '../permission-mode.ts'
import { usableName } from './agent-name.ts'
import { type FieldName, folded } from './field-names.ts'
import { type FileNotes, quoted } from './file-notes.ts'
import type { RawField } from './frontmatter.ts'
import { readMcpServers } from './mcp-field.ts'
import { placeOf } from './places.ts'
import { readHooks } from './read-hooks.ts'
import { readTools } from './tools-field.ts'

/** What reading a field depends on besides its value. */
export interface FieldContext {
  readonly notes: FileNotes
  /** Tools and short model names that the host adds to those known here. */
  readonly toolNames: readonly string[]
  readonly modelNames: readonly string[]
}

/** Reads one field. `rejected`: the file can give no agent, and the notes say why. */
export type ReadField = (raw: RawField, context: FieldContext) => Partial<AgentDefinition> | 'rejected'

const Prose = z
  .string()
  // What a terminal would take for orders. Tabs and line breaks are text.
  .transform((text) => text.replace(/[^\P{Cc}\n\t]/gu, '').trim())
  .pipe(z.string().min(1))
const Word = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .regex(/^\P{Cc}*$/u)
const Flag = z.union([z.boolean(), z.stringbool()])
const Count = z
  .union([
    z.number(),
    z
      .string()
      .regex(/^[\d_]{1,16}$/)
      .transform((digits) => Number(digits.replaceAll('_', ''))),
  ])
  .pipe(z.int().min(1))
/** A list, or names with commas or blanks between them. */
const Words = z
  .union([
    z.string().transform((text) => text.split(/[\s,]+/)),
    z.array(z.string().nullable()).transform((texts) => texts.filter((text) => text !== null)),
  ])
  .transform((words) => [...new Set(words.map((word) => word.trim()).filter((word) => word !== ''))])
const Text = z.string()
const Enumerated = z.string().trim().toLowerCase()
const Schema = z.union([
  z.string().transform((text, context): unknown => {
    try {
      return JSON.parse(text)
    } catch {
      context.addIssue('no JSON')
      return z.NEVER
    }
  }),
  z.unknown(),
])

/** Every field of an agent file. */
export const FIELDS: Readonly<Record<FieldName, ReadField>> = {
  name: (raw, { notes }) => {
    const text = Text.safeParse(raw.value)
    const name = text.success ? usableName(text.data, notes, placeOf(raw)) : undefined
    return name === undefined
      ? leftOut(raw, notes, 'a text of letters, digits and dashes')
      : { agentType: name }
  },
  description: simple('whenToUse', 'a text', Prose),
  tools: (raw, { notes, toolNames }) => {
    const tools = readTools(raw, 'tools', toolNames, notes)
    return tools === undefined ? 'rejected' : { tools }
  },
  disallowedTools: (raw, { notes, toolNames }) => {
    const disallowedTools = readTools(raw, 'disallowedTools', toolNames, notes)
    return disallowedTools === undefined ? 'rejected' : { disallowedTools }
  },
  model: readModel,
  effort: readEffort,
  permissionMode: readPermissionMode,
  isolation: readIsolation,
  background: simple('background', 'true or false', Flag),
  forksParentContext: simple(
    'forksParentContext',
    'true, false or "turn"',
    z.union([
      Enumerated.pipe(z.literal('turn')),
      Flag.transform((flag) => (flag ? (true as const) : undefined)),
    ]),
  ),
  requiredMcpServers: simple('requiredMcpServers', 'a list of names', Words),
  mcpServers: (raw, { notes }) => ({ mcpServers: readMcpServers(raw.value, notes, placeOf(raw)) }),
  skills: simple('skills', 'a list of names', Words),
  hooks: (raw, { notes }) => {
    const { hooks, problems } = readHooks(raw.value)
    for (const { code, message } of problems) notes.warn(code, message, placeOf(raw))
    return { hooks }
  },
  memory: simple(
    'memory',
    '"user", "project" or "local"',
    Enumerated.pipe(z.enum(['user', 'project', 'local'])),
  ),
  maxTurns: simple('maxTurns', 'a whole number from 1', Count),
  tokens: simple('tokens', 'a whole number from 1', Count),
  initialPrompt: simple('initialPrompt', 'a text', Prose),
  omitClaudeMd: simple('omitClaudeMd', 'true or false', Flag),
  appendSystemPrompt: simple('appendSystemPrompt', 'true or false', Flag),
  criticalSystemReminder: simple('criticalSystemReminder', 'a text', Prose),
  color: simple('color', 'the name of a colour', Word),
  outputSchema: simple(
    'outputSchema',
    'a JSON Schema: an object',
    Schema.pipe(z.record(z.string(), z.unknown())),
  ),
}

/** A field that is right or left out. */
function simple<Key extends keyof AgentDefinition>(
  key: Key,
  expected: string,
  schema: z.ZodType<AgentDefinition[Key] | undefined>,
): ReadField {
  return (raw, { notes }) => {
    const read = schema.safeParse(raw.value)
    if (!read.success) return leftOut(raw, notes, expected)
    // The computed key is what its type says; TypeScript widens it to any string.
    return read.data === undefined ? {} : ({ [key]: read.data } as Partial<AgentDefinition>)
  }
}

function leftOut(raw: RawField, notes: FileNotes, expected: string): Partial<AgentDefinition> {
  const message = `\`${raw.key}\` must be ${expected}, but is ${shown(raw.value)}; it was left out.`
  notes.warn('field-unreadable', message, placeOf(raw))
  return {}
}

/** A value for a message. */
function shown(value: unknown): string {
  if (typeof value === 'symbol') return 'something that cannot be read'
  return typeof value === 'string'
    ? quoted(value)
    : quoted(JSON.stringify(value) ?? String(value)).slice(1, -1)
}

/** An unknown model is kept: only its provider knows which ones there are. */
function readModel(raw: RawField, { notes, modelNames }: FieldContext): Partial<AgentDefinition> {
  const word = Word.safeParse(raw.value)
  if (!word.success) return leftOut(raw, notes, 'the name of a model')
  const model = word.data
  const names = ['inherit', ...Object.keys(MODEL_ALIASES), ...modelNames]
  // Ids have versions or paths in them; a bare word is a short name.
  const isKnown = /[\d/:.]/.test(model) || names.some((name) => name.toLowerCase() === model.toLowerCase())
  if (!isKnown) {
    const message = `The model ${quoted(model)} is not known; it is used as it is, and the provider may refuse it.${didYouMean(model, names)}`
    notes.warn('model-unknown', message, placeOf(raw))
  }
  return { model }
}

/** Levels that other programs have beyond ours. */
const EFFORT_BEYOND: Readonly<Record<string, Effort>> = {
  none: 'low',
  minimal: 'low',
  xhigh: 'high',
  max: 'high',
  maximum: 'high',
}

const EffortValue = z.union([Enumerated.pipe(z.enum(['low', 'medium', 'high'])), Count])

function readEffort(raw: RawField, { notes }: FieldContext): Partial<AgentDefinition> {
  const read = EffortValue.safeParse(raw.value)
  if (read.success) return { effort: read.data }
  const word = Enumerated.safeParse(raw.value)
  const nearest =
    word.success && Object.hasOwn(EFFORT_BEYOND, word.data) ? EFFORT_BEYOND[word.data] : undefined
  if (nearest === undefined) return leftOut(raw, notes, '"low", "medium", "high" or a number of tokens')
  const message = `\`effort\` is "low", "medium", "high" or a number of tokens; ${shown(raw.value)} was read as "${nearest}".`
  notes.warn('field-unreadable', message, placeOf(raw))
  return { effort: nearest }
}

function readPermissionMode(raw: RawField, { notes }: FieldContext): Partial<AgentDefinition> {
  const word = Text.safeParse(raw.value)
  const mode = PermissionMode.options.find(
    (option) => word.success && folded(option) === folded(word.data.trim()),
  )
  if (mode !== undefined) return { permissionMode: mode }
  const message = `\`permissionMode\` must be one of ${PermissionMode.options.join(', ')}, but is ${shown(raw.value)}; the narrowest, plan, is used, as any other could be more than was meant.`
  notes.warn('field-unreadable', message, placeOf(raw))
  return { permissionMode: 'plan' }
}

function readIsolation(raw: RawField, { notes }: FieldContext): Partial<AgentDefinition> {
  const word = Enumerated.safeParse(typeof raw.value === 'boolean' ? String(raw.value) : raw.value)
  if (word.success && word.data === 'worktree') return { isolation: 'worktree' }
  if (word.success && ['none', 'false', 'off', 'no'].includes(word.data)) return {}
  const message = `\`isolation\` can be "worktree" only, but is ${shown(raw.value)}; "worktree" is used, lest the agent works where it was not meant to.`
  notes.warn('field-unreadable', message, placeOf(raw))
  return { isolation: 'worktree' }
}
