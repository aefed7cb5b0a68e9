/**
 * The list of available agents, as it travels in the conversation. It is no part of the tool's description, so that
 * a new agent file or MCP server does not break the prompt cache of every agent.
 */
import type { AgentDefinition, ListingContext } from './agent-definition.ts'
import { whenToUseOf } from './agent-definition.ts'

const HEADING = 'Agents available for the Agent tool (subagent_type):'
const NONE = 'No agents are available for the Agent tool at the moment.'

/**
 * The available agents as text. Names are what `subagent_type` takes. Deterministic: the order is that of the
 * definitions. Give it the definitions that the caller may really spawn; those that are not to be listed are left out.
 */
export function agentListing(
  definitions: readonly AgentDefinition[],
  context: ListingContext = { callerTools: [] },
): string {
  const items = definitions
    .filter(({ isUnlisted }) => isUnlisted !== true)
    .map(
      (definition) =>
        `- ${indent(definition.agentType)}: ${indent(whenToUseOf(definition, context))} (tools: ${toolsInWords(definition)})`,
    )
  return items.length === 0 ? NONE : `${HEADING}\n${items.join('\n')}`
}

/**
 * What to put into the conversation when the list is `current` and the conversation last had `previous`: undefined
 * when nothing changed, the whole list when it had none, else what is new, different or gone. Both are texts of
 * {@link agentListing}.
 */
export function agentListingChange(previous: string | undefined, current: string): string | undefined {
  if (previous === current) return undefined
  if (previous === undefined || current === NONE) return current
  const [before, after] = [entriesOf(previous), entriesOf(current)]
  const gone = [...before.keys()].filter((name) => !after.has(name))
  const fresh = [...after].filter(([name, entry]) => before.get(name) !== entry).map(([, entry]) => entry)
  const change = [
    'The agents available for the Agent tool have changed.',
    ...(gone.length === 0 ? [] : [`No longer available: ${gone.join(', ')}.`]),
    ...(fresh.length === 0 ? [] : ['New or different:', ...fresh]),
  ].join('\n')
  // A mere change of order is none for the reader.
  if (gone.length === 0 && fresh.length === 0) return undefined
  return change.length < current.length ? change : `The list of available agents is a new one.\n${current}`
}

/** Entries by name. Only an entry stands at the start of a line: all its other lines are indented. */
function entriesOf(listing: string): ReadonlyMap<string, string> {
  const entries = listing.split('\n- ').slice(1)
  return new Map(entries.map((entry) => [entry.split(': ', 1)[0] ?? entry, `- ${entry}`]))
}

/** Following lines stand deeper than the list's dashes, so that no text of a definition looks like an entry. */
function indent(text: string): string {
  return text.trim().replaceAll(/\r\n?|\n|[\u2028\u2029]/gu, '\n  ')
}

function toolsInWords({ tools, disallowedTools = [] }: AgentDefinition): string {
  const without = disallowedTools.length === 0 ? '' : ` except ${indent(disallowedTools.join(', '))}`
  if (tools === undefined || tools.includes('*')) return `all${without}`
  return tools.length === 0 ? 'none' : `${indent(tools.join(', '))}${without}`
}
