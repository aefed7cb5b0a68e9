/** Hooks: started, running as a process, ended. */
import * as z from 'zod'

/** A hook is about to run. Hooks run at most once: one that was started and has no end when a run is resumed is lost. */
export const HookStarted = z.looseObject({
  type: z.literal('hook.started'),
  /** Its name in this log, and in the mark of its process. */
  hook: z.string(),
  /** What it is run at: an event, and where there are several of them, which. */
  moment: z.string(),
  event: z.string(),
  /** Its place among the hooks of the moment. */
  place: z.number().int().nonnegative(),
  /** Who speaks. */
  label: z.string(),
  command: z.string().optional(),
})

/** A hook's own process group is running. */
export const HookProcessStarted = z.looseObject({
  type: z.literal('hook.process_started'),
  hook: z.string(),
  pid: z.number().int().positive(),
  startTime: z.string().optional(),
})

const Coded = z.looseObject({ code: z.string(), message: z.string() })
const Reason = z.looseObject({ reason: z.string().optional() })

/** What came of a hook. */
export const HookResult = z.discriminatedUnion('kind', [
  z.looseObject({
    kind: z.literal('answered'),
    answer: z.looseObject({
      verdict: z
        .looseObject({ kind: z.enum(['allow', 'ask', 'deny', 'block']), reason: z.string().optional() })
        .optional(),
      stop: Reason.optional(),
      updatedInput: z.record(z.string(), z.unknown()).optional(),
      context: z.string().optional(),
      notice: z.string().optional(),
    }),
    problems: z.array(Coded),
  }),
  z.looseObject({ kind: z.literal('failed'), fault: Coded }),
  z.looseObject({ kind: z.literal('aborted') }),
  z.looseObject({ kind: z.literal('lost'), why: z.string() }),
])

/** A hook has ended, and nothing of it runs any more. */
export const HookEnded = z.looseObject({
  type: z.literal('hook.ended'),
  hook: z.string(),
  durationMs: z.number().int().nonnegative(),
  outcome: HookResult,
})
