/** The deliberate faults, at least one for each law. A check that finds nothing when its fault is in is no check. */

import { APPLY_BEFORE_APPEND } from './apply-before-append.ts'
import { DIRECT_RESULT } from './direct-result.ts'
import { DISCONNECTED_LOCK } from './disconnected-lock.ts'
import { END_BEFORE_REST } from './end-before-rest.ts'
import { EVERY_TOOL } from './every-tool.ts'
import type { Fault } from './fault.ts'
import { FORGED_ORIGIN } from './forged-origin.ts'
import { FORGOTTEN_NOTICE } from './forgotten-notice.ts'
import { FORGOTTEN_START } from './forgotten-start.ts'
import { HALF_CONVERSATION } from './half-conversation.ts'
import { LOST_END } from './lost-end.ts'
import { LOST_SYNC } from './lost-sync.ts'
import { SECOND_END } from './second-end.ts'
import { SURVIVORS_STAY } from './survivors-stay.ts'
import { SWALLOWED_LATE } from './swallowed-late.ts'
import { UNLIMITED_TURNS } from './unlimited-turns.ts'

export const FAULTS: readonly Fault[] = [
  LOST_END,
  APPLY_BEFORE_APPEND,
  LOST_SYNC,
  DIRECT_RESULT,
  FORGOTTEN_START,
  SECOND_END,
  HALF_CONVERSATION,
  EVERY_TOOL,
  FORGOTTEN_NOTICE,
  UNLIMITED_TURNS,
  END_BEFORE_REST,
  SURVIVORS_STAY,
  DISCONNECTED_LOCK,
  SWALLOWED_LATE,
  FORGED_ORIGIN,
]
