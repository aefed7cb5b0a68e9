/** Makes a failing plan smaller while it still fails. It takes parts out of the plan; chance stays as it is. */
import type { AgentPlan, CallPlan, Plan, TurnPlan } from './plan.ts'

/** How many smaller plans are tried at most. */
const MOST_TRIES = 600

/** The smallest plan found for which `fails` is still true. */
export async function shrink(plan: Plan, fails: (smaller: Plan) => Promise<boolean>): Promise<Plan> {
  let smallest = plan
  let tries = 0
  for (let isSmaller = true; isSmaller && tries < MOST_TRIES; ) {
    isSmaller = false
    for (const smaller of smallerPlans(smallest)) {
      tries += 1
      if (tries > MOST_TRIES) break
      if (!(await fails(smaller))) continue
      smallest = smaller
      isSmaller = true
      break
    }
  }
  return smallest
}

/** Plans with one part less, the big parts first. */
export function* smallerPlans(plan: Plan): Generator<Plan> {
  for (const stops of without(plan.stops)) yield { ...plan, stops }
  for (const diskFaults of without(plan.diskFaults)) yield { ...plan, diskFaults }
  for (const prompts of without(plan.prompts)) if (prompts.length > 0) yield { ...plan, prompts }
  const { branch, damage, snapshotEvery, snapshotRuins, hooks, ...bare } = plan
  const extras = {
    ...(hooks !== undefined && { hooks }),
    ...(branch !== undefined && { branch }),
    ...(damage !== undefined && { damage }),
    ...(snapshotEvery !== undefined && { snapshotEvery }),
    ...(snapshotRuins !== undefined && { snapshotRuins }),
  }
  for (const key of ['branch', 'damage', 'snapshotEvery', 'snapshotRuins', 'hooks'] as const) {
    const { [key]: gone, ...left } = extras
    if (gone !== undefined) yield { ...bare, ...left }
  }
  const { window, ...wide } = plan
  if (window !== undefined) yield wide
  if (plan.forks === 'beside') yield { ...plan, forks: 'awaited' }
  if (plan.slowWrites > 0) yield { ...plan, slowWrites: 0 }
  if (plan.durability === 'fsync') yield { ...plan, durability: 'write' }
  if (plan.deny.length > 0) yield { ...plan, deny: [] }
  if (plan.mode !== 'bypassPermissions') yield { ...plan, mode: 'bypassPermissions' }
  for (const [key, most] of [
    ['liveAgents', 64],
    ['spawns', 1_000],
    ['childMaxTurns', 200],
  ] as const)
    if (plan.limits[key] !== most) yield { ...plan, limits: { ...plan.limits, [key]: most } }
  for (let i = 0; i < plan.prompts.length; i++) {
    const prompt = plan.prompts[i]
    if (prompt === undefined) continue
    const put = (smaller: typeof prompt): Plan => ({ ...plan, prompts: plan.prompts.with(i, smaller) })
    if (prompt.asBlocks) yield put({ ...prompt, asBlocks: false })
    const { maxTurns: _, ...unlimited } = prompt
    if (prompt.maxTurns !== undefined) yield put(unlimited)
    for (const { turns } of smallerAgents(prompt)) yield put({ ...prompt, turns })
  }
}

function* smallerAgents(agent: AgentPlan): Generator<AgentPlan> {
  for (const turns of without(agent.turns)) yield { turns }
  for (let i = 0; i < agent.turns.length; i++) {
    const turn = agent.turns[i]
    if (turn === undefined) continue
    for (const smaller of smallerTurns(turn)) yield { turns: agent.turns.with(i, smaller) }
  }
}

function* smallerTurns(turn: TurnPlan): Generator<TurnPlan> {
  for (const calls of without(turn.calls)) yield { ...turn, calls }
  for (const attempts of without(turn.attempts)) yield { ...turn, attempts }
  if (turn.text !== 'plain') yield { ...turn, text: 'plain' }
  if (turn.thinking) yield { ...turn, thinking: false }
  if (turn.pace !== 'whole') yield { ...turn, pace: 'whole' }
  const { stop, ...unstopped } = turn
  if (stop !== undefined) yield unstopped
  for (let i = 0; i < turn.calls.length; i++) {
    const call = turn.calls[i]
    if (call === undefined) continue
    for (const smaller of smallerCalls(call)) yield { ...turn, calls: turn.calls.with(i, smaller) }
  }
}

function* smallerCalls(call: CallPlan): Generator<CallPlan> {
  if (call.kind === 'tool' && call.how !== 'fine') yield { ...call, how: 'fine' }
  if (call.kind !== 'agent') return
  const { apart, ...together } = call
  if (apart !== undefined) yield together
  const { name, ...nameless } = call
  if (name !== undefined) yield nameless
  const { isFork, ...typed } = call
  if (isFork !== undefined) yield typed
  if (call.type !== 'worker') yield { ...call, type: 'worker' }
  for (const agent of smallerAgents(call.agent)) yield { ...call, agent }
}

/** All of them gone, then each one gone. */
function* without<T>(things: readonly T[]): Generator<readonly T[]> {
  if (things.length > 1) yield []
  for (let i = 0; i < things.length; i++) yield things.toSpliced(i, 1)
}
