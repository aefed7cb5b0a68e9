/**
 * Runs example modules one after the other, in one process of plain Node: started by `examples.spec.ts`, which gets
 * a message for each. The process ends by itself when nothing of the examples is left.
 */
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

/** What became of one example. */
export interface ExampleReport {
  readonly file: string
  readonly output: string
  readonly error: string | undefined
}

let output = ''
let failed: (error: unknown) => void = () => {}
process.on('unhandledRejection', (error) => failed(error))
process.on('uncaughtException', (error) => failed(error))
process.stdout.write = (text: string | Uint8Array) => {
  output += typeof text === 'string' ? text : Buffer.from(text).toString('utf8')
  return true
}

for (const file of process.argv.slice(2)) {
  // Each has a home and a project of its own.
  const folder = file.replace(/\.ts$/, '')
  const project = path.join(folder, 'project')
  mkdirSync(project, { recursive: true })
  process.chdir(project)
  process.env['TROUPE_HOME'] = path.join(folder, 'home')
  output = ''
  const error = await Promise.race([
    new Promise<unknown>((resolve) => {
      failed = resolve
    }),
    import(pathToFileURL(file).href).then(
      // What an example leaves for the next turns of the event loop belongs to it.
      () => new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 20)),
      (thrown: unknown) => thrown ?? 'it threw nothing',
    ),
  ])
  const text =
    error === undefined ? undefined : error instanceof Error ? (error.stack ?? error.message) : String(error)
  process.send?.({ file, output, error: text } satisfies ExampleReport)
}
process.disconnect?.()
