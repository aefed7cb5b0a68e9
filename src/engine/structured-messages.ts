/**
 * Messages that ask for something or answer a request.
 *
 *   S1  Only who may stop an agent may ask it to stop; one that has ended is asked nothing.
 *   S2  A request is answered once, by who has read it, to who asked: what stands open is a fold of its log.
 *   S3  Approving is agreeing to one's own end. It is refused while the agent has others at work: it brings them to their
 *       end first, or waits for them.
 *   S4  A plan is approved by who started the agent that plans, and gains nothing that its parent has not (law 6).
 *   S5  Each is sent once per key, over restarts, as any message is.
 */
import type { MessageMeaning } from '../definitions/message-meaning.ts'
import type { StructuredReceipt } from '../effects/tools/agents/agents-port.ts'
import type { StructuredMessage } from '../effects/tools/agents/structured-message.ts'
import type { AgentId } from '../machines/ids.ts'
import type { Agent } from './agent.ts'
import type { EngineCore } from './core.ts'
import type { Letter } from './deliver.ts'
import { deliver } from './deliver.ts'
import { planShownIn, planVerdict } from './plan-approval.ts'
import { reviveAgent } from './revive.ts'
import { isBelow, notBelow, statusOf } from './task-status.ts'

interface Sent<M> {
  readonly id: AgentId
  readonly message: M
  readonly key: string
}

type Of<T extends StructuredMessage['type']> = Extract<StructuredMessage, { type: T }>

const refused = (message: string): StructuredReceipt => ({ kind: 'refused', message })

/** Sends one. Rejects as {@link deliver} does. */
export async function sendStructured(
  core: EngineCore,
  caller: Agent,
  { id, message, key }: Sent<StructuredMessage>,
  signal: AbortSignal,
): Promise<StructuredReceipt> {
  switch (message.type) {
    case 'shutdown_request':
      return requestStop(core, caller, { id, message, key }, signal)
    case 'shutdown_response':
      return answerStop(core, caller, { id, message, key }, signal)
    case 'plan_approval_response':
      return answerPlan(core, caller, { id, message, key }, signal)
  }
}

async function requestStop(
  core: EngineCore,
  caller: Agent,
  { id, message, key }: Sent<Of<'shutdown_request'>>,
  signal: AbortSignal,
): Promise<StructuredReceipt> {
  return caller.session.inTurn(id, async () => {
    const recipient = await reviveAgent(core, caller.session, id)
    if (!isBelow(recipient, caller)) return refused(notBelow(id))
    if (recipient.prepared !== undefined && !recipient.mayUse('SendMessage'))
      return refused(`Agent ${id} has no SendMessage, so it could not answer. TaskStop stops it.`)
    const means: MessageMeaning = { kind: 'shutdown_request' }
    const letter: Letter = { text: message.reason ?? '', key, means, isForRunOnly: true }
    const receipt = await deliver(core, caller, id, letter, signal)
    if (receipt.kind === 'refused') return receipt
    const says = `It is asked to stop (request ${key}) and answers with a message; it may go on.`
    return { kind: 'sent', to: receipt.to, says }
  })
}

async function answerStop(
  core: EngineCore,
  caller: Agent,
  { id, message, key }: Sent<Of<'shutdown_response'>>,
  signal: AbortSignal,
): Promise<StructuredReceipt> {
  const { request_id: requestId, approve } = message
  const asker = caller.digest.stopRequests.get(requestId)
  if (asker === undefined) return refused(noSuchStop(caller, requestId))
  if (id !== asker)
    return refused(`Request ${requestId} is of agent ${asker}: send the answer to "${asker}".`)
  const busy = approve ? atWorkFor(caller) : []
  if (busy.length > 0)
    return refused(
      `You have agents at work (${busy.join(', ')}), so you cannot stop yet. Wait for them or end them with TaskStop, then answer again.`,
    )
  const given = message.reason?.trim() ?? ''
  const means: MessageMeaning = { kind: 'shutdown_response', requestId, approve }
  // Nobody begins another run to hear of an end that is told anyway.
  const letter: Letter = { text: given, key, means, isForRunOnly: approve }
  const { session } = caller
  const receipt = await session.inTurn(asker, () => deliver(core, caller, asker, letter, signal))
  if (receipt.kind === 'refused' && !approve) return receipt
  const to = receipt.kind === 'sent' ? receipt.to : statusOf(await reviveAgent(core, session, asker))
  return {
    kind: 'sent',
    to,
    says: approve ? 'You have agreed to stop: your run ends with this step.' : 'You go on.',
    answers: { requestId, approve, ...(given !== '' && { reason: given }) },
  }
}

function noSuchStop({ digest }: Agent, requestId: string): string {
  const open = [...digest.stopRequests.keys()]
  const which = open.length === 0 ? 'None is open.' : `Open: ${open.join(', ')}.`
  return `There is no request to stop with the id ${JSON.stringify(requestId)} that you have read and not answered. ${which}`
}

/** Runs in the background that the agent is owed and that have not ended. */
const atWorkFor = ({ digest, session }: Agent): readonly AgentId[] =>
  digest.owed.flatMap(({ agentId, run }) => {
    const live = session.live(agentId)
    return live?.isRunning === true && live.runNumber <= run ? [agentId] : []
  })

async function answerPlan(
  core: EngineCore,
  caller: Agent,
  { id, message, key }: Sent<Of<'plan_approval_response'>>,
  signal: AbortSignal,
): Promise<StructuredReceipt> {
  const { request_id: requestId, approve, feedback = '' } = message
  const { session } = caller
  return session.inTurn(id, async () => {
    const planner = await reviveAgent(core, session, id)
    // Answered before a crash: what was open then is not any more.
    if (!planner.digest.hasMessage(key)) {
      const shown = planShownIn(caller, planner, requestId)
      if (shown !== 'open') return refused(shown)
    }
    const verdict = planVerdict(core, caller, approve)
    if (typeof verdict === 'string') return refused(verdict)
    const means: MessageMeaning = { kind: 'plan_approval_response', requestId, ...verdict }
    const receipt = await deliver(
      core,
      caller,
      id,
      { text: feedback, key, means, isForRunOnly: true },
      signal,
    )
    if (receipt.kind === 'refused') return receipt
    const says = approve ? 'It carries its plan out.' : 'It goes on planning.'
    return { kind: 'sent', to: receipt.to, says }
  })
}
