/**
 * The `Agent` tool as a model sees it: input and description, shaped by the moment. The description is static text
 * and names no agent; the list of agents is another one (`agent-listing.ts`).
 */
import * as z from 'zod'
import type { Features } from './features.ts'
import { PermissionMode } from './permission-mode.ts'
import type { SpawnCaller } from './spawn-situation.ts'

export const AGENT_TOOL_NAME = 'Agent'

/** Its name in older logs, rules and hook matchers. */
export const AGENT_TOOL_ALIASES: readonly string[] = ['Task']

const something = /\S/u

const AllFields = z.strictObject({
  description: z
    .string()
    .regex(something, 'say in 3 to 5 words what the agent does')
    .describe('What the agent does, in 3 to 5 words. Shown to people while it works.'),
  prompt: z
    .string()
    .regex(something, 'the task is empty')
    .describe('The whole task. The agent sees this text and nothing else of your conversation.'),
  subagent_type: z
    .string()
    .optional()
    .describe('The type of agent, from the list of available agents. Left out: general-purpose.'),
  model: z
    .enum(['sonnet', 'opus', 'haiku'])
    .optional()
    .describe('Overrides the model that the type would use. Leave it out unless there is a reason.'),
  run_in_background: z.boolean().optional().describe('Return at once; you are told when the agent is done.'),
  name: z.string().regex(something).optional().describe('A name under which others can send it messages.'),
  team_name: z.string().regex(something).optional().describe('The team to join. Left out: the current team.'),
  mode: PermissionMode.exclude(['bubble'])
    .optional()
    .describe(
      'Permission mode of a teammate, for example "plan" to see its plan before it changes anything. Never wider than yours.',
    ),
  isolation: z.enum(['worktree', 'remote']).optional(),
  cwd: z
    .string()
    .startsWith('/')
    .optional()
    .describe('Absolute path of another working directory. Not together with isolation.'),
})

/** The parsed input of an `Agent` call. Fields that the moment does not offer are never there. */
export type AgentInput = z.infer<typeof AllFields>

/** What can be used right now: a model never sees a field that would do nothing. */
export interface AgentToolMoment {
  /** Work in the background is possible, and not the rule anyway. */
  readonly background: boolean
  /** Agents may be given names. Default: where teams are. */
  readonly names?: boolean
  /** Teams are on and the caller is no teammate. */
  readonly teams: boolean
  /** Another working directory may be given. */
  readonly cwd: boolean
  /** Worktrees can be made. */
  readonly isolation: boolean
  /** The host runs agents elsewhere. */
  readonly remote?: boolean
  /** The `model` argument counts. Default true. */
  readonly model?: boolean
  /** A call without a type forks the caller. */
  readonly fork?: boolean
  /** The caller only coordinates. */
  readonly coordinator?: boolean
}

/** Nothing but the task, the type and the model. */
export const PLAIN_MOMENT: AgentToolMoment = {
  background: false,
  teams: false,
  cwd: false,
  isolation: false,
}

/** The moment of a caller under the features in force. */
export function agentToolMoment(
  features: Features,
  caller: Pick<SpawnCaller, 'teammate'> = {},
): AgentToolMoment {
  const { background, forceBackground, fork, coordinator } = features
  const isRuleAnyway = fork || coordinator || forceBackground
  return {
    background: background && !isRuleAnyway && caller.teammate?.backend !== 'in-process',
    names: features.names && background && caller.teammate === undefined,
    teams: features.teams && caller.teammate === undefined,
    cwd: features.cwdArgument,
    isolation: features.worktree,
    remote: features.remote,
    model: features.modelArgument,
    fork: fork && !coordinator,
    coordinator,
  }
}

/** The input schema for a moment: strict, so a field that is not offered is refused by name. */
export function agentInputSchema(moment: AgentToolMoment = PLAIN_MOMENT): z.ZodType<AgentInput> {
  const isolations = [
    ...(moment.isolation ? (['worktree'] as const) : []),
    ...(moment.remote === true ? (['remote'] as const) : []),
  ]
  const isolation = z
    .enum(isolations)
    .optional()
    .describe(isolations.map((kind) => ISOLATION_IN_WORDS[kind]).join(' '))
  return AllFields.extend({
    ...fieldsInWords(moment),
    isolation,
  }).omit({
    ...(moment.model === false && { model: true }),
    ...(!moment.background && { run_in_background: true }),
    ...(!moment.teams && { team_name: true, mode: true }),
    ...(!moment.teams && moment.names !== true && { name: true }),
    ...(isolations.length === 0 && { isolation: true }),
    ...(!moment.cwd && { cwd: true }),
  })
}

