/**
 * Hooks in the life of agents: run at their moments, recorded, and never twice.
 *
 *   H1  A hook that is about to run is in its agent's log before it runs, and what came of it is before it counts.
 *   H2  At most once: at a moment whose hooks were started before a crash, the log answers; what it does not know is
 *       lost, which is no decision, and *ask* where a permission is decided.
 *   H3  Hooks of a definition see the events of their agent only, and are gone with it.
 *   H4  Without hooks a moment costs next to nothing.
 */
import { envelope } from '../../definitions/context/envelope.ts'
import type { HookEvent } from '../../definitions/hook-declaration.ts'
import type { HookContribution, HookDecision, HookText } from '../../definitions/hooks/combine.ts'
import { combine } from '../../definitions/hooks/combine.ts'
import { type HookFacts, type HookInput, hookInput } from '../../definitions/hooks/hook-input.ts'
import type { HookOutcome } from '../../definitions/hooks/hook-outcome.ts'
import type { HookSource, ScopedHook } from '../../definitions/hooks/scoped-hook.ts'
import { checkHooks, hooksForAgent } from '../../definitions/hooks/scoped-hook.ts'
import { createHooks, type Hooks, lostOutcome } from '../../effects/hooks/create-hooks.ts'
import type { AnyHostHook } from '../../effects/hooks/hook.ts'
import type { AgentEventOf, EventDraft } from '../../machines/agent/events.ts'
import type { AgentId, CallId } from '../../machines/ids.ts'
import type { Agent } from '../agent.ts'
import type { EngineCore } from '../core.ts'
import { Suspended } from '../effects/suspended.ts'
import type { RecordedHook } from '../hook-ledger.ts'

/** What every hook is told anyway. */
type Common = 'session_id' | 'transcript_path' | 'cwd' | 'permission_mode' | 'agent_id' | 'agent_type'

/** When hooks run, and what they are told. */
export interface HookMoment<E extends HookEvent> {
  readonly event: E
  /** Tells it from other moments of the same event in this run: a call, a count. */
  readonly which?: string
  readonly facts: Omit<HookFacts<E>, Common>
}

/** What an engine is given of hooks. */
export interface EngineHooksOptions {
  /** Of the person, the project and plugins. */
  readonly declared: () => readonly ScopedHook[]
  readonly functions: readonly AnyHostHook[]
}

export class EngineHooks {
  readonly #core: EngineCore
  readonly #options: EngineHooksOptions
  readonly #hooks: Hooks
  /** Of the definitions of live agents. */
  readonly #ofAgents = new Map<AgentId, readonly ScopedHook[]>()
  /** Marks of hooks whose end this process writes down itself. */
  readonly #running = new Set<string>()

  constructor(core: EngineCore, options: EngineHooksOptions) {
    this.#core = core
    this.#options = options
    this.#hooks = createHooks({
      declarations: () => [...options.declared(), ...[...this.#ofAgents.values()].flat()],
      functions: options.functions,
      clock: core.clock,
      env: { ...process.env, ...core.env },
      withheldEnv: core.withheldEnv,
      projectDir: core.cwd,
    })
  }

  /** Takes the hooks of an agent's definition into force. */
  #register(agent: Agent): void {
    const { definition } = agent
    if (definition?.hooks === undefined || this.#ofAgents.has(agent.id)) return
    const hooks = hooksForAgent(definition.hooks, agent.id, sourceOf(agent))
    for (const { code, message } of checkHooks(hooks)) this.#core.diagnose(code, message)
    this.#ofAgents.set(agent.id, hooks)
  }

  /** Takes them out of force. */
  unregister(agentId: AgentId): void {
    this.#ofAgents.delete(agentId)
  }

  /** Whether any hook runs at a moment. */
  has<E extends HookEvent>(agent: Agent, moment: HookMoment<E>): boolean {
    this.#register(agent)
    return !this.#isIdle && this.#hooks.has(inputOf(agent, moment), agent.id)
  }

