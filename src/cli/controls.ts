/** What the keys of the terminal do while agents work. */
import type { Engine } from '../engine/api.ts'
import { foregroundChildren, rootsAtWork } from './at-work.ts'
import { counted } from './format.ts'
import type { Host } from './host.ts'
import type { Key } from './keys.ts'
import type { Progress } from './progress.ts'
import type { Stop } from './stop.ts'
import type { TerminalAsker } from './terminal-asker.ts'

/** What is told of them while somebody is waited for. */
export const KEYS_HINT = 'ctrl+b to the background · esc stop · ctrl+c leave'

/** 128 + the number of SIGQUIT. */
const QUIT = 131

export interface ControlsOptions {
  readonly engine: Pick<Engine, 'agents' | 'background' | 'backgroundCalls'>
  readonly host: Pick<Host, 'stopProcess' | 'exitNow'>
  readonly progress: Pick<Progress, 'line' | 'pause' | 'go'>
  readonly stop: Pick<Stop, 'hear' | 'interrupt'>
  readonly asker: Pick<TerminalAsker, 'letGo' | 'listen'>
}

/** Does what a key is for. */
export function pressKey(key: Key, { engine, host, progress, stop, asker }: ControlsOptions): void {
  switch (key) {
    case 'ctrl-b':
      void toBackground(engine, progress)
      break
    case 'escape':
      stop.interrupt()
      break
    case 'ctrl-c':
      stop.hear('SIGINT')
      break
    case 'ctrl-z':
      progress.pause()
      asker.letGo()
      host.stopProcess()
      asker.listen()
      progress.go()
      break
    case 'ctrl-backslash':
      host.exitNow(QUIT)
  }
}

/** All of them, and its own commands: the main agent has the word again only when it waits for nothing. */
async function toBackground(
  engine: ControlsOptions['engine'],
  progress: Pick<Progress, 'line'>,
): Promise<void> {
  const [moved, shells] = await Promise.all([
    Promise.all(
      foregroundChildren(engine.agents).map(({ agentId }) => engine.background(agentId).catch(() => false)),
    ),
    Promise.all(
      rootsAtWork(engine.agents).map(({ agentId }) => engine.backgroundCalls(agentId).catch(() => [])),
    ),
  ])
  const agents = moved.filter(Boolean).length
  const commands = shells.flat().length
  const what = [
    ...(agents === 0 ? [] : [counted(agents, 'agent')]),
    ...(commands === 0 ? [] : [counted(commands, 'command')]),
  ].join(' and ')
  progress.line(
    what === ''
      ? 'troupe: there is no agent and no command that the main agent waits for'
      : `troupe: ${what} ${agents + commands === 1 ? 'is' : 'are'} in the background now`,
  )
}
