/** What becomes of agents in the background when the person leaves. */
import { filter, firstValueFrom } from 'rxjs'
import type { Engine } from '../engine/api.ts'
import { agentsAre, backgroundAtWork } from './at-work.ts'
import type { Dialogue } from './dialogue.ts'
import { oneLine } from './format.ts'
import type { TerminalAsker } from './terminal-asker.ts'

/** `wait`: until they are done. `suspend`: a resume goes on with them. `kill`: they are ended. */
export type Leaving = 'wait' | 'suspend' | 'kill'

const MEANING: Readonly<Record<string, Leaving>> = {
  w: 'wait',
  wait: 'wait',
  s: 'suspend',
  suspend: 'suspend',
  '': 'suspend',
  k: 'kill',
  kill: 'kill',
}

/** Names that are shown; more are counted. */
const MAX_NAMES = 8

/** Asks. Undefined when none of them is at work any more, or nobody can be asked. */
export function askHowToLeave(
  engine: Pick<Engine, 'agents'>,
  asker: Pick<TerminalAsker, 'askFirst'>,
): Promise<Leaving | undefined> {
  return asker.askFirst({
    isWaiting: () => backgroundAtWork(engine.agents).length > 0,
    ask: (dialogue, signal) => ask(engine, dialogue, signal),
  })
}

async function ask(
  { agents }: Pick<Engine, 'agents'>,
  { colours, ...dialogue }: Dialogue,
  signal: AbortSignal,
): Promise<Leaving | undefined> {
  const working = backgroundAtWork(agents)
  await dialogue.hush(signal)
  dialogue.write(
    `${colours.yellow('?')} ${colours.bold(`${agentsAre(working.length)} at work in the background`)}\n`,
  )
  const names = working.map((agent) => `${oneLine(agent.agentType, 40)} (${oneLine(agent.description, 60)})`)
  dialogue.quote(names.slice(0, MAX_NAMES))
  if (names.length > MAX_NAMES) dialogue.quote([`… and ${names.length - MAX_NAMES} more`])
  for (;;) {
    const line = await dialogue.prompt(
      '  w wait for them · s suspend, to go on with troupe -r (Enter) · k end them',
      signal,
    )
    if (line === undefined) return undefined
    const meant = MEANING[line.trim().toLowerCase()]
    if (meant !== undefined) return meant
    dialogue.write(colours.dim('  that is none of the answers\n'))
  }
}

/** Resolves when no agent is at work in the background. */
export async function backgroundDone({ tasks$ }: Pick<Engine, 'tasks$'>): Promise<void> {
  await firstValueFrom(tasks$.pipe(filter((tasks) => backgroundAtWork(tasks).length === 0)), {
    defaultValue: [],
  })
}
