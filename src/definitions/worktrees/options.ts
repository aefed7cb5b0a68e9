/** What a host or a person sets about worktrees. */
import * as z from 'zod'
import { innerPath, innerPathProblem } from './inner-path.ts'

/** A path inside the repository: relative, without a way out of it. */
const InnerPath = z
  .string()
  .superRefine((path, context) => {
    const problem = innerPathProblem(path)
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem })
  })
  .transform(innerPath)

/** The `worktree` object of settings and of the engine's options. */
export const WorktreeOptions = z.strictObject({
  /** Folders that are checked out (sparse checkout in cone mode). Absent or empty: everything. */
  sparsePaths: z.array(InnerPath).optional(),
  /** Folders that become links to the caller's, such as `node_modules`. */
  symlinkDirectories: z.array(InnerPath).optional(),
  /** Ignored files count as changes. */
  keepIgnored: z.boolean().optional(),
  /** What becomes of the caller's uncommitted changes. Default: `ignore`. */
  uncommitted: z.enum(['ignore', 'refuse', 'snapshot']).optional(),
})
export type WorktreeOptions = z.infer<typeof WorktreeOptions>
