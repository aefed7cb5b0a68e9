/** Starts the session in a folder and is dead before it ends. */
import { CRASH_AT, openEngine } from './world.mjs'

const [folder, sessionId] = process.argv.slice(2)
await openEngine(folder, { crashAt: CRASH_AT, durability: 'fsync' }).engine.run('go', { sessionId }).result
