/** A process to kill: says the pid of the server, as soon as a call of it is under way. */
import { createScriptedModel } from '../../../src/effects/model/scripted.ts'
import { createEngine } from '../../../src/engine/create-engine.ts'
import { CALLER, reply, SESSION } from './play.ts'

const [home = '', cwd = ''] = process.argv.slice(2)
const engine = createEngine({
  model: createScriptedModel(reply),
  definitions: [CALLER],
  home,
  cwd,
  permissions: { mode: 'bypassPermissions' },
})
let pid = 0
engine.events$.subscribe((event) => {
  if (event.kind !== 'fact') return
  if (event.event.type === 'server.started') pid = event.event.pid
  if (event.event.type === 'call.started' && event.event.child === undefined) console.log(pid)
})
await engine.run('go', { sessionId: SESSION }).result
