/** A plan as logs have it: what is ordinary is left out, as it stands in two logs for every child. */
import type { SpawnPlan as RoutedPlan } from '../definitions/spawn-situation.ts'
import type { SpawnPlan } from '../machines/agent/events.ts'
import type { BlobHash } from '../machines/ids.ts'

/** What a routed plan leaves in a log. Absent there: no isolation, in the foreground, without thinking. */
export function loggedPlan(
  { isolation, background, thinking, awaitMcp: _, cwdRule, ...plan }: RoutedPlan,
  definition: BlobHash | undefined,
): SpawnPlan {
  return {
    ...plan,
    ...(isolation.value !== 'none' && { isolation }),
    ...(background.value && { background }),
    ...(thinking.value !== 'off' && { thinking }),
    ...(plan.cwd !== undefined && cwdRule !== undefined && { cwdRule }),
    ...(definition !== undefined && { definition }),
  }
}
