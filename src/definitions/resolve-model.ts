/** The model of a child. */

/** A model id with the rule that decided it. */
export interface ResolvedModel {
  readonly value: string
  readonly rule: string
}

/** Where a model's name can come from, strongest first. Blank is as good as absent. */
export interface ModelChoices {
  /** What the host pins for the child's permission mode. */
  readonly pin?: string | undefined
  /** The `model` argument of the call. */
  readonly argument?: string | undefined
  /** What the definition says. */
  readonly definition?: string | undefined
  /** The id that the parent runs on. */
  readonly parent?: string | undefined
  readonly default: string
}

/** The first choice that is made; `inherit` in any of them means the parent's. Names go through `resolveModelId`. */
export function resolveModel(choices: ModelChoices, resolveModelId: (name: string) => string): ResolvedModel {
  const parent = blankless(choices.parent)
  for (const rule of ['pin', 'argument', 'definition'] as const) {
    const name = blankless(choices[rule])
    if (name === undefined) continue
    if (name.toLowerCase() !== 'inherit') return { value: resolveModelId(name), rule: `${rule} ${name}` }
    if (parent !== undefined) return { value: resolveModelId(parent), rule: `parent: ${rule} says inherit` }
    break
  }
  if (parent !== undefined) return { value: resolveModelId(parent), rule: 'parent' }
  return { value: resolveModelId(choices.default), rule: 'default' }
}

function blankless(name: string | undefined): string | undefined {
  const trimmed = name?.trim()
  return trimmed === '' ? undefined : trimmed
}
