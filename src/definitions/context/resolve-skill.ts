/** Which skill a name means. */
import { didYouMean } from '../closest-name.ts'
import type { Skill } from './skill.ts'
import { byCodeUnits, onOneLine, startOfText } from './text.ts'

/** What came of looking for a skill. */
export type SkillResolution =
  | { readonly kind: 'found'; readonly skill: Skill; readonly by: 'exact' | 'plugin' | 'suffix' }
  /** Messages name the choices and say what to do. */
  | { readonly kind: 'ambiguous'; readonly message: string; readonly candidates: readonly string[] }
  | { readonly kind: 'missing'; readonly message: string }

/**
 * Looks for a skill: by its full name, then as one of `plugin` (that of the definition that names it), then as any
 * plugin's, by what follows the colon. A leading `/` does not count.
 */
export function resolveSkill(name: string, skills: readonly Skill[], plugin?: string): SkillResolution {
  const wanted = name.trim().replace(/^\//, '')
  const named = (full: string): Skill | undefined => skills.find((skill) => skill.name === full)
  const exact = named(wanted)
  if (exact !== undefined) return { kind: 'found', skill: exact, by: 'exact' }
  const own = plugin === undefined ? undefined : named(`${plugin}:${wanted}`)
  if (own !== undefined) return { kind: 'found', skill: own, by: 'plugin' }
  const [only, ...others] = wanted === '' ? [] : skills.filter((skill) => skill.name.endsWith(`:${wanted}`))
  if (only !== undefined && others.length === 0) return { kind: 'found', skill: only, by: 'suffix' }
  if (only !== undefined) {
    const candidates = [only, ...others].map((skill) => skill.name).sort(byCodeUnits)
    const message = `More than one skill is called ${shown(wanted)}: ${candidates.join(', ')}. Use the full name.`
    return { kind: 'ambiguous', message, candidates }
  }
  const names = skills.map((skill) => skill.name).sort(byCodeUnits)
  const there = names.length === 0 ? 'There are none.' : `There are: ${startOfText(names.join(', '), 2000)}.`
  return {
    kind: 'missing',
    message: `There is no skill ${shown(wanted)}.${didYouMean(wanted, names)} ${there}`,
  }
}

const shown = (name: string): string => (name === '' ? '""' : onOneLine(startOfText(name, 100)))
