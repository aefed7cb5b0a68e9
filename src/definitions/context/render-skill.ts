/** Skills as text for models: one that is loaded, and the list of those that can be. */
import { envelope, inert } from './envelope.ts'
import type { Skill } from './skill.ts'
import { byCodeUnits, byteLength, cutText, onOneLine, printable, startOfText } from './text.ts'

/** Bytes of a loaded skill's text, below what the engine keeps of a tool result. */
export const MAX_SKILL_TEXT_BYTES = 48_000

const PLACE = '$ARGUMENTS'
const MAX_LISTING_BYTES = 16 * 1024
const MAX_ENTRY_BYTES = 400

/**
 * A skill as a message or tool result: where its files are, then its instructions. Each `$ARGUMENTS` in them becomes
 * `args`, which is not looked through again; without such a place the arguments stand at the end.
 */
export function renderSkill(skill: Skill, args?: string): string {
  const given = args?.trim() ?? ''
  const hasPlace = skill.body.includes(PLACE)
  const body = filled(skill.body, given)
  const text = [
    `Base directory of this skill: ${printable(skill.baseDir)}`,
    ...(body === '' ? [] : [body]),
    ...(given === '' || hasPlace ? [] : [`Arguments: ${given}`]),
  ].join('\n\n')
  // First made inert, then cut: a tag could come together only where body and arguments meet, never by cutting.
  const marker = `[Cut here: the skill is longer. All of it is in ${printable(skill.filename)}; read the rest there when you need it.]`
  return envelope('loaded-skill', cutText(inert(text), MAX_SKILL_TEXT_BYTES, marker), {
    attributes: { name: skill.name },
    isRaw: true,
  })
}

/** The skills that models may call, one a line, sorted by name; empty when there are none. Deterministic and bounded. */
export function skillListing(skills: readonly Skill[]): string {
  const offered = skills
    .filter((skill) => !skill.disableModelInvocation)
    .toSorted((left, right) => byCodeUnits(left.name, right.name))
  if (offered.length === 0) return ''
  const lines = ['Skills available for the Skill tool:']
  let room = MAX_LISTING_BYTES
  for (const [index, skill] of offered.entries()) {
    const line = entry(skill)
    room -= byteLength(line) + 1
    if (room < 0) {
      lines.push(`- … and ${offered.length - index} more, which can be called by name`)
      break
    }
    lines.push(line)
  }
  return lines.join('\n')
}

/** The body with `args` in each place for them. Ends early where all that follows is cut anyway. */
function filled(body: string, args: string): string {
  const [start = '', ...parts] = body.split(PLACE)
  let text = start
  for (const part of parts) {
    if (text.length > MAX_SKILL_TEXT_BYTES) break
    text += args + part
  }
  return text
}

function entry({ name, description }: Skill): string {
  const line = inert(`- ${onOneLine(name)}: ${onOneLine(description)}`)
  return byteLength(line) <= MAX_ENTRY_BYTES ? line : `${startOfText(line, MAX_ENTRY_BYTES - 3).trimEnd()}…`
}
