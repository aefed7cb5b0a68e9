/**
 * A call that cannot be done, thrown by `intend`. Its message is written for the model: what is wrong, with which
 * file, what to do.
 */
export class ToolRefusal extends Error {
  override readonly name = 'ToolRefusal'

  static is(value: unknown): value is ToolRefusal {
    return value instanceof Error && value.name === 'ToolRefusal'
  }
}
