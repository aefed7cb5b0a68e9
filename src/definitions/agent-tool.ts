/**
 * The `Agent` tool as a model sees it: input, description, and the list of agents it can choose from.
 *
 * The description is static and names no agent. The list travels in the conversation, so that a new definition
 * does not break the prompt cache of every agent.
 */
import * as z from 'zod'
import type { AgentDefinition, ListingContext } from './agent-definition.ts'
import { whenToUseOf } from './agent-definition.ts'
import { PermissionMode } from './permission-mode.ts'

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
      'Permission mode of a teammate, for example "plan" to see its plan before it changes anything.',
    ),
  isolation: z
    .enum(['worktree'])
    .optional()
    .describe('"worktree": work on a copy of the repository on a branch of its own.'),
  cwd: z.string().startsWith('/').optional().describe('Absolute path of another working directory.'),
})

/** The parsed input of an `Agent` call. Fields that the moment does not offer are never there. */
export type AgentInput = z.infer<typeof AllFields>

/** What can be used right now: a model never sees a field that would do nothing. */
export interface AgentToolMoment {
  /** Work in the background is possible, and not the rule anyway. */
  readonly background: boolean
  /** Teams are on and the caller is no teammate. */
  readonly teams: boolean
  /** Another working directory may be given. */
  readonly cwd: boolean
  /** Worktrees can be made. */
  readonly isolation: boolean
}

/** Nothing but the task, the type and the model. */
export const PLAIN_MOMENT: AgentToolMoment = {
  background: false,
  teams: false,
  cwd: false,
  isolation: false,
}

/** The input schema for a moment: strict, so a field that is not offered is refused by name. */
export function agentInputSchema(moment: AgentToolMoment = PLAIN_MOMENT): z.ZodType<AgentInput> {
  return AllFields.omit({
    ...(!moment.background && { run_in_background: true }),
    ...(!moment.teams && { name: true, team_name: true, mode: true }),
    ...(!moment.isolation && { isolation: true }),
    ...(!moment.cwd && { cwd: true }),
  })
}

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

/**
 * The available agents as text for the conversation. Names are what `subagent_type` takes. Deterministic: the
 * order is that of the definitions. Give it the definitions that the caller may really spawn.
 */
export function agentListing(
  definitions: readonly AgentDefinition[],
  context: ListingContext = { callerTools: [] },
): string {
  if (definitions.length === 0) return 'No agents are available for the Agent tool at the moment.'
  const items = definitions.map(
    (definition) =>
      `- ${definition.agentType}: ${indent(whenToUseOf(definition, context))} (tools: ${toolsInWords(definition)})`,
  )
  return `Agents available for the Agent tool (subagent_type):\n${items.join('\n')}`
}

/** Following lines stand deeper than the list's dashes, so that no text of a definition looks like an entry. */
function indent(text: string): string {
  return text.trim().replaceAll(/\r\n?|\n|[\u2028\u2029]/gu, '\n  ')
}

function toolsInWords({ tools, disallowedTools = [] }: AgentDefinition): string {
  const without = disallowedTools.length === 0 ? '' : ` except ${disallowedTools.join(', ')}`
  if (tools === undefined || tools.includes('*')) return `all${without}`
  return tools.length === 0 ? 'none' : `${tools.join(', ')}${without}`
}
