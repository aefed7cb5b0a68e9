/** Where a search begins. */
import { type Place, placePath } from './confinement.ts'
import { nearNames } from './near-names.ts'
import { ToolRefusal } from './tool-refusal.ts'

/** The file or folder to search in; the working directory when none is named. Throws a {@link ToolRefusal}. */
export async function placeSearchRoot(path: string | undefined, cwd: string): Promise<Place> {
  const place = await placePath(path ?? '.', cwd)
  if (place.kind !== 'missing') return place
  const near = await nearNames(place.named)
  const hint = near.length > 0 ? `Did you mean ${near.join(' or ')}?` : `The working directory is ${cwd}.`
  throw new ToolRefusal(`${place.named} does not exist. ${hint}`)
}
