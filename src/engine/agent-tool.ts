/** The `Agent` tool as an entry of the tool table, shaped by what is switched on. Its body is the engine's (`effects/delegate.ts`). */
import type { AgentInput, AgentToolMoment } from '../definitions/agent-tool.ts'
import {
  AGENT_TOOL_ALIASES,
  AGENT_TOOL_NAME,
  agentInputSchema,
  agentToolDescription,
} from '../definitions/agent-tool.ts'
import type { Tool } from '../effects/tools/tool.ts'

export const delegationTool = (moment: AgentToolMoment): Tool<AgentInput> => ({
  name: AGENT_TOOL_NAME,
  aliases: AGENT_TOOL_ALIASES,
  description: agentToolDescription(moment),
  inputSchema: agentInputSchema(moment),
  // Called again it does not start a second child: it re-attaches to the one that the log names.
  resume: 'repeat',
  // What the child does is judged by the child's own permissions.
  isReadOnly: () => true,
  isConcurrencySafe: () => true,
  ruleSubject: ({ subagent_type }) => subagent_type,
  run: () => {
    throw new Error('the Agent tool is run by the engine')
  },
})

/** Whether a parsed call is one for the engine itself. */
export function isDelegation(tool: Tool): tool is Tool<AgentInput> {
  return tool.name === AGENT_TOOL_NAME
}
