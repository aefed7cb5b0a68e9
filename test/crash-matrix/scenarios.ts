/** All scenarios: whatever file is in the folder. */
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Scenario } from './scenario.ts'

/** Loads the scenarios of a folder, in the order of their names. Throws when a file exports none under its own name. */
export async function loadScenarios(
  folder = path.join(import.meta.dirname, 'scenarios'),
): Promise<readonly Scenario[]> {
  const names = readdirSync(folder).filter((name) => /\.m?[jt]s$/.test(name))
  return Promise.all(
    names.toSorted().map(async (name) => {
      const { scenario }: { readonly scenario?: Scenario } = await import(
        pathToFileURL(path.join(folder, name)).href
      )
      if (scenario?.name !== path.parse(name).name)
        throw new Error(`${name} must export a \`scenario\` of the name of its file`)
      return scenario
    }),
  )
}
