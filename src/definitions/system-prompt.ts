/**
 * The system prompt of an agent, rendered. Equal inputs give equal bytes, because the prompt is a cache key: no
 * clock, no environment, no order that depends on anything but the inputs.
 *
 * Sections, in order: the base (a definition's prompt, after the default one where it is to be appended) → notes for
 * children → environment and model → memory → notes on the directory → form of the report → what is appended. A fork
 * has none of this: its prompt is its parent's, the very bytes.
 */
import type { AgentDefinition, ProjectFacts } from './agent-definition.ts'
import { MAIN_PROMPT } from './built-in/main.ts'
import { type ReportSchema, reportSchemaPrompt } from './report-schema.ts'

/** Facts about the machine that agents are told. */
export interface EnvironmentFacts {
  /** As `process.platform` names it. */
  readonly platform: string
  readonly isGitRepo: boolean
  readonly osVersion?: string | undefined
  /** The day, as it should be shown. Leave it out where prompts must not change from day to day. */
  readonly date?: string | undefined
}

/** Facts about the model besides its id. */
export interface ModelFacts {
  /** As people call it. */
  readonly name?: string | undefined
  /** Until when it knows the world, as it should be shown. */
  readonly knowledgeUntil?: string | undefined
}

/** How an agent came to a directory that is not its parent's. */
export type DirectoryFacts =
  | { readonly kind: 'cwd' }
  | {
      readonly kind: 'worktree'
      readonly branch: string
      /** The commit that it was made from. */
      readonly base: string
      /** The parent's tree had uncommitted changes, and they are not here. */
      readonly lacksChanges?: boolean | undefined
    }

/** What a prompt is made of. */
export interface SystemPromptInput {
  /** A definition, or the text to start with. */
  readonly base: string | Pick<AgentDefinition, 'getSystemPrompt' | 'appendSystemPrompt'>
  /** What stands before a definition that is to be appended. Default: the prompt of the main agent. */
  readonly defaultPrompt?: string | undefined
  /** The agent's one working directory, absolute. */
  readonly cwd: string
  /** Names of its tools, for definitions whose prompt depends on them. */
  readonly tools?: readonly string[] | undefined
  /** What the project offers, for definitions that explain it. */
  readonly project?: ProjectFacts | undefined
  readonly environment: EnvironmentFacts
  /** The id of its model. */
  readonly model: string
  readonly modelFacts?: ModelFacts | undefined
  /** What it remembers, as a section with its own heading. */
  readonly memory?: string | undefined
  /** Where the directory is not simply its parent's. */
  readonly directory?: DirectoryFacts | undefined
  readonly reportSchema?: ReportSchema | undefined
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

/** Renders the prompt. */
export function renderSystemPrompt(input: SystemPromptInput): string {
  return [
    ...baseOf(input),
    input.isChild ? CHILD_NOTES : undefined,
    environmentNotes(input),
    input.memory,
    directoryNotes(input.directory),
    input.reportSchema === undefined ? undefined : reportSchemaPrompt(input.reportSchema),
    input.append,
  ]
    .map((section) => section?.trim())
    .filter((section) => section !== undefined && section !== '')
    .join('\n\n')
}

function baseOf({
  base,
  cwd,
  tools,
  project,
  defaultPrompt = MAIN_PROMPT,
}: SystemPromptInput): readonly string[] {
  if (typeof base === 'string') return [base]
  const own = base.getSystemPrompt({
    cwd,
    ...(tools !== undefined && { tools }),
    ...(project !== undefined && { project }),
  })
  return base.appendSystemPrompt === true ? [defaultPrompt, own] : [own]
}

function environmentNotes({ cwd, environment, model, modelFacts }: SystemPromptInput): string {
  const { platform, osVersion, isGitRepo, date } = environment
  const { name, knowledgeUntil } = modelFacts ?? {}
  const called = name === undefined ? '' : ` (${onOneLine(name)})`
  const knows = knowledgeUntil === undefined ? '' : `, knows the world until ${onOneLine(knowledgeUntil)}`
  return [
    '# Environment',
    `- Working directory: ${onOneLine(cwd)}${isGitRepo ? ' (in a git repository)' : ' (not in a git repository)'}`,
    `- Platform: ${onOneLine(platform)}${osVersion === undefined ? '' : `, ${onOneLine(osVersion)}`}`,
    ...(date === undefined ? [] : [`- Date: ${onOneLine(date)}`]),
    `- Model: ${onOneLine(model)}${called}${knows}`,
  ].join('\n')
}

/** Says what is special about the directory. It names no path: the prompt has one, and one only. */
function directoryNotes(directory: DirectoryFacts | undefined): string | undefined {
  if (directory === undefined) return undefined
  if (directory.kind === 'cwd')
    return `# Your directory
You were given a working directory that is not that of the agent that started you. Relative paths in your task are meant from yours.`
  const { branch, base, lacksChanges = false } = directory
  return [
    '# Your worktree',
    `Your working directory is a git worktree made for you, on the branch ${onOneLine(branch)}, from commit ${onOneLine(base)}. The agent that started you works in another tree of the same repository.`,
    '- Work in your directory only. If your task names a path in another tree of this repository, it means the same place in yours.',
    ...(lacksChanges
      ? [
          '- That agent had uncommitted changes. They are not in your tree; if the task depends on them, say so.',
        ]
      : []),
    '- Files that git ignores (installed dependencies, build results, local settings) may be missing here.',
    '- Changes that you leave, committed or not, keep the worktree and its branch. Without changes both are removed.',
  ].join('\n')
}

/** A folder's name may hold a line break; it must not become a line of the prompt. */
function onOneLine(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\u2028\u2029]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
