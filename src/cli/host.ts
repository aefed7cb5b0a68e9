/**
 * The world of the command line, as one interface: `main.ts` gives the real one, tests one driven by hand.
 */
import { join, resolve } from 'node:path'
import type { Clock } from '../effects/clock.ts'
import type { Ids } from '../effects/ids.ts'
import type { Model } from '../effects/model/model.ts'
import type { ProjectOptions } from '../effects/project/open-project.ts'
import type { Project } from '../effects/project/project.ts'
import type { Worktrees } from '../effects/worktrees/worktrees.ts'
import type { Engine, EngineOptions } from '../engine/api.ts'
import type { SessionReader } from './session-reader.ts'

/** Where text goes: standard output or standard error. */
export interface Output {
  readonly isTTY: boolean
  /** Width and height of the terminal in characters; undefined when it has none. */
  readonly columns: number | undefined
  readonly rows: number | undefined
  write(text: string): void
}

/** Standard input. Iterated at most once. */
interface Input extends AsyncIterable<string | Uint8Array> {
  readonly isTTY: boolean
  /**
   * Lets every key through at once and as it is (true), or leaves lines to the terminal again (false). Returns whether
   * keys come through now: while the process is in the background nothing is set. Absent: there is no terminal.
   */
  setRaw?(isRaw: boolean): boolean
}

/** What asks the program to stop. `SIGPIPE` stands for a reader of standard output that went away. */
export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'SIGPIPE'

/** 128 + the number of the signal, as shells report it. */
export const EXIT_CODE_OF: Readonly<Record<StopSignal, number>> = {
  SIGHUP: 129,
  SIGINT: 130,
  SIGPIPE: 141,
  SIGTERM: 143,
}

export interface Host {
  /** Arguments after the program's name. */
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly stdin: Input
  readonly stdout: Output
  readonly stderr: Output
  readonly clock: Clock
  readonly ids: Ids
  readonly version: string
  /** `~`: where `.troupe` is when `TROUPE_HOME` does not say otherwise. */
  readonly userHome: string
  /** Calls `listener` for each signal until it is taken off. While nobody listens a signal ends the process. */
  onStopSignal(listener: (signal: StopSignal) => void): () => void
  /** Stops the process as Ctrl-Z does; returns when it goes on. */
  stopProcess(): void
  /** Calls `listener` each time the process goes on after a stop, until it is taken off. */
  onContinued(listener: () => void): () => void
  /** Ends the process without waiting for anything. */
  exitNow(code: number): void
  createEngine(options: EngineOptions): Engine | Promise<Engine>
  anthropicModel(): Promise<Model>
  /** `paceMs`: milliseconds between the deltas of a reply. */
  offlineModel(options: { readonly paceMs?: number }): Promise<Model>
  /** What the person and the project bring along. */
  openProject(options: ProjectOptions): Promise<Project>
  /** Names of the tools and of the kinds of agents that an engine has when no others are given. */
  builtIns(): Promise<{ readonly tools: readonly string[]; readonly agents: readonly string[] }>
  /** The worktrees of agents. */
  worktrees(): Promise<Worktrees>
  /** The sessions below `home` that belong to the working directory. */
  sessions(home: string): Promise<SessionReader>
}

/** The folder of everything that is written. */
export const homeOf = ({ env, cwd, userHome }: Pick<Host, 'env' | 'cwd' | 'userHome'>): string =>
  resolve(cwd, env['TROUPE_HOME'] || join(userHome, '.troupe'))
