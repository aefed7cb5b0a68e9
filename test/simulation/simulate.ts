/**
 * `npm run simulate -- --seeds N [--from S] [--scenario NAME] [--fault NAME]`: simulates N sessions and checks all laws
 * after each step. A seed that fails is made small and printed, ready to become a file in `regressions/`.
 * Ctrl-C stops behind the session that is on, and says what was found. `--seed S` plays one seed and prints its story; `--plan FILE` plays a kept plan.
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { Fault } from './faults/fault.ts'
import { FAULTS } from './faults/index.ts'
import { withFault } from './faults/with-fault.ts'
import type { Plan } from './plan.ts'
import { planFor } from './scenarios.ts'
import type { SessionOutcome } from './session.ts'
import { simulate } from './session.ts'
import { shrink } from './shrink.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    plan: { type: 'string' },
    scenario: { type: 'string' },
    fault: { type: 'string' },
    all: { type: 'boolean', default: false },
    'no-shrink': { type: 'boolean', default: false },
  },
})

const fault = faultNamed(values.fault)
const play = (plan: Plan, withStory = false): Promise<SessionOutcome> =>
  fault === undefined ? simulate(plan, { withStory }) : withFault(fault, plan, { withStory })

if (values.plan !== undefined) await tellStory(JSON.parse(readFileSync(values.plan, 'utf8')))
else if (values.seed !== undefined) await tellStory(planFor(Number(values.seed), values.scenario))
else await simulateMany(Number(values.seeds), Number(values.from))

async function tellStory(plan: Plan): Promise<void> {
  const outcome = await play(plan, true)
  console.log(JSON.stringify(plan, undefined, 1))
  console.log(outcome.story.join('\n'))
  console.log(outcome.violation ?? 'all laws hold')
  if (outcome.violation !== undefined) process.exitCode = 1
}

async function simulateMany(count: number, from: number): Promise<void> {
  const startedAt = performance.now()
  let steps = 0
  let crashes = 0
  let events = 0
  let failures = 0
  let done = 0
  let isStopped = false
  // A run of hours may be stopped and still says what it has found.
  process.once('SIGINT', () => {
    isStopped = true
  })
  for (let seed = from; seed < from + count && !isStopped; seed++) {
    done += 1
    const outcome = await play(planFor(seed, values.scenario))
    steps += outcome.steps
    crashes += outcome.crashes
    events += outcome.events
    if (outcome.violation === undefined) continue
    failures += 1
    console.log(
      `seed ${seed}: law ${outcome.violation.law}, ${outcome.violation.name}: ${outcome.violation.what}`,
    )
    if (values['no-shrink']) continue
    if (!values.all) {
      await report(planFor(seed, values.scenario), outcome)
      break
    }
  }
  const seconds = (performance.now() - startedAt) / 1000
  console.log(
    `${done} sessions from seed ${from}: ${failures === 0 ? 'all laws hold' : `${failures} failed`}; ` +
      `${steps} steps, ${events} events, ${crashes} crashes in ${seconds.toFixed(1)} s`,
  )
  if (failures > 0) process.exitCode = 1
}

async function report(plan: Plan, outcome: SessionOutcome): Promise<void> {
  const kind = kindOf(outcome)
  const small = await shrink(plan, async (smaller) => kindOf(await play(smaller)) === kind)
  const again = await play(small, true)
  console.log(`\nThe story of the smallest plan that fails likewise:\n${again.story.join('\n')}`)
  console.log(
    `\nKeep it as test/simulation/regressions/<what-went-wrong>.json:\n${JSON.stringify(small, undefined, 2)}`,
  )
}

/** What went wrong, without the ids and numbers that a smaller plan changes. */
function kindOf({ violation }: SessionOutcome): string | undefined {
  return violation && `${violation.law} ${violation.what.replaceAll(/a[0-9a-f]{16}|\d+/g, '#').slice(0, 60)}`
}

function faultNamed(name: string | undefined): Fault | undefined {
  if (name === undefined) return undefined
  const found = FAULTS.find((each) => each.name === name)
  if (found === undefined)
    throw new Error(`there is no fault ${name}: ${FAULTS.map((each) => each.name).join(', ')}`)
  return found
}
