/** Why commands cannot be run in the sandbox that somebody wants. They are not run without it. */

export type SandboxErrorCode =
  /** `@anthropic-ai/sandbox-runtime` is not installed. */
  | 'sandbox-missing'
  /** The system, or something that the package needs, is not there. */
  | 'sandbox-unsupported'
  /** Another engine of this process, or the host, uses the one that there is with another network. */
  | 'sandbox-taken'
  /** A settings file wants one and cannot be read. */
  | 'sandbox-unreadable'

/** No command can be run. */
export class SandboxError extends Error {
  override readonly name = 'SandboxError'
  readonly code: SandboxErrorCode

  constructor(code: SandboxErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
  }

  static is(value: unknown): value is SandboxError {
    return value instanceof Error && value.name === 'SandboxError'
  }
}
