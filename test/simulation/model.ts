/**
 * A model that plays the plan: what it says is a pure function of the request, so that a request which is made again
 * after a crash gets the same answer. How the answer comes, and whether it comes, is the plan's and the seed's.
 */
import { Observable, type Subscriber } from 'rxjs'
import type { Model, ModelDelta, ModelRequest } from '../../src/effects/model/model.ts'
import { ModelError } from '../../src/effects/model/model.ts'
import { buildReply, call, emitReply } from '../../src/effects/model/scripted-reply.ts'
import type { ContentBlock, Reply } from '../../src/machines/agent/messages.ts'
import { chanceFrom } from './chance.ts'
import type { CallPlan, ModelFault, Plan, TurnPlan } from './plan.ts'
import { agentNamed, NAMES } from './plan.ts'
import type { Life, World } from './world.ts'

/** A request, and whose it is. */
export interface SeenRequest {
  readonly life: Life
  readonly agent: string
  readonly turn: number
  readonly request: ModelRequest
  /** What it asks for is a summary of the conversation. */
  readonly isSummary: boolean
}

export interface SimulatedModel {
  modelFor(life: Life, onRequest: (seen: SeenRequest) => void): Model
  /** Requests whose stream is open in a process. */
  open(life: Life): readonly SeenRequest[]
}

/** A prompt that tells the model whose conversation it is in. */
export const promptFor = (agent: string): string => `¶${agent}¶ do your part`

const LAST_TURN: TurnPlan = { text: 'plain', thinking: false, calls: [], attempts: [], pace: 'whole' }

export function createSimulatedModel(world: World, plan: Plan): SimulatedModel {
  /** Attempts so far, by agent and turn: the first ones fail as planned. */
  const attempts = new Map<string, number>()
  const open = new Set<SeenRequest>()

  const stream = (
    life: Life,
    request: ModelRequest,
    signal: AbortSignal,
    subscriber: Subscriber<ModelDelta>,
    onRequest: (seen: SeenRequest) => void,
  ): (() => void) => {
    if (request.toolChoice !== undefined) return judge(world, plan, life, request, signal, subscriber)
    const { agent, turn } = whereIn(request)
    const isSummary = request.source === 'compact'
    const planned = isSummary
      ? summaryTurn(plan, agent, turn)
      : (agentNamed(plan, agent)?.turns[turn] ?? LAST_TURN)
    // Who is sent back to work must be seen to have said its last word before.
    const said = plan.hooks === true ? { ...planned, text: 'plain' as const } : planned
    const key = `${agent}.${turn}${isSummary ? '.summary' : ''}`
    const attempt = attempts.get(key) ?? 0
    attempts.set(key, attempt + 1)
    const entry = { life, agent, turn, request, isSummary }
    onRequest(entry)
    const fault = planned.attempts[attempt]
    open.add(entry)
    let cancel: () => void = () => {}
    const close = (): void => {
      cancel()
      open.delete(entry)
    }
    signal.addEventListener('abort', close, { once: true })
    const later = (what: string, run: () => void): void => {
      cancel = world.later(`${what} of ${key}`, life, run)
    }
    if (fault !== undefined) fail(fault, request, later, subscriber)
    else {
      const reply = isSummary
        ? buildReply(planned.text === 'plain' ? storyOf(agent, turn) : ' \n ', request)
        : replyTo(plan, said, agent, turn, request)
      answer(planned, plan.window === undefined ? reply : filling(plan, key, reply), later, subscriber)
    }
    return close
  }

  return {
    modelFor: (life, onRequest) => ({
      provider: 'simulated',
      stream: (request, signal) =>
        new Observable((subscriber) => {
          if (!life.isAlive) return
          return stream(life, request, signal, subscriber, onRequest)
        }),
    }),
    open: (life) => [...open].filter((each) => each.life === life),
  }
}

/** How a summary comes, if one does: `blank` is what nobody can go on with. */
function summaryTurn({ seed }: Plan, agent: string, turn: number): TurnPlan {
  const chance = chanceFrom(seed, `summary ${agent}.${turn}`)
  const attempts = chance.weigh<string>({
    none: 6,
    overloaded: 1,
    cut: 1,
    silent: 0.5,
    'invalid-request': 0.7,
  })
  return {
    ...LAST_TURN,
    text: chance.happens(0.1) ? 'blank' : 'plain',
    attempts: attempts === 'none' ? [] : [attempts as ModelFault],
    // Long enough that much can come in between.
    pace: chance.weigh({ 'at-once': 1, deltas: 4 }),
  }
}

