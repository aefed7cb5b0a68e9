/**
 * Lists that change while agents run: which agents and which skills there are. They travel in the conversation, when
 * they are new or different, so that a new file never breaks the prompt cache of an agent.
 *
 *   K1  Looked at before each request, at no cost while nothing has changed.
 *   K2  What the conversation was told last is read from the log: a restart tells nothing twice.
 */
import { agentListing, agentListingChange } from '../definitions/agent-listing.ts'
import { AGENT_TOOL_NAME } from '../definitions/agent-tool.ts'
import { envelope } from '../definitions/context/envelope.ts'
import { skillListing } from '../definitions/context/render-skill.ts'
import { StorageError } from '../journal/storage.ts'
import type { BlobHash } from '../machines/ids.ts'
import type { Agent } from './agent.ts'
import type { EngineCore } from './core.ts'

/** One list: of what it is made, and how it reads. */
interface Listing {
  readonly about: string
  /** Another object when the list may have changed. */
  readonly source: object
  readonly render: () => string
  /** What to say when `current` comes after `previous`; undefined: nothing. */
  readonly change: (previous: string | undefined, current: string) => string | undefined
}

/** What an agent was last told of each list, in this process. */
export type ToldLists = Map<string, object>

/** Whether there may be something to tell. Cheap: it is asked before every request. */
export function hasNews(core: EngineCore, agent: Agent): boolean {
  return listingsOf(core, agent).some(({ about, source }) => agent.toldLists.get(about) !== source)
}

/** Tells an agent what is new in its lists. Resolves when that is in its log. */
export async function tellListings(core: EngineCore, agent: Agent): Promise<void> {
  for (const listing of listingsOf(core, agent)) {
    if (agent.toldLists.get(listing.about) === listing.source) continue
    await tell(agent, listing)
    agent.toldLists.set(listing.about, listing.source)
  }
}

function listingsOf(core: EngineCore, agent: Agent): readonly Listing[] {
  const { project } = core
  // What its parent was told stands in what it inherits; and it starts no agents.
  if (agent.isFork) return []
  return [
    ...(agent.mayUse(AGENT_TOOL_NAME) ? [agentsList(core, agent)] : []),
    ...(project !== undefined && agent.mayUse('Skill')
      ? [
          {
            about: 'skills',
            source: project.skills,
            render: () => skillListing(project.skills),
            change: wholeWhenDifferent,
          },
        ]
      : []),
  ]
}

function agentsList(core: EngineCore, agent: Agent): Listing {
  return {
    about: 'agents',
    source: core.definitions,
    render: () =>
      agentListing(agent.session.spawnable(agent), {
        callerTools: agent.prepared?.tools.map(({ name }) => name) ?? [],
      }),
    change: agentListingChange,
  }
}

const wholeWhenDifferent = (previous: string | undefined, current: string): string | undefined =>
  previous === current || (previous === undefined && current === '') ? undefined : current

async function tell(agent: Agent, { about, render, change }: Listing): Promise<void> {
  const current = render()
  const { blobs } = agent.session
  const state = await blobs.put(current)
  const before = agent.digest.told(about)
  if (before === state) return
  const text = change(before === undefined ? undefined : await textOf(agent, before), current)
  if (text === undefined) return
  await agent.post({
    type: 'message.added',
    about,
    content: envelope('system-reminder', text),
    origin: { from: 'engine' },
    state,
  })
}

/** A list that is lost is told again as a whole. */
async function textOf(agent: Agent, hash: BlobHash): Promise<string | undefined> {
  try {
    return await agent.session.blobs.get(hash)
  } catch (error) {
    if (StorageError.is(error)) return undefined
    throw error
  }
}
