/** What the planner says of itself, and when it says only that. */

/** What a prompt is, as far as a planner without a language model can tell. */
export type PromptKind = 'question' | 'greeting' | 'abilities' | 'change' | 'empty'

const GREETING =
  /^(?:hi|hello|hey|yo|good (?:morning|day|evening)|hallo|moin|bonjour|hola|thanks?(?: you)?|thank you|ok(?:ay)?|bye|test)(?: (?:there|all|troupe))?$/i
const ABILITIES =
  /^(?:help|who are you|what are you|what (?:can|do) you do|what can i (?:do|ask)|how (?:do|can) i use (?:you|this)|what is this)\b/i
const POLITE =
  /^(?:please|now|and|then|also|ok(?:ay)?|can you|could you|would you|will you|i want you to|i need you to|i'd like you to|let's|let us|go ahead and|you should)[\s,]+/i
const CHANGE =
  /^(?:write|create|add|fix|refactor|rewrite|implement|change|rename|delete|remove|update|make|build|generate|run|execute|commit|push|install|uninstall|translate|move|replace|upgrade|migrate|convert|optimi[sz]e|clean up|format|deploy|release|publish|edit|insert|draft|merge|revert|bump)\b/i

export function promptKind(prompt: string): PromptKind {
  let text = prompt.replace(/\s+/g, ' ').trim()
  const bare = text.replace(/[.!?,]+$/, '')
  if (!/[\p{L}\p{N}]/u.test(bare)) return 'empty'
  if (GREETING.test(bare)) return 'greeting'
  if (ABILITIES.test(bare)) return 'abilities'
  while (POLITE.test(text)) text = text.replace(POLITE, '')
  return CHANGE.test(text) ? 'change' : 'question'
}

/** How to get a language model. One line. */
export const CONNECT =
  'For a language model, set ANTHROPIC_API_KEY (or ANTHROPIC_BASE_URL for a server of your own that speaks the Messages API) and choose one with `--model`.'

/** The line that ends every answer with citations. */
export const SIGNATURE = `This came from the offline planner: no language model took part, it searched, read and ranked. ${CONNECT}`

const CAN =
  'Ask where something is or what uses it, with the names or words to look for (for example «where is the retry delay computed?»): Explore agents search the code base side by side, and I answer with file and line.'

/** The answer to a prompt that is no question about the code. */
export function talk(kind: PromptKind | 'vague' | 'no-tools'): string {
  return `${OPENING[kind]} ${CAN} ${CONNECT}`
}

const OPENING: Readonly<Record<PromptKind | 'vague' | 'no-tools', string>> = {
  question: 'I am the offline planner, no language model.',
  greeting: 'Hello! I am the offline planner: no language model, no key, no network.',
  abilities: 'I am the offline planner: no language model, but I find places in a code base.',
  change:
    'I am the offline planner, no language model: I can neither write nor change code, nor run commands.',
  empty: 'There was no question in that. I am the offline planner, no language model.',
  vague: 'I found no word in that to search for: I am the offline planner, no language model.',
  'no-tools':
    'I am the offline planner, no language model, and this request offers me no tools to search with.',
}
