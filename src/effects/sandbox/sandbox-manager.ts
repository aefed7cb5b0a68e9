/** What is used of `@anthropic-ai/sandbox-runtime`, and how it is loaded: it is optional, and nothing starts without it. */
import { messageOf } from '../../definitions/message-of.ts'
import { SandboxError } from './sandbox-error.ts'

/** Where commands may connect to. */
export interface SandboxNetwork {
  readonly allowedDomains: readonly string[]
  readonly deniedDomains: readonly string[]
}

/** What one command may write and read. Absolute paths. */
export interface SandboxFiles {
  readonly allowWrite: readonly string[]
  /** Stronger than `allowWrite`. Also paths that do not exist: they cannot be made. */
  readonly denyWrite: readonly string[]
  readonly denyRead: readonly string[]
}

/** The part of the package's manager that is used. There is one of it in a process. */
export interface SandboxManager {
  isSupportedPlatform(): boolean
  /** `errors`: it cannot run. `warnings`: it protects less. */
  checkDependencies(ripgrep: { command: string }): { readonly errors: string[]; readonly warnings: string[] }
  /** Starts the proxy through which all commands connect. Does nothing when it has been started. */
  initialize(config: ManagerConfig): Promise<void>
  /** The command line that runs `command` inside. Each must be followed by one `cleanupAfterCommand` in the end. */
  wrapWithSandbox(
    command: string,
    shell: string,
    config: Pick<ManagerConfig, 'filesystem'>,
    signal: AbortSignal,
    options: { commandId: string },
  ): Promise<string>
  /** The text with what the proxy has refused to the command. */
  annotateStderrWithSandboxFailures(commandId: string, text: string): string
  /** Takes away the empty folders that stood for paths that must not be made, once no command runs. */
  cleanupAfterCommand(): void
  /** Undefined while it is not started. */
  getProxyPort(): number | undefined
  /** Ends the proxy. The configuration stays, and `checkDependencies` goes by it. */
  reset(): Promise<void>
  updateConfig(config: ManagerConfig): void
}

/** As the package writes it: with arrays that it does not change. */
interface ManagerConfig {
  network: { allowedDomains: string[]; deniedDomains: string[] }
  filesystem: { allowWrite: string[]; denyWrite: string[]; denyRead: string[] }
  ripgrep: { command: string }
  socatPath?: string
}

/** The package's manager. Rejects with a {@link SandboxError} where it is not installed, or is not what is known. */
export async function loadSandboxManager(
  load: () => Promise<{ readonly SandboxManager: SandboxManager }> = () =>
    import('@anthropic-ai/sandbox-runtime'),
): Promise<SandboxManager> {
  let SandboxManager: SandboxManager
  try {
    SandboxManager = (await load()).SandboxManager
  } catch (cause) {
    const isMissing =
      cause instanceof Error && 'code' in cause && String(cause.code).endsWith('MODULE_NOT_FOUND')
    throw isMissing
      ? new SandboxError(
          'sandbox-missing',
          'the package @anthropic-ai/sandbox-runtime is not installed; install it with: npm install @anthropic-ai/sandbox-runtime',
          cause,
        )
      : new SandboxError(
          'sandbox-unsupported',
          `the package @anthropic-ai/sandbox-runtime cannot be loaded: ${messageOf(cause)}`,
          cause,
        )
  }
  const unknown = METHODS.filter((name) => typeof SandboxManager?.[name] !== 'function')
  if (unknown.length > 0)
    throw new SandboxError(
      'sandbox-unsupported',
      `this version of @anthropic-ai/sandbox-runtime has no ${unknown.join(', ')}; install one that is known to work: npm install @anthropic-ai/sandbox-runtime@0.0.78`,
    )
  return SandboxManager
}

const METHODS: readonly (keyof SandboxManager)[] = [
  ...(['isSupportedPlatform', 'checkDependencies', 'initialize', 'wrapWithSandbox'] as const),
  ...([
    'annotateStderrWithSandboxFailures',
    'cleanupAfterCommand',
    'getProxyPort',
    'reset',
    'updateConfig',
  ] as const),
]
