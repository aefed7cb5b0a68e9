/** The laws that every simulated session is held to. */
import { BOUNDED } from './bounded.ts'
import { COMPACTION } from './compaction.ts'
import { ENDS_ARE_FINAL } from './ends-are-final.ts'
import { FORKS } from './forks.ts'
import { HOOKS } from './hooks.ts'
import type { Law } from './law.ts'
import { LOG_FIRST } from './log-first.ts'
import { MESSAGES } from './messages.ts'
import { MOVES } from './moves.ts'
import { ONE_HOLDER } from './names.ts'
import { NEVER_WIDER } from './never-wider.ts'
import { NOTHING_DROPPED } from './nothing-dropped.ts'
import { NOTHING_LEFT_BEHIND } from './nothing-left-behind.ts'
import { ONCE } from './once.ts'
import { ONE_WRITER } from './one-writer.ts'
import { PLANS } from './plans.ts'
import { PROGRESS } from './progress.ts'
import { PROVENANCE } from './provenance.ts'
import { RECEIPTS } from './receipts.ts'
import { REPLAY_IS_PURE } from './replay-is-pure.ts'
import { REQUESTS } from './requests.ts'
import { TASKS } from './tasks.ts'
import { TOLD_ONCE } from './told-once.ts'
import { VALID_CONVERSATION } from './valid-conversation.ts'

export const LAWS: readonly Law[] = [
  PROGRESS,
  LOG_FIRST,
  REPLAY_IS_PURE,
  ONCE,
  MOVES,
  ENDS_ARE_FINAL,
  REQUESTS,
  VALID_CONVERSATION,
  COMPACTION,
  FORKS,
  NEVER_WIDER,
  PLANS,
  TOLD_ONCE,
  MESSAGES,
  RECEIPTS,
  ONE_HOLDER,
  TASKS,
  HOOKS,
  BOUNDED,
  NOTHING_LEFT_BEHIND,
  ONE_WRITER,
  NOTHING_DROPPED,
  PROVENANCE,
]