/** What stands in for a conversation: whose it is, and how many replies it has had. */
export const storyOf = (agent: string, turn: number): string => `The story of ¶${agent}¶ up to turn ${turn}.`

/** The reply with what the server says that the request has had: how full the window is. */
function filling({ seed, window = 0 }: Plan, key: string, reply: Reply): Reply {
  const share = chanceFrom(seed, `tokens ${key}`).pick([0.1, 0.95, 0.95])
  return { ...reply, usage: { ...reply.usage, input_tokens: Math.floor(share * window) } }
}

/** The classifier: its verdict is a pure function of the question, and sometimes there is none. */
function judge(
  world: World,
  { seed }: Plan,
  life: Life,
  request: ModelRequest,
  signal: AbortSignal,
  subscriber: Subscriber<ModelDelta>,
): () => void {
  const question = request.messages
    .map(({ content }) => (typeof content === 'string' ? content : ''))
    .join('\n')
  const says = chanceFrom(seed, question).weigh({
    allow: 6,
    flag: 2,
    block: 2,
    nonsense: 1,
    down: 1,
    silent: 1,
  })
  if (says === 'silent') return () => {}
  const cancel = world.later(`verdict ${says}`, life, () => {
    if (says === 'down') subscriber.error(new ModelError('server', 'simulated outage', { retryable: false }))
    else if (says === 'nonsense') emitReply(subscriber, buildReply('who knows', request))
    else emitReply(subscriber, buildReply(call('verdict', { verdict: says, reason: 'a mood' }), request))
  })
  signal.addEventListener('abort', cancel, { once: true })
  return cancel
}

type Later = (what: string, run: () => void) => void

function answer(planned: TurnPlan, reply: Reply, later: Later, subscriber: Subscriber<ModelDelta>): void {
  switch (planned.pace) {
    case 'at-once':
      emitReply(subscriber, reply)
      break
    case 'whole':
      later('reply', () => emitReply(subscriber, reply))
      break
    case 'deltas':
      later('first delta', () => {
        subscriber.next({ type: 'heartbeat' })
        later('reply', () => emitReply(subscriber, reply, 3))
      })
      break
  }
}

function fail(
  fault: ModelFault,
  request: ModelRequest,
  later: Later,
  subscriber: Subscriber<ModelDelta>,
): void {
  const error = (code: ModelError['code'], retryable: boolean, status?: number): void =>
    later(fault, () => subscriber.error(new ModelError(code, `simulated ${fault}`, { retryable, status })))
  switch (fault) {
    case 'overloaded':
      error('overloaded', true, 529)
      break
    case 'server':
      error('server', true, 500)
      break
    case 'invalid-request':
      error('invalid-request', false, 400)
      break
    case 'cut':
      later('first delta', () => {
        subscriber.next({ type: 'block_started', index: 0, block: { type: 'text', text: '' } })
        subscriber.next({ type: 'text', index: 0, text: `never heard ${request.model}` })
        error('stream-cut', true)
      })
      break
    case 'stalled':
      later('first delta', () =>
        subscriber.next({ type: 'block_started', index: 0, block: { type: 'text', text: '' } }),
      )
      break
    case 'silent':
      return
    case 'no-message':
      later(fault, () => subscriber.complete())
      break
    case 'throws':
      throw new TypeError('the model is broken')
  }
}

/** A prompt, as it is or in the directive of a fork: what stands before that is its parent's. */
const PROMPT = /^(?:<fork_directive>.*\nDirective:\n)?¶([^¶]+)¶/s

/** Whose conversation a request is, and which turn of it is asked for. */
export function whereIn(request: Pick<ModelRequest, 'messages'>): {
  readonly agent: string
  readonly turn: number
} {
  let agent = 'nobody'
  let told: { readonly agent: string; readonly turn: number } | undefined
  for (const { role, content } of request.messages) {
    if (role !== 'user') continue
    const texts =
      typeof content === 'string' ? [content] : content.map((block) => String(block['text'] ?? ''))
    for (const text of texts) {
      const [, whose, upTo] = /The story of ¶([^¶]+)¶ up to turn (\d+)\./.exec(text) ?? []
      if (whose !== undefined) told = { agent: whose, turn: Number(upTo) }
      agent = PROMPT.exec(text)?.[1] ?? whose ?? agent
    }
  }
  const said = JSON.stringify(request.messages.filter(({ role }) => role === 'assistant'))
  let turn = told?.agent === agent ? told.turn : 0
  for (const [, whose, number] of said.matchAll(/§([^§.]+)\.(\d+)/g)) {
    if (whose === agent) turn = Math.max(turn, Number(number) + 1)
  }
  return { agent, turn }
}

