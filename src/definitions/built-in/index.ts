/** The definitions that are there without any file. A host adds to them, replaces or removes them. */
import type { AgentDefinition } from '../agent-definition.ts'
import { EXPLORE } from './explore.ts'
import { GENERAL_PURPOSE } from './general-purpose.ts'

/** In the order in which models see them. */
export const BUILT_IN_DEFINITIONS: readonly AgentDefinition[] = [GENERAL_PURPOSE, EXPLORE]
