/** A tree of its own: meant, made, decided about, gone. */
import * as z from 'zod'

/** A worktree is about to be made for the agent: durable before there is anything of it. */
export const WorktreeRequested = z.looseObject({
  type: z.literal('worktree.requested'),
  name: z.string(),
  /** The directory that the agent, or whoever started it, works in. */
  from: z.string(),
  /** Where it will be. Absent: a hook makes the folder and says where. */
  git: z
    .looseObject({ path: z.string(), branch: z.string(), base: z.string(), repository: z.string() })
    .optional(),
})

/** It is there: from here on it is the agent's working directory. Said again when it was made again at a resume. */
export const WorktreeCreated = z.looseObject({
  type: z.literal('worktree.created'),
  path: z.string(),
  /** The caller had uncommitted changes, and they are not in it. */
  lacksChanges: z.literal(true).optional(),
})

/** Nobody works in it any more; what becomes of it. */
export const WorktreeDecided = z.looseObject({
  type: z.literal('worktree.decided'),
  fate: z.enum(['kept', 'removed']),
  reasons: z.array(z.string()).min(1),
})

/** Folder and branch are gone. */
export const WorktreeRemoved = z.looseObject({ type: z.literal('worktree.removed') })

/** The agent is back in the directory that it came from, while it goes on: only of one that entered at a word. */
export const WorktreeLeft = z.looseObject({ type: z.literal('worktree.left') })
