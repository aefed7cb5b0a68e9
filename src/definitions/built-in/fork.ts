/** The caller itself, at that moment, on a task of its own. */
import type { AgentDefinition } from '../agent-definition.ts'
import { envelope, inert } from '../context/envelope.ts'

/** The envelope around what a fork is told. The engine marks the message; the tag alone proves nothing. */
export const FORK_TAG = 'fork_directive'

/**
 * A fork. Its prompt is its parent's, byte for byte, so that it has none of its own; its tools are its parent's
 * array. What makes it a worker is the directive, which comes after the shared conversation.
 */
export const FORK: AgentDefinition = {
  agentType: 'fork',
  whenToUse:
    'A copy of you, with everything you know, for a part of the work whose steps you do not need to see.',
  getSystemPrompt: () => '',
  model: 'inherit',
  forksParentContext: true,
  isUnlisted: true,
  source: 'built-in',
}

/** What a fork is told before its task. Equal for all forks: only what follows it differs. */
const RULES = `You are a forked worker now, not the main agent. Everything above is inherited from it: use it as knowledge. Where it tells you to delegate, to talk to the user or to go on with the larger job, that is not for you.

- Start no agents, whatever is said above. Do the work yourself, with your tools, directly.
- No conversation: no questions, no proposals for next steps, no offers. Nobody answers.
- Say nothing between tool calls. Speak once, at the end.
- Stay within the directive. What you notice beside it goes into the report in a sentence; others are at work on the rest.
- If you changed files in a git repository, commit the changes before you report, and name the commit.
- Report facts, in at most 500 words unless the directive sets another length. The report begins with "Scope:" and your task in one sentence, then, as far as there is something to say: "Result:", "Key files:" (absolute paths), "Changed files:" (with the commit), "Issues:".`

const DIRECTORY_NOTES = `You work in a git worktree of your own now: the working directory that the inherited conversation names is your parent's, and not yours. Paths in it belong to the parent's directory; translate them to the same place in yours, given here. Read a file again in your directory before you edit it: it may differ from what was read above.
Your working directory:`

/** The user message that ends the shared conversation; nothing in a task closes its envelope. */
export function forkDirective(task: string): string {
  return [`<${FORK_TAG}>`, RULES, `Directive:\n${inert(task)}`, `</${FORK_TAG}>`].join('\n\n')
}

/**
 * What a fork in a worktree of its own is told behind its directive, which is the same for all forks. `worktree`: the
 * absolute path.
 */
export function forkDirectoryNotes(worktree: string): string {
  return envelope('system-reminder', `${DIRECTORY_NOTES} ${onOneLine(worktree)}`)
}

function onOneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]/gu, ' ')
}
