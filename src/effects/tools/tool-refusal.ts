/**
 * A call that cannot be done, thrown by `intend`. Its message is written for the model: what is wrong, with which
 * file, what to do.
 */
export class ToolRefusal extends Error {
  override readonly name = 'ToolRefusal'
  /** What the call comes to. Anything but an error is for tools that only tell what another has decided. */
  readonly outcome: 'error' | 'denied' | 'interrupted'

  constructor(message: string, options: ErrorOptions & { readonly outcome?: ToolRefusal['outcome'] } = {}) {
    super(message, options)
    this.outcome = options.outcome ?? 'error'
  }

  static is(value: unknown): value is ToolRefusal {
    return value instanceof Error && value.name === 'ToolRefusal'
  }
}
