/** From the text of a `SKILL.md` to a skill. Generous: what can be read is used, and what cannot is told. */
import type { ContextDiagnostic, ContextDiagnosticCode } from './context-diagnostic.ts'
import type { Skill, SkillOrigin } from './skill.ts'
import { readSkillFrontmatter, SKILL_KEYS, type SkillFrontmatter } from './skill-frontmatter.ts'
import { normaliseText, onOneLine, startOfText } from './text.ts'

/** What a skill file comes to. Without a skill there is an error among the diagnostics. */
export interface SkillReading {
  readonly skill: Skill | undefined
  readonly diagnostics: readonly ContextDiagnostic[]
}

/** Characters of an agent skill's name: letters and digits, with dots, dashes, underscores and blanks between. */
const NAME = /^[\p{L}\p{N}_](?:[\p{L}\p{N}._ -]{0,62}[\p{L}\p{N}_])?$/u

const MAX_DESCRIPTION_BYTES = 4096

/** Keys that are for people or for other programs: not honouring them changes nothing that an agent does. */
const INFORMATION = new Set([
  ...['argument-hint', 'author', 'category', 'compatibility', 'homepage', 'keywords', 'license', 'metadata'],
  ...['tags', 'title', 'version'],
])

/** Reads a skill file. Never throws, whatever the text is; the same text gives the same answer. */
export function parseSkill(fileText: string, origin: SkillOrigin): SkillReading {
  const diagnostics: ContextDiagnostic[] = []
  const file = origin.path
  const tell = (code: ContextDiagnosticCode, message: string, line?: number): void => {
    diagnostics.push({ severity: 'warning', code, message, file, ...(line !== undefined && { line }) })
  }
  const front = readSkillFrontmatter(normaliseText(fileText))
  const fields: ReadonlyMap<string, unknown> = front.kind === 'none' ? new Map() : front.fields
  if (front.kind === 'repaired') tellRepair(front, tell)

  const name = nameOf(fields.get('name'), origin, tell)
  if (name === undefined) {
    const message = `The skill in the folder ${onOneLine(origin.folderName)} is not loaded: neither "name" nor the folder's name can be used as a name. Use letters, digits, dots, dashes and underscores, at most 64.`
    diagnostics.push({ severity: 'error', code: 'skill-name-unusable', message, file })
    return { skill: undefined, diagnostics }
  }
  const described = textOf(fields.get('description'))
  const description = described ?? firstSentence(front.body) ?? name
  if (described === undefined) {
    tell(
      'skill-description-missing',
      `The skill ${name} has no "description"; "${onOneLine(startOfText(description, 80))}" is used. Say in a line what it is for and when to use it.`,
    )
  }
  const allowedTools = front.kind === 'repaired' ? undefined : toolsOf(fields.get('allowed-tools'), tell)
  const model = textOf(fields.get('model'))
  const ignored = [...fields.keys()].filter((key) => !isKnown(key) && !INFORMATION.has(key))
  if (ignored.length > 0 && front.kind === 'yaml') {
    tell('skill-keys-ignored', `Nothing is done with ${ignored.map(onOneLine).sort().join(', ')}.`)
  }
  return {
    skill: {
      name: origin.plugin === undefined ? name : `${origin.plugin}:${name}`,
      description: startOfText(description, MAX_DESCRIPTION_BYTES),
      body: front.body.trim(),
      baseDir: origin.baseDir,
      filename: file,
      source: origin.source,
      ...(origin.plugin !== undefined && { plugin: origin.plugin }),
      ...(allowedTools !== undefined && { allowedTools }),
      disableModelInvocation: isDisabled(fields.get('disable-model-invocation'), tell),
      ...(model !== undefined && { model }),
    },
    diagnostics,
  }
}

type Tell = (code: ContextDiagnosticCode, message: string, line?: number) => void

function tellRepair(front: Extract<SkillFrontmatter, { kind: 'repaired' }>, tell: Tell): void {
  const lost = front.fields.has('allowed-tools') ? ' "allowed-tools" is left out, to be safe.' : ''
  tell(
    'skill-repaired',
    `The frontmatter is no YAML (${onOneLine(front.reason)}); its known keys were read line by line.${lost} Put values with colons or other signs into quotes.`,
    front.line,
  )
}

function nameOf(value: unknown, origin: SkillOrigin, tell: Tell): string | undefined {
  const given = textOf(value)
  // With a colon a project's skill could pass for a plugin's.
  if (given !== undefined && NAME.test(given)) return given
  if (!NAME.test(origin.folderName)) return undefined
  if (value !== undefined && value !== null) {
    tell(
      'skill-name-unusable',
      `"name" cannot be used; the skill is called ${origin.folderName} after its folder. Use letters, digits, dots, dashes and underscores, at most 64.`,
    )
  }
  return origin.folderName
}

function toolsOf(value: unknown, tell: Tell): readonly string[] | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string') return splitTools(value)
  if (Array.isArray(value) && value.every((entry) => typeof entry === 'string'))
    return value.flatMap(splitTools)
  tell(
    'skill-field-unreadable',
    '"allowed-tools" is left out: write a list of names, or one line with commas.',
  )
  return undefined
}

/** At commas and blanks outside of brackets: `Read, Bash(git log:*)`. */
function splitTools(text: string): readonly string[] {
  const entries: string[] = []
  let entry = ''
  let depth = 0
  for (const character of text) {
    if (depth === 0 && /[\s,]/.test(character)) {
      entries.push(entry)
      entry = ''
      continue
    }
    if (character === '(') depth += 1
    else if (character === ')') depth = Math.max(0, depth - 1)
    entry += character
  }
  return [...entries, entry].filter((each) => each !== '')
}

/** Closed to models whenever the key says something that is not plainly «no». */
function isDisabled(value: unknown, tell: Tell): boolean {
  if (value === undefined || value === null) return false
  const word = textOf(value)?.toLowerCase()
  if (word === 'false' || word === 'no') return false
  if (word !== 'true' && word !== 'yes') {
    tell(
      'skill-field-unreadable',
      '"disable-model-invocation" is neither true nor false; models cannot call the skill.',
    )
  }
  return true
}

/** A value as a text with something in it. */
function textOf(value: unknown): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return undefined
  const text = String(value).trim()
  return text === '' ? undefined : text
}

/** The first line of the body that is no heading, short enough for a list. */
function firstSentence(body: string): string | undefined {
  const line = body.split('\n').find((each) => /^[^#\s<`|>-]/.test(each))
  return line === undefined ? undefined : startOfText(onOneLine(line), 250)
}

const isKnown = (key: string): boolean => SKILL_KEYS.some((known) => known === key)
