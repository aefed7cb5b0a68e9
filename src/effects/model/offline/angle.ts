/** The sides from which a question is looked at: one child each. */

export type Angle = 'definitions' | 'usages' | 'docs-and-tests'

export const ANGLES: readonly Angle[] = ['definitions', 'usages', 'docs-and-tests']

/** As people read it. */
export const angleTitle: Readonly<Record<Angle, string>> = {
  definitions: 'names and definitions',
  usages: 'usages',
  'docs-and-tests': 'docs and tests',
}

/** The angle that a text names, in either spelling. */
export const angleNamed = (text: string): Angle | undefined =>
  ANGLES.find((angle) => angle === text.trim() || angleTitle[angle] === text.trim())
