import { mkdtempSync } from 'node:fs'
import { createLongLog } from '../bench/long-log.ts'
import { sessionPaths } from '../src/journal/paths.ts'
import { SessionId } from '../src/machines/ids.ts'
const home = mkdtempSync('/tmp/zzprof-')
const id = SessionId.parse('5e551011-0000-4000-8000-000000000001')
const log = createLongLog(sessionPaths(home, home, id).rootLog, id, home)
log.appendRun(Number(process.argv[2]))
console.log(home)
