/** Hooks of a scenario, and what must be true of all hooks at the end of a session: once each, and starts have stops. */
import type { HookInput } from '../../src/definitions/hooks/hook-input.ts'
import type { AnyHostHook } from '../../src/effects/hooks/hook.ts'
import type { Final, SeenLog } from './final.ts'
import type { HookEntry, Record } from './record.ts'
import type { ScenarioHook } from './scenario.ts'
import type { Life } from './tools.ts'

/** A hook of a scenario as one process has it. */
export const notedHook = ({ answer, ...hook }: ScenarioHook, life: Life, record: Record): AnyHostHook => ({
  ...hook,
  run: (input) => {
    record.note({ kind: 'hook', life: life.number, ...momentOf(input) })
    return answer?.(input)
  },
})

/** The moment that a hook is told of, by what no other moment of a session has. */
export function momentOf(input: HookInput): Omit<HookEntry, 'kind' | 'life'> {
  const { agent_id, tool_use_id, tool_input, stop_hook_active } = input as Readonly<{
    [key: string]: unknown
  }>
  return {
    event: input.hook_event_name,
    agentId: String(agent_id ?? 'root'),
    // A model may use an id twice.
    about:
      tool_use_id === undefined
        ? String(stop_hook_active ?? '')
        : `${tool_use_id} ${JSON.stringify(tool_input)}`,
  }
}

/** Whether a crash has taken what a hook had to say. */
export const hasLostHooks = ({ recorded }: SeenLog): boolean =>
  recorded.some(({ event }) => event.type === 'hook.ended' && event.outcome.kind === 'lost')

/** Law 3 and law 7: a hook runs at most once, is in the log before it does, has one end, and each start has its stop. */
export function hookProblems({ logs, entries }: Final): readonly string[] {
  const ran = entries.filter((entry) => entry.kind === 'hook')
  return [
    ...twice(ran).map((name) => `the hook ${name} ran twice`),
    ...logs.flatMap((log) => logProblems(log, ran)),
  ]
}

function twice(ran: readonly HookEntry[]): readonly string[] {
  const names = ran.map(({ event, agentId, about }) => `${event} ${agentId} ${about}`)
  return names.filter((name, i) => names.indexOf(name) < i)
}

function logProblems(
  { path, agentId, isRoot, recorded }: SeenLog,
  ran: readonly HookEntry[],
): readonly string[] {
  const problems: string[] = []
  const events = recorded.map(({ event }) => event)
  const started = events.filter((event) => event.type === 'hook.started')
  for (const { hook, moment } of started) {
    const ends = events.filter((event) => event.type === 'hook.ended' && event.hook === hook).length
    if (ends !== 1) problems.push(`${path}: the hook of ${moment} has ${ends} ends`)
  }
  const own = ran.filter((entry) => entry.agentId === (isRoot ? 'root' : agentId))
  for (const name of new Set(own.map(({ event }) => event))) {
    const logged = started.filter(({ event }) => event === name).length
    const times = own.filter(({ event }) => event === name).length
    if (times > logged)
      problems.push(`${path}: ${times} hooks of ${name} ran, and the log knows of ${logged}`)
  }
  return isRoot ? problems : [...problems, ...pairProblems(path, recorded)]
}

/** Where both hooks are there: one start in each run, and one stop for each time that the agent wanted to stop. */
function pairProblems(path: string, recorded: SeenLog['recorded']): readonly string[] {
  const problems: string[] = []
  let [run, starts, stops, blocks] = [0, 0, 0, 0]
  for (const { event } of recorded) {
    if (event.type === 'run.started') [run, starts, stops, blocks] = [event.run, 0, 0, 0]
    if (event.type === 'hook.started' && event.event === 'SubagentStart') starts += 1
    if (event.type === 'hook.started' && event.event === 'SubagentStop') stops += 1
    if (event.type === 'stop.blocked') blocks += 1
    if (event.type === 'agent.ended' && starts > 0 && (starts !== 1 || stops !== 1 + blocks))
      problems.push(`${path}: run ${run} has ${starts} starts, and ${stops} stops for ${blocks} blocks`)
  }
  return problems
}
