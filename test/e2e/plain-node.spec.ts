/** The built package as its users load it: in plain Node, with XState's production build. */
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { createPlace, REPO, startProgram } from './support/program.ts'

const inRepo = async (args: readonly string[]) => {
  await using place = createPlace()
  const env = { HOME: place.home, TROUPE_HOME: place.troupeHome }
  // From within the package its own name means itself, through the same exports that others see.
  return await startProgram(args, { cwd: REPO, env }).finished
}

describe.concurrent('in plain Node', () => {
  it('the package runs, replays, resumes and kills', async () => {
    const suite = path.join(import.meta.dirname, 'plain/engine.test.mjs')
    const { code, stdout, stderr } = await inRepo(['--test', '--test-reporter=tap', suite])
    expect(stdout).not.toMatch(/^\s*not ok/m)
    expect(code, `${stdout}\n${stderr}`).toBe(0)
    expect(Number(/^# pass (\d+)$/m.exec(stdout)?.[1])).toBeGreaterThanOrEqual(5)
  })

  it.each(['troupe', 'troupe/testing'])(
    'importing %s does nothing, and keeps no process alive',
    async (name) => {
      const probe = `
      const look = () => [
        ...Object.getOwnPropertyNames(globalThis).map((name) => 'global ' + name),
        ...process.getActiveResourcesInfo().filter((kind) => /Timeout|Immediate|Wrap/.test(kind)),
        ...process.eventNames().map((event) => process.listenerCount(event) + ' for ' + String(event)),
        'env ' + JSON.stringify(process.env),
        'cwd ' + process.cwd(),
      ]
      const before = new Set(look())
      await import('${name}')
      // The validator keeps its registry there, so that two copies of it share one.
      const made = look().filter((thing) => !before.has(thing) && !thing.startsWith('global __zod_'))
      process.on('exit', () => process.stdout.write(JSON.stringify(made)))
    `
      const { code, stdout, stderr } = await inRepo(['--input-type=module', '--eval', probe])
      expect([code, stdout, stderr]).toEqual([0, '[]', ''])
    },
  )
})