const ISOLATION_IN_WORDS = {
  worktree:
    '"worktree": work in a git worktree of its own, on a branch of its own; kept when it holds changes.',
  remote: '"remote": run on another machine.',
} as const

/** The fields whose meaning depends on what is switched on. */
function fieldsInWords({
  fork = false,
  coordinator = false,
}: AgentToolMoment): Pick<(typeof AllFields)['shape'], 'prompt' | 'subagent_type' | 'model'> {
  const { prompt, subagent_type, model } = AllFields.shape
  if (coordinator)
    return {
      prompt,
      subagent_type: subagent_type.describe('The type of agent. Left out: worker, the only one.'),
      model,
    }
  if (!fork) return { prompt, subagent_type, model }
  return {
    prompt: prompt.describe(
      'The whole task. An agent with a type sees this text and nothing else; a fork knows your conversation, so give it a directive.',
    ),
    subagent_type: subagent_type.describe(
      'The type of agent, from the list of available agents. Left out: a fork of yourself.',
    ),
    model: model.describe(
      'Overrides the model that the type would use; a fork always runs on yours. Leave it out unless there is a reason.',
    ),
  }
}

/** The tool's description for a moment: static text, chosen by what is switched on. */
export function agentToolDescription(moment: AgentToolMoment = PLAIN_MOMENT): string {
  if (moment.coordinator === true) return COORDINATOR_DESCRIPTION
  return [
    AGENT_TOOL_DESCRIPTION,
    ...(moment.background ? [BACKGROUND_SECTION] : []),
    ...(moment.fork === true ? [FORK_SECTION] : []),
  ].join('\n\n')
}

const BACKGROUND_SECTION = `In the background
With \`run_in_background: true\` the call returns at once, and a <task-notification> brings you the report when the agent is done.
- Use it when you have other work meanwhile. If you need the report before you can go on, leave it out: then the call waits.
- Do not ask after such an agent again and again, and do not guess what it will find. With nothing else to do, end your turn: you are woken.
- To go on with an agent that is done, send it a message: it knows everything that it knew.`

const COORDINATOR_DESCRIPTION = `Starts a worker on one part of the job. It works in the background in a context of its own; you are told when it is done, with its report.

The worker knows only the prompt: give it the goal, what is known, exact paths and names, whether it may change files, and what the report must contain. Work out what the reports mean yourself, and put it into the next prompt in full; never "based on what you found". Start workers for independent parts in one message; keep two that change files away from the same ones.`

const FORK_SECTION = `Forks
A call without \`subagent_type\` starts a fork: a copy of you that knows this whole conversation and shares its cache, works in the background, and hands back a report. You do not see its steps.
- Fork when the steps would fill your context and you need only what comes out: an open question with many reads, an implementation that is clear but long. Independent questions: one fork each, in one message.
- Do not fork for what one or two calls settle, and use a type where one is made for the job or where fresh eyes are the point.
- The prompt is a directive, not a briefing: what to do, where it ends, what another fork does. Do not explain again what was said here.
- Do not look into a fork's work while it runs, and do not guess what it will find: until its report is there you know nothing. If the user asks, say that it is still working.
- A fork starts no forks, and its model is yours.`

/** The tool's description. */
export const AGENT_TOOL_DESCRIPTION = `Starts another agent on a task. It works in a context of its own with its own tools, and only its final report comes back to you, as the result of this call.

Delegate when
- the work is a search or an investigation whose steps you do not need, only the answer: it keeps your own context free;
- several parts do not depend on each other: put one call for each into the same message and they run in parallel;
- the list of available agents has a type made for exactly this.

Do it yourself when
- you know the file, or one or two searches will find it: reading it directly is faster;
- the task needs what is in this conversation and would take longer to explain than to do;
- the next step depends on the result and there is nothing else to do meanwhile that an agent does better.

Writing the prompt
The agent starts fresh. It has not seen the user's words, the files you read or what you tried. Brief it like an able colleague who has just come in:
- the goal and why it matters, and what is already known or ruled out;
- exact paths, names, error messages and commands instead of "the file from before";
- whether to change files or only to find out, and what must not be touched;
- what the report has to contain, and how long it should be.
For a lookup give the question itself, for an investigation the question and not a list of steps: steps go wrong when your guess does. Do not hand over the thinking: "based on what you find, fix it" asks the agent to understand your problem for you. Say what has to change and where, once you know.

What comes back
- The user does not see the report. Tell them what matters in your own words.
- The report says what the agent meant to do. Before you build on a change it made, look at the change.
- Agents that run at the same time must not edit the same files.
- Do not do again what an agent was asked to do; use its answer.`
