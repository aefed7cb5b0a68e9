/** The deliberate faults, at least one for each law. A check that finds nothing when its fault is in is no check. */

import { ALTERED_WORDS } from './altered-words.ts'
import { APPLY_BEFORE_APPEND } from './apply-before-append.ts'
import { BLIND_DECISION } from './blind-decision.ts'
import { COUNTED_ANEW } from './counted-anew.ts'
import { CROSSED_QUESTIONS } from './crossed-questions.ts'
import { DIRECT_RESULT } from './direct-result.ts'
import { DISCONNECTED_LOCK } from './disconnected-lock.ts'
import { END_BEFORE_REST } from './end-before-rest.ts'
import { EVERY_TOOL } from './every-tool.ts'
import type { Fault } from './fault.ts'
import { FORGED_ORIGIN } from './forged-origin.ts'
import { FORGED_SENDER } from './forged-sender.ts'
import { FORGOTTEN_BASE } from './forgotten-base.ts'
import { FORGOTTEN_NOTICE } from './forgotten-notice.ts'
import { FORGOTTEN_REMOVAL } from './forgotten-removal.ts'
import { FORGOTTEN_START } from './forgotten-start.ts'
import { HALF_CONVERSATION } from './half-conversation.ts'
import { LONGER_BEGINNING } from './longer-beginning.ts'
import { LOST_BEGINNING } from './lost-beginning.ts'
import { LOST_END } from './lost-end.ts'
import { LOST_SYNC } from './lost-sync.ts'
import { LOST_TAIL } from './lost-tail.ts'
import { MOVED_AND_ENDED } from './moved-and-ended.ts'
import { OUTLIVING_COMMAND } from './outliving-command.ts'
import { SECOND_END } from './second-end.ts'
import { SECOND_SUMMARY } from './second-summary.ts'
import { SHARED_NAME } from './shared-name.ts'
import { SHORTER_BEGINNING } from './shorter-beginning.ts'
import { SILENT_DAMAGE } from './silent-damage.ts'
import { STALE_SNAPSHOT } from './stale-snapshot.ts'
import { SURVIVORS_STAY } from './survivors-stay.ts'
import { SWALLOWED_LATE } from './swallowed-late.ts'
import { TORN_APPROVAL } from './torn-approval.ts'
import { UNCLAIMED_END } from './unclaimed-end.ts'
import { UNHEARD_AGREEMENT } from './unheard-agreement.ts'
import { UNLIMITED_TURNS } from './unlimited-turns.ts'
import { UNRECORDED_DAMAGE } from './unrecorded-damage.ts'
import { UNREVIEWED_END } from './unreviewed-end.ts'
import { UNTOLD_MOVE } from './untold-move.ts'
import { WIDENED_APPROVAL } from './widened-approval.ts'
import { WRITTEN_BASE } from './written-base.ts'

export const FAULTS: readonly Fault[] = [
  LOST_END,
  APPLY_BEFORE_APPEND,
  LOST_SYNC,
  DIRECT_RESULT,
  STALE_SNAPSHOT,
  FORGOTTEN_START,
  MOVED_AND_ENDED,
  SECOND_END,
  UNHEARD_AGREEMENT,
  COUNTED_ANEW,
  HALF_CONVERSATION,
  LOST_BEGINNING,
  FORGOTTEN_BASE,
  LOST_TAIL,
  SECOND_SUMMARY,
  LONGER_BEGINNING,
  SHORTER_BEGINNING,
  EVERY_TOOL,
  WIDENED_APPROVAL,
  TORN_APPROVAL,
  FORGOTTEN_NOTICE,
  UNREVIEWED_END,
  SHARED_NAME,
  FORGED_SENDER,
  ALTERED_WORDS,
  CROSSED_QUESTIONS,
  UNCLAIMED_END,
  UNTOLD_MOVE,
  UNLIMITED_TURNS,
  END_BEFORE_REST,
  SURVIVORS_STAY,
  OUTLIVING_COMMAND,
  BLIND_DECISION,
  FORGOTTEN_REMOVAL,
  DISCONNECTED_LOCK,
  WRITTEN_BASE,
  SWALLOWED_LATE,
  SILENT_DAMAGE,
  UNRECORDED_DAMAGE,
  FORGED_ORIGIN,
]
