/** The order of permission modes, from narrow to wide. */
import type { Diagnostic } from '../diagnostic.ts'
import type { PermissionMode } from '../permission-mode.ts'

/** `bubble` decides as `default` does; where its prompts are shown is another matter. */
const WIDTH: Readonly<Record<PermissionMode, number>> = {
  plan: 0,
  dontAsk: 1,
  default: 2,
  bubble: 2,
  acceptEdits: 3,
  auto: 4,
  bypassPermissions: 5,
}

/** Modes that the person chose for a whole tree: a child's definition neither weakens nor widens them. */
const MODES_THAT_HOLD: readonly PermissionMode[] = ['bypassPermissions', 'acceptEdits', 'auto']

/** Is `left` strictly narrower than `right`? A strict partial order; `default` and `bubble` are not comparable. */
export function isNarrower(left: PermissionMode, right: PermissionMode): boolean {
  return WIDTH[left] < WIDTH[right]
}

/** A mode with the rule that decided it. */
export interface ResolvedMode {
  readonly value: PermissionMode
  readonly rule: string
}

/** The mode of a child, from its parent's mode at the moment of the spawn and its definition's own. */
export function resolveChildMode(
  parentMode: PermissionMode,
  definition: { readonly agentType: string; readonly permissionMode?: PermissionMode },
): ResolvedMode {
  const own = definition.permissionMode
  if (own === undefined || own === parentMode) return { value: parentMode, rule: 'parent' }
  if (MODES_THAT_HOLD.includes(parentMode))
    return { value: parentMode, rule: `parent: ${parentMode} holds for the whole tree` }
  if (isNarrower(parentMode, own))
    return {
      value: parentMode,
      rule: `parent: the definition of ${definition.agentType} asks for ${own}, which is wider`,
    }
  return { value: own, rule: `definition ${definition.agentType}` }
}

/** What a mode cannot do yet, to be said once where it is chosen. Undefined for modes that do all they promise. */
export function modeDiagnostic(mode: PermissionMode): Diagnostic | undefined {
  if (mode === 'bubble')
    return {
      severity: 'warning',
      code: 'mode-not-complete',
      message:
        'Permission mode "bubble" cannot show prompts at a parent yet: it decides as "default", so calls that need approval are asked about or refused.',
    }
  return undefined
}