  /** What the hooks of a moment come to; undefined when there are none. */
  async decide<E extends HookEvent>(
    agent: Agent,
    moment: HookMoment<E>,
    signal: () => AbortSignal,
  ): Promise<HookDecision | undefined> {
    const key = keyOf(moment)
    const recorded = agent.digest.hooks.get(key)
    // Here and not with its first run only: an agent that is read back must not lose its guards.
    this.#register(agent)
    if (recorded === undefined) {
      if (this.#isIdle) return undefined
      const input = inputOf(agent, moment)
      if (!this.#hooks.has(input, agent.id)) return undefined
      return this.#tell(combine(moment.event, await this.#run(agent, key, input, signal())))
    }
    await this.#closeLost(agent, recorded)
    const contributions = agent.digest.hooks.get(key) ?? []
    return combine(
      moment.event,
      contributions.map(({ place, label, outcome }) => ({
        place,
        label,
        // Checked by the log's schema, which is the same but for optional fields that JSON cannot hold as undefined.
        outcome: (outcome ?? lost()) as HookOutcome,
      })),
    )
  }

  /** Gives an end to the hooks, of a call or of the whole run, that a crash has taken it from and nobody waits for. */
  async close(agent: Agent, callId?: CallId): Promise<void> {
    for (const [moment, recorded] of agent.digest.hooks)
      if (callId === undefined || moment.endsWith(` ${callId}`)) await this.#closeLost(agent, recorded)
  }

  async #closeLost(agent: Agent, recorded: readonly RecordedHook[]): Promise<void> {
    for (const { hook, outcome } of recorded) {
      if (outcome !== undefined || this.#running.has(`${agent.id}/${hook}`)) continue
      await take(agent, { type: 'hook.ended', hook, durationMs: 0, outcome: lost() })
    }
  }

  /** Runs the hooks of the end of a session: its logs take nothing any more. */
  async sessionEnds(agent: Agent): Promise<void> {
    if (this.#isIdle) return
    const input = inputOf(agent, { event: 'SessionEnd', facts: { reason: 'other' } })
    const mark = `${agent.session.id}/hook:end`
    const { signal } = new AbortController()
    const runs = await this.#hooks.run(input, { agentId: agent.id, signal, cwd: agent.cwd, mark })
    this.#tell(combine('SessionEnd', runs))
  }

  get #isIdle(): boolean {
    const { declared, functions } = this.#options
    return this.#ofAgents.size === 0 && functions.length === 0 && declared().length === 0
  }

  async #run(
    agent: Agent,
    moment: string,
    input: HookInput,
    signal: AbortSignal,
  ): Promise<readonly HookContribution[]> {
    const { mask } = this.#core
    const name = agent.nextHook()
    const nameOf = (mark: string): string => mark.slice(agent.id.length + 1)
    const runs = await this.#hooks.run(input, {
      agentId: agent.id,
      signal,
      cwd: agent.cwd,
      mark: `${agent.id}/${name}`,
      onStarted: ({ mark, place, event, label, command }) => {
        this.#running.add(mark)
        return take(agent, {
          type: 'hook.started',
          hook: nameOf(mark),
          moment,
          event,
          place,
          label,
          ...(command !== undefined && { command }),
        })
      },
      onProcess: ({ mark }, { pid, startTime }) => {
        agent
          .post({
            type: 'hook.process_started',
            hook: nameOf(mark),
            pid,
            ...(startTime !== undefined && { startTime }),
          })
          // The log is gone: its agent has been halted with a better error. The mark finds the process all the same.
          .catch(() => {})
      },
      onEnded: async ({ mark, durationMs, outcome }) => {
        this.#running.delete(mark)
        await take(agent, {
          type: 'hook.ended',
          hook: nameOf(mark),
          durationMs: Math.round(durationMs),
          outcome: logged(mask.plain(outcome)),
        })
      },
    })
    return runs.map((run) => ({ ...run, outcome: mask.plain(run.outcome) }))
  }

  /** Says what is not honoured of what hooks said. */
  #tell(decision: HookDecision): HookDecision {
    for (const { code, message } of [...decision.faults, ...decision.problems]) {
      this.#core.diagnose(code, message)
    }
    for (const { hook, text } of decision.notices) this.#core.diagnose('hook-notice', `${hook}: ${text}`)
    return decision
  }
}

/** Texts of hooks as messages of the conversation. */
export function hookMessages(texts: readonly HookText[]): readonly AgentEventOf<'message.added'>[] {
  return texts.map(({ hook, text }) => ({
    type: 'message.added',
    about: 'hook',
    content: hookEnvelope({ hook, text }),
    origin: { from: 'hook', hook },
  }))
}

/** A text of a hook, marked as one. */
export const hookEnvelope = ({ hook, text }: HookText): string =>
  envelope('hook-output', text, { attributes: { hook } })

/** Why, in one line for a model. */
export const reasonsOf = (texts: readonly HookText[]): string =>
  texts.length === 0 ? 'it gave no reason' : texts.map(({ hook, text }) => `${hook}: ${text}`).join('; ')

const keyOf = ({ event, which }: { readonly event: HookEvent; readonly which?: string }): string =>
  which === undefined ? event : `${event} ${which}`

function inputOf<E extends HookEvent>(agent: Agent, { event, facts }: HookMoment<E>): HookInput {
  const isChild = agent.parent !== undefined
  const common = {
    session_id: agent.session.id,
    transcript_path: agent.session.paths.rootLog,
    cwd: agent.cwd,
    permission_mode: agent.mode,
    ...(isChild && { agent_id: agent.id, agent_type: agent.birth.plan.agentType }),
  }
  // Facts and common fields together are all facts of the event; `HookMoment` says which are which.
  return hookInput(event, { ...common, ...facts } as unknown as HookFacts<E>)
}

function sourceOf({ definition }: Agent): HookSource {
  if (definition?.plugin !== undefined && definition.baseDir !== undefined)
    return { kind: 'plugin', name: definition.plugin, root: definition.baseDir }
  if (definition?.filename !== undefined) return { kind: 'file', path: definition.filename }
  return { kind: 'host', name: `definition ${definition?.agentType ?? ''}` }
}

/** Outcomes are plain data; the log's schema, which keeps unknown fields, does not say so. */
const logged = (outcome: HookOutcome) => structuredClone(outcome) as AgentEventOf<'hook.ended'>['outcome']

const lost = () => logged(lostOutcome())

async function take(agent: Agent, event: EventDraft): Promise<void> {
  if ((await agent.post(event)) === 'late') throw new Suspended(`${event.type} came too late`)
}
