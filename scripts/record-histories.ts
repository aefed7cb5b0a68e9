/**
 * Records the sessions of `histories/scenarios.ts` into `test/replay/histories/`, with what each log comes to. Run it
 * after adding a scenario: `npx tsx scripts/record-histories.ts`.
 *
 * A history that is there is never written again: it is what a released engine has written, and has to replay for
 * ever. If an engine writes something else from now on, record that under another name.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { record, SCENARIOS } from './histories/scenarios.ts'
import { summarise } from './histories/summary.ts'

const FOLDER = path.resolve(fileURLToPath(import.meta.url), '../../test/replay/histories')

for (const [name, scenario] of Object.entries(SCENARIOS)) {
  const root = path.join(FOLDER, `${name}.jsonl`)
  if (existsSync(root)) continue
  const files = await record(scenario)
  // The last session is what the scenario is about; a base keeps its id, by which its branch finds it.
  const roots = [...files.keys()].filter((file) => !file.includes('/'))
  const subject = path.basename(roots.at(-1) ?? '', '.jsonl')
  for (const [file, text] of files) {
    const target = path.join(FOLDER, file.replaceAll(subject, name))
    mkdirSync(path.dirname(target), { recursive: true })
    writeFileSync(target, text)
  }
  const summary = await summarise(root)
  writeFileSync(path.join(FOLDER, `${name}.expected.json`), `${JSON.stringify(summary, null, 2)}\n`)
  process.stdout.write(`recorded ${name}\n`)
}
