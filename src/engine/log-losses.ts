/** Lines that a log has lost, and whether somebody has agreed to go on without them. */
import type { LogItem } from '../journal/log-items.ts'
import { EngineError } from './errors.ts'
import type { LogDigest } from './log-digest.ts'

type Damage = Extract<LogItem, { kind: 'damage' }>

/** What was read of a log, as far as its losses go. */
interface ReadPart {
  readonly damage: readonly Damage[]
  readonly digest: Pick<LogDigest, 'acceptedDamage'>
}

/**
 * Damage that means a loss and that no earlier resume has accepted. What a torn write left behind is none. A position
 * that is there twice is one: two processes have written, and what one of them said does not count.
 */
export function newLosses({ damage, digest }: ReadPart): readonly Damage[] {
  const accepted = new Set(digest.acceptedDamage.map(spanOf))
  return damage.filter(
    (item) => (item.missing > 0 || item.reason === 'repeat') && !accepted.has(spanOf(item)),
  )
}

const spanOf = ({ from, to }: { readonly from: number; readonly to: number }): string => `${from}–${to}`

/** Throws an `EngineError` that names the place of the first new loss. */
export function refuseLosses(path: string, read: ReadPart): void {
  const losses = newLosses(read)
  const first = losses[0]
  if (first === undefined) return
  throw new EngineError(
    'damaged-log',
    `${path} is damaged at bytes ${spanOf(first)} (${first.reason}: ${first.detail})` +
      `${losses.length > 1 ? ` and in ${losses.length - 1} more places` : ''}. ` +
      'What can be read is still there; to go on without the rest, resume with --accept-damage.',
  )
}
