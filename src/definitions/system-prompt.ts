/**
 * The system prompt of an agent, rendered. Equal inputs give equal bytes, because the prompt is a cache key: no
 * clock, no environment, no order that depends on anything but the inputs.
 */
import type { AgentDefinition } from './agent-definition.ts'

/** Facts about the machine that agents are told. */
interface EnvironmentFacts {
  /** As `process.platform` names it. */
  readonly platform: string
  readonly isGitRepo: boolean
  readonly osVersion?: string | undefined
  /** The day, as it should be shown. Leave it out where prompts must not change from day to day. */
  readonly date?: string | undefined
}

/** What a prompt is made of. */
export interface SystemPromptInput {
  /** A definition, or the text to start with. */
  readonly base: string | Pick<AgentDefinition, 'getSystemPrompt'>
  /** The agent's one working directory, absolute. */
  readonly cwd: string
  readonly environment: EnvironmentFacts
  /** The id of its model. */
  readonly model: string
  /** Added at the end. */
  readonly append?: string | undefined
  /** A child reports to an agent and is told how; the root speaks to a person. */
  readonly isChild: boolean
}

const CHILD_NOTES = `# Paths and report
- Write paths as absolute paths, in tool calls and in the report: whoever reads them may stand elsewhere.
- Only your last message reaches the agent that started you. It has not seen your steps, so the message must stand alone: what you found or did, where (paths with lines), what you could not do or verify, and nothing about how you went about it.
- Quote code only where its exact text matters. No emojis.
- Nobody answers questions while you work. If something is unclear, take the reading that fits the task best, and say in the report which one you took.`

/** Renders the prompt: the base, notes for children, the environment, what is appended. */
export function renderSystemPrompt(input: SystemPromptInput): string {
  const base = typeof input.base === 'string' ? input.base : input.base.getSystemPrompt({ cwd: input.cwd })
  return [base, input.isChild ? CHILD_NOTES : undefined, environmentNotes(input), input.append]
    .map((section) => section?.trim())
    .filter((section) => section !== undefined && section !== '')
    .join('\n\n')
}

function environmentNotes({ cwd, environment, model }: SystemPromptInput): string {
  const { platform, osVersion, isGitRepo, date } = environment
  return [
    '# Environment',
    `- Working directory: ${onOneLine(cwd)}${isGitRepo ? ' (in a git repository)' : ' (not in a git repository)'}`,
    `- Platform: ${onOneLine(platform)}${osVersion === undefined ? '' : `, ${onOneLine(osVersion)}`}`,
    ...(date === undefined ? [] : [`- Date: ${onOneLine(date)}`]),
    `- Model: ${onOneLine(model)}`,
  ].join('\n')
}

/** A folder's name may hold a line break; it must not become a line of the prompt. */
function onOneLine(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\u2028\u2029]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
