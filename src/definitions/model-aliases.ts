/** The short names of models, and what they mean. */

/** Ids of models by their short names. A host replaces entries through the engine's `modelAliases`. */
export const MODEL_ALIASES: Readonly<Record<string, string>> = {
  sonnet: 'claude-sonnet-5-5',
  opus: 'claude-opus-5-5',
  haiku: 'claude-haiku-5-5',
}

/**
 * The id that `name` means: surrounding blanks are trimmed, an alias (in any case) is looked up in `aliases`,
 * anything else passes as it is. The word `inherit` means nothing here; whoever resolves a definition handles it.
 */
export function resolveModelId(
  name: string,
  aliases: Readonly<Record<string, string>> = MODEL_ALIASES,
): string {
  const trimmed = name.trim()
  const alias = trimmed.toLowerCase()
  return (Object.hasOwn(aliases, alias) ? aliases[alias] : undefined) ?? trimmed
}
