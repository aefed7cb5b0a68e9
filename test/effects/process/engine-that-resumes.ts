/** An engine for the tests of survivors: ends what an agent left, itself a process that carries the mark. */
import { createLocalProcessRunner } from '../../../src/effects/process/local-process-runner.ts'

const [agentId = ''] = process.argv.slice(2)
const ended = await createLocalProcessRunner({ graceMs: 50 }).endSurvivors([], [agentId])
process.stdout.write(`ended ${ended}\n`)
