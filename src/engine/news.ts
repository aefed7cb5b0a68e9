/**
 * What an agent has not been told yet: ends of agents in the background, and messages of others.
 *
 *   W1  Told once: the line that tells it carries the keys, and what a line of the log tells is not owed any more. There
 *       is no second fact that could be lost or done twice.
 *   W2  All that is new is told together, in front of the next request, or as the prompt of the next run.
 */
import type { EndedTask } from '../definitions/notice.ts'
import { newsText } from '../definitions/notice.ts'
import type { AgentEventOf, RunKey, ToldEnd } from '../machines/agent/events.ts'
import type { Agent } from './agent.ts'
import type { EngineCore } from './core.ts'

/** What is new: how it reads, and the keys of what it tells. */
export interface News {
  readonly text: string
  readonly tells: ToldEnd[]
  readonly injects: string[]
}

/** Whether there may be something to tell. Costs nothing: it is asked before each request. */
export function mayHaveNews(agent: Agent): boolean {
  return agent.digest.owed.length > 0 || agent.digest.mail.length > 0
}

/** What is new for an agent right now; undefined: nothing. */
export async function newsFor(core: EngineCore, agent: Agent): Promise<News | undefined> {
  const { owed, mail } = agent.digest
  const untold = owed.filter((key) => !agent.session.hosts.isHeldBelow(agent, key))
  const found = await Promise.all(untold.map((key) => endFor(agent, key)))
  const ends = found.filter((end) => end !== undefined)
  if (ends.length === 0 && mail.length === 0) return undefined
  const messages = mail.map(({ content, origin, messageId, means }) => {
    if (origin.from !== 'agent') return { text: content, from: origin.from, fromType: '' }
    const sender = core.agents.get(origin.agentId)?.birth.plan
    return {
      text: content,
      from: origin.agentId,
      fromType: sender?.agentType ?? 'agent',
      fromName: sender?.name,
      messageId,
      means,
    }
  })
  return {
    text: newsText(
      ends.map(({ task }) => task),
      messages,
      core.limits.agentResultChars,
    ),
    tells: ends.map(({ told }) => told),
    injects: mail.map(({ messageId }) => messageId),
  }
}

/** The line that tells it. */
export function newsLine({ text, tells, injects }: News): AgentEventOf<'message.added'> {
  return {
    type: 'message.added',
    about: 'news',
    content: text,
    origin: { from: 'engine' },
    ...(tells.length > 0 && { tells }),
    ...(injects.length > 0 && { injects }),
  }
}

async function endFor(
  agent: Agent,
  key: RunKey,
): Promise<{ readonly task: EndedTask; readonly told: ToldEnd } | undefined> {
  const { session } = agent
  const state = await session.ends.stateOf(key)
  switch (state.kind) {
    case 'running':
      return undefined
    case 'unreviewed':
      // The agent goes on meanwhile.
      session.ends.reviewSoon(state.end)
      return undefined
    case 'lost':
      return {
        task: lostTask(key, state.why),
        told: {
          ...{ agentId: key.agentId, run: key.run, isLost: true as const },
          ...(state.modelUsage !== undefined && { modelUsage: { ...state.modelUsage } }),
        },
      }
    case 'ended': {
      const { task, end, startedBy } = state.end
      return {
        // The agent that started it has come to its end first.
        task: startedBy === agent.id ? task : { ...task, startedBy },
        told: { agentId: key.agentId, run: key.run, modelUsage: { ...end.modelUsage } },
      }
    }
  }
}

function lostTask({ agentId }: RunKey, why: string): EndedTask {
  return {
    agentId,
    agentType: 'agent',
    description: 'unknown',
    prompt: '',
    text: '',
    status: 'failed',
    outcome: { kind: 'failed' },
    why,
    usage: { input_tokens: 0, output_tokens: 0 },
    toolUses: 0,
    durationMs: 0,
    isOneShot: true,
    logPath: '',
  }
}
