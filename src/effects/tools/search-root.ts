/** Where a search begins. */
import { type Place, placeJudged } from './confinement.ts'
import { nearNames } from './near-names.ts'
import { printable } from './printable.ts'
import type { ToolContext } from './tool.ts'
import { ToolRefusal } from './tool-refusal.ts'

/** The file or folder to search in; the working directory when none is named. Throws a {@link ToolRefusal}. */
export async function placeSearchRoot(path: string | undefined, context: ToolContext): Promise<Place> {
  const place = await placeJudged(path ?? '.', context)
  if (place.kind !== 'missing') return place
  const near = await nearNames(place.named)
  const hint =
    near.length > 0
      ? `Did you mean ${near.map(printable).join(' or ')}?`
      : `The working directory is ${context.cwd}.`
  throw new ToolRefusal(`${place.named} does not exist. ${hint}`)
}
