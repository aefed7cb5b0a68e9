/** An agent with an MCP server of its own that ignores TERM and the end of its input. */
import { fileURLToPath } from 'node:url'
import type { AgentDefinition } from '../../../src/definitions/agent-definition.ts'
import type { ModelRequest } from '../../../src/effects/model/model.ts'
import type { ScriptedReply } from '../../../src/effects/model/scripted-reply.ts'
import { call, say } from '../../../src/effects/model/scripted-reply.ts'
import { turnOf } from '../../helpers/scripts.ts'

export const SESSION = '66666666-6666-4666-8666-666666666666'

export const CALLER: AgentDefinition = {
  agentType: 'caller',
  whenToUse: 'to call',
  getSystemPrompt: () => 'You call.',
  tools: [],
  mcpServers: [
    {
      name: 'own',
      config: {
        type: 'stdio',
        command: process.execPath,
        args: [
          fileURLToPath(new URL('../../effects/mcp/support/bare-server.mjs', import.meta.url)),
          'ignore-term',
        ],
        env: {},
      },
    },
  ],
  source: 'policySettings',
}

/** The root starts the agent; its first call hangs, its second answers. */
export function reply({ source, messages }: ModelRequest): ScriptedReply {
  const turn = turnOf({ messages })
  if (source === 'main') {
    if (turn > 0) return say('done')
    return call('Agent', { description: 'call it', prompt: 'call it', subagent_type: 'caller' })
  }
  if (turn === 0) return call('mcp__own__hang', {})
  return turn === 1 ? call('mcp__own__echo', { message: 'again' }) : say('report')
}
