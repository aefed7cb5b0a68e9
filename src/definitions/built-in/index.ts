/** The definitions that are there without any file. A host adds to them, replaces or removes them. */
import type { AgentDefinition } from '../agent-definition.ts'
import { EXPLORE } from './explore.ts'
import { GENERAL_PURPOSE } from './general-purpose.ts'
import { MAGIC_DOCS } from './magic-docs.ts'
import { PLAN } from './plan.ts'
import { STATUSLINE_SETUP } from './statusline-setup.ts'
import { troupeGuide } from './troupe-guide.ts'
import { VERIFICATION } from './verification.ts'

/**
 * For every host, in the order in which models see them. Two more are the routing's own: `fork` where forking is
 * on, and `worker`, which in coordinator mode replaces all others.
 */
export const BUILT_IN_DEFINITIONS: readonly AgentDefinition[] = [
  GENERAL_PURPOSE,
  EXPLORE,
  PLAN,
  VERIFICATION,
  STATUSLINE_SETUP,
  MAGIC_DOCS,
]

/** What the command line has besides: it explains Troupe to its user. Not offered to hosts of the library. */
export const CLI_DEFINITIONS: readonly AgentDefinition[] = [troupeGuide()]