/** Texts that are in a conversation beside what its agent says: what it is told, and results. */
const heardIn = ({ messages }: ModelRequest): string =>
  messages
    .filter(({ role }) => role === 'user')
    .map(({ content }) => JSON.stringify(content))
    .join('\n')

/** The agent in the background that a conversation knows as this one, counted around from the last. */
function launchedIn(request: ModelRequest, which: number): string {
  const ids = [...heardIn(request).matchAll(/works in the background\. agentId: (a[0-9a-f]{16})/g)]
  return ids.at(-1 - (which % Math.max(1, ids.length)))?.[1] ?? 'nobody'
}

/** The command that a conversation knows was moved, counted around from the last. */
function movedIn(request: ModelRequest, which: number): string {
  const ids = [...heardIn(request).matchAll(/runs on as (bash_[\d.]+),/g)]
  return ids.at(-1 - (which % Math.max(1, ids.length)))?.[1] ?? 'none'
}

/** The last request to stop that was read. An answer may be refused, or come too late: it is given twice. */
function toAnswer(request: ModelRequest): string | undefined {
  const id = [...heardIn(request).matchAll(/kind=\\"shutdown-request\\" request-id=\\"([^"\\]+)/g)].at(
    -1,
  )?.[1]
  const said = JSON.stringify(request.messages.filter(({ role }) => role === 'assistant'))
  return id !== undefined && said.split(`"request_id":${JSON.stringify(id)}`).length <= 2 ? id : undefined
}

/** Agrees to stop, or does not, as the seed has it for that turn. */
function answerFor({ seed }: Plan, requestId: string, agent: string, turn: number): ContentBlock {
  const chance = chanceFrom(seed, `answer ${agent}.${turn}`)
  const approve = chance.happens(0.6)
  const reason = chance.happens(0.5) ? { reason: 'as it must be' } : {}
  return {
    type: 'tool_use',
    id: `toolu_${agent}_${turn}_answer`,
    name: 'SendMessage',
    input: {
      to: requestId.split(':')[0],
      summary: `§${agent}.${turn}.answer`,
      message: { type: 'shutdown_response', request_id: requestId, approve, ...reason },
    },
  }
}

/** The plans that were read and have no answer, or one: that may have been refused, and is given once more. */
function plansToAnswer(request: ModelRequest): readonly string[] {
  const shown = [...heardIn(request).matchAll(/kind=\\"plan-approval-request\\" request-id=\\"([^"\\]+)/g)]
  const said = JSON.stringify(request.messages.filter(({ role }) => role === 'assistant'))
  return [...new Set(shown.flatMap(([, id]) => id ?? []))].filter(
    (id) => said.split(`"request_id":${JSON.stringify(id)}`).length <= 2,
  )
}

/** Approves a plan, or does not, as the seed has it for that turn. */
function wordOnPlan(
  { seed }: Plan,
  requestId: string,
  agent: string,
  turn: number,
  index: number,
): ContentBlock {
  const approve = chanceFrom(seed, `word ${agent}.${turn}.${index}`).happens(0.6)
  return {
    type: 'tool_use',
    id: `toolu_${agent}_${turn}_word_${index}`,
    name: 'SendMessage',
    input: {
      to: requestId.split(':')[0],
      summary: `§${agent}.${turn}.word.${index}`,
      message: {
        type: 'plan_approval_response',
        request_id: requestId,
        approve,
        ...(!approve && { feedback: 'think again' }),
      },
    },
  }
}

