/** What an agent may do without being asked, from narrow to wide. */
import * as z from 'zod'

/**
 * `plan`: read-only tools. `dontAsk`: what rules allow, the rest refused. `default`: asks. `acceptEdits`: file
 * edits inside the working directories pass, the rest asks. `auto`: a classifier decides. `bypassPermissions`:
 * everything passes. `bubble` (definitions only): as `default`, prompts rise to the parent.
 */
export const PermissionMode = z.enum([
  'plan',
  'dontAsk',
  'default',
  'acceptEdits',
  'auto',
  'bypassPermissions',
  'bubble',
])
export type PermissionMode = z.infer<typeof PermissionMode>
