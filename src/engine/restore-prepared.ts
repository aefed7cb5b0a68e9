/**
 * Prompt and tools of a run that was prepared in another process: the very bytes, from the session's blobs.
 *
 * A blob that is gone or damaged is rendered again. Mostly the same text comes out, which its hash proves, and nobody
 * notices but the host. Another one is a difference that the log of the resumed run names: the conversation is still
 * there, and losing it for a prompt would be worse.
 */
import { StorageError } from '../journal/storage.ts'
import type { BlobHash } from '../machines/ids.ts'
import type { Agent } from './agent.ts'
import type { EngineCore } from './core.ts'

/** A text and the name of its blob. */
interface Rendered {
  readonly text: string
  readonly hash: BlobHash
}

/** Gives a restored agent what it asks with; nothing for a run that was not prepared yet. Returns what differs now. */
export async function restorePrepared(core: EngineCore, agent: Agent): Promise<readonly string[]> {
  const { session } = agent
  const recorded = agent.digest.prepared
  if (recorded === undefined) return []
  const differences: string[] = []

  const recall = async (name: string, hash: BlobHash, render: () => Promise<Rendered>): Promise<string> => {
    try {
      return await session.blobs.get(hash)
    } catch (error) {
      if (!StorageError.is(error) || (error.code !== 'not-found' && error.code !== 'damaged')) throw error
      const path = session.paths.blob(hash)
      const what = `the ${name} of agent ${agent.id} (${path}) is ${error.code === 'damaged' ? 'damaged' : 'missing'}`
      const again = await render()
      if (again.hash === hash) {
        // Written outright: the store takes any file of the right length for the right one.
        await core.storage.writeWhole(path, again.text)
        core.diagnose('blob-restored', `${what}; it was rendered again, the same as before`)
      } else {
        const difference = `${what}; it was rendered again and is a different one now`
        differences.push(difference)
        core.diagnose('prompt-differs', difference)
      }
      return again.text
    }
  }

  const system = await recall('system prompt', recorded.system, async () => {
    const { prepared, system: hash } = await session.prompts.prepare(agent)
    return { text: prepared.system, hash }
  })
  const tools = await recall('list of tools', recorded.tools, async () => {
    const { prepared, tools: hash } = await session.prompts.prepare(agent)
    return { text: JSON.stringify(prepared.tools), hash }
  })
  agent.prepared = { system, tools: JSON.parse(tools) }
  return differences
}
