/** What the suite and the process that it lets crash share. Plain JavaScript, on the built package alone. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { createEngine, createScriptedModel } from 'troupe'
import { z } from 'zod'

/** Which crash: the fourth body that runs ends the process, after its work and before its result. */
export const CRASH_AT = 4

const input = z.strictObject({ id: z.string() })

/**
 * Tools that write down each run of a body. Reading is repeated by a resume, a keyed body has its key, an act is
 * never repeated.
 */
function tools(folder, crashAt) {
  let bodies = 0
  const tool = (name, resume) => ({
    name,
    description: name,
    inputSchema: input,
    resume,
    isReadOnly: () => resume === 'repeat',
    isConcurrencySafe: () => false,
    run: async ({ id }, { key }) => {
      appendFileSync(path.join(folder, 'bodies'), `${name} ${id} ${key}\n`)
      bodies += 1
      if (bodies === crashAt) process.kill(process.pid, 'SIGKILL')
      return { content: `${name} ${id} done` }
    },
  })
  return [tool('Look', 'repeat'), tool('Put', 'keyed'), tool('Act', 'interrupt')]
}

/** Every run of a body, as `Tool id key`. */
export function bodiesIn(folder) {
  const file = path.join(folder, 'bodies')
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
}

const use = (name, id) => ({ name, input: { id } })
const child = (prompt) => ({
  name: 'Agent',
  input: { description: `child ${prompt}`, prompt, subagent_type: 'general-purpose' },
})

/** A parent with two children at once; each looks, puts and acts, then reports. */
export function script({ messages, source }) {
  const turn = messages.filter(({ role }) => role === 'assistant').length
  const prompt = messages[0].content
  if (source === 'main')
    return turn === 0 ? { text: 'Two.', calls: [child('alpha'), child('beta')] } : 'the end'
  if (turn === 0) return { thinking: 'First look.', calls: [use('Look', prompt), use('Put', prompt)] }
  if (turn === 1) return { calls: [use('Act', prompt)] }
  return `report of ${prompt}`
}

/** An engine in a folder, and everything that happens in it. */
export function openEngine(folder, { crashAt = -1, model = createScriptedModel(script), ...more } = {}) {
  const engine = createEngine({
    model,
    home: path.join(folder, 'journal'),
    cwd: folder,
    permissions: { mode: 'bypassPermissions' },
    tools: tools(folder, crashAt),
    ...more,
  })
  const facts = []
  engine.events$.subscribe((event) => {
    if (event.kind === 'fact') facts.push(event)
  })
  return { engine, facts }
}
