/** What a reply of the planner is made of, before it has ids. */

/** A call of a tool. */
export interface Call {
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
}

/** Text, calls, or both. A step without calls ends the run. Never both empty. */
export interface Step {
  readonly text: string
  readonly calls: readonly Call[]
}

export const say = (text: string): Step => ({ text, calls: [] })