/** Who has asked something more often than it was answered. */
function askersToAnswer(request: ModelRequest): readonly string[] {
  const asked = [
    ...heardIn(request).matchAll(/waits for your answer: send it with SendMessage to \\"(a[0-9a-f]{16})/g),
  ].flatMap(([, id]) => id ?? [])
  const said = JSON.stringify(request.messages.filter(({ role }) => role === 'assistant'))
  return [...new Set(asked)].filter(
    (id) => said.split(`reply to ${id}`).length <= asked.filter((each) => each === id).length,
  )
}

/** Answers a question, or leaves it, as the seed has it for that turn. */
function wordTo(
  { seed }: Plan,
  to: string,
  agent: string,
  turn: number,
  index: number,
): readonly ContentBlock[] {
  const mark = `§${agent}.${turn}.reply.${index}`
  return chanceFrom(seed, `reply ${agent}.${turn}.${index}`).happens(0.6)
    ? [
        {
          type: 'tool_use',
          id: `toolu_${agent}_${turn}_reply_${index}`,
          name: 'SendMessage',
          input: { to, summary: mark, message: `reply to ${to} ${mark}` },
        },
      ]
    : []
}

function replyTo(plan: Plan, planned: TurnPlan, agent: string, turn: number, request: ModelRequest): Reply {
  const mark = `§${agent}.${turn}`
  const texts = {
    plain: `${mark} as planned`,
    surrogate: `${mark} half a pair: \ud83d`,
    blank: ' \n ',
    none: undefined,
  }
  // A turn that calls nothing, or whose calls say nothing of their place, must say it itself.
  const isMarked = planned.calls.some(
    ({ kind }) => !['broken', 'read', 'stop', 'list', 'look-after'].includes(kind),
  )
  const isEnd = planned.calls.length === 0 && planned.stop !== 'pause_turn'
  const text = texts[isMarked || isEnd ? planned.text : 'plain']
  const built = buildReply(
    {
      ...(text !== undefined && { text }),
      ...(planned.thinking && { thinking: 'let me see' }),
      ...(planned.stop !== undefined && { stopReason: planned.stop }),
    },
    request,
  )
  const asked = toAnswer(request)
  const calls = [
    ...planned.calls.map((call, i) => blockFor(call, agent, turn, i, request)),
    ...(asked === undefined ? [] : [answerFor(plan, asked, agent, turn)]),
    ...plansToAnswer(request).map((id, i) => wordOnPlan(plan, id, agent, turn, i)),
    ...askersToAnswer(request).flatMap((id, i) => wordTo(plan, id, agent, turn, i)),
  ]
  return {
    ...built,
    content: [...built.content, ...calls],
    stop_reason: planned.stop ?? (calls.length > 0 ? 'tool_use' : 'end_turn'),
  }
}

function blockFor(
  call: CallPlan,
  agent: string,
  turn: number,
  index: number,
  request: ModelRequest,
): ContentBlock {
  const id = `toolu_${agent}_${turn}_${index}`
  const mark = `§${agent}.${turn}.${index}`
  const use = (name: string, input: unknown, useId = id): ContentBlock => ({
    type: 'tool_use',
    id: useId,
    name,
    input,
  })
  switch (call.kind) {
    case 'tool':
      return use(call.tool, { id: mark, how: call.how })
    case 'agent':
      return use('Agent', {
        description: `part ${mark}`,
        prompt: promptFor(`${agent}-${turn}-${index}`),
        ...(call.isFork !== true && { subagent_type: call.type }),
        ...(call.apart === true && { isolation: 'worktree' }),
        ...(call.isInBackground === true && { run_in_background: true }),
        ...(call.name !== undefined && { name: call.name }),
      })
    case 'say':
      return use('SendMessage', {
        to: {
          child: launchedIn(request, call.which),
          parent: 'parent',
          main: 'main',
          name: NAMES[call.which % NAMES.length],
          all: '*',
        }[call.to],
        summary: mark,
        message: `word ${mark}`,
      })
    case 'read':
      return use('TaskOutput', {
        task_id: launchedIn(request, call.which),
        block: call.block,
        timeout: 5_000,
      })
    case 'stop':
      return use('TaskStop', { task_id: launchedIn(request, call.which) })
    case 'question':
      return use('AskParent', { question: `what of ${mark}?` })
    case 'list':
      return use('ListAgents', {})
    case 'show-plan':
      return use('ExitPlanMode', { plan: `as planned in ${mark}` })
    case 'ask':
      return use('SendMessage', {
        to: launchedIn(request, call.which),
        summary: mark,
        message: { type: 'shutdown_request' },
      })
    case 'command':
      return use('Bash', { command: `: ${mark}` })
    case 'look-after': {
      const shell = movedIn(request, call.which)
      return call.how === 'read'
        ? use('BashOutput', { bash_id: shell })
        : use('KillShell', { shell_id: shell })
    }
    case 'broken':
      break
  }
  switch (call.form) {
    case 'unknown-tool':
      return use('Nothing', { id: mark })
    case 'wrong-input':
      return use('Look', { id: 7, more: mark })
    case 'no-object':
      return use('Look', [mark])
    case 'odd-name':
      return use('no such\ntool \ud83d', { id: mark })
    case 'same-id':
      return use('Look', { id: mark, how: 'fine' }, `toolu_${agent}_${turn}_0`)
  }
}
