/** Which model answers: what the flag says, else what the environment has a key for, else the offline one. */
import type { Model } from '../effects/model/model.ts'
import { wholeNumberIn } from './environment.ts'
import { UsageError } from './errors.ts'
import type { Host } from './host.ts'

type Env = Host['env']

/** What was decided. `modelId` undefined: the engine's default. */
export type ModelChoice =
  | {
      readonly kind: 'anthropic'
      readonly modelId: string | undefined
      /** The variable that the key comes from, or `none`. */
      readonly apiKeySource: string
    }
  | { readonly kind: 'offline'; readonly paceMs: number | undefined; readonly notice: string | undefined }

/** The name of the model that needs no network. */
export const OFFLINE = 'offline'

const KEYS = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN'] as const

/** Decides. Throws {@link UsageError} for a model that cannot be reached from this environment. */
export function chooseModel(flag: string | undefined, env: Env): ModelChoice {
  if (flag === OFFLINE) return { kind: 'offline', paceMs: paceOf(env), notice: undefined }
  const key = KEYS.find((name) => env[name])
  if (key !== undefined || env['ANTHROPIC_BASE_URL']) {
    return { kind: 'anthropic', modelId: flag, apiKeySource: key ?? 'none' }
  }
  if (flag !== undefined) {
    throw new UsageError(
      `the model ${flag} needs ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN, or ANTHROPIC_BASE_URL); set one, or use --model ${OFFLINE}`,
    )
  }
  return {
    kind: 'offline',
    paceMs: paceOf(env),
    notice:
      'troupe: no ANTHROPIC_API_KEY, so the offline planner answers; it searches this code, it is no language model',
  }
}

/** Makes the model of a choice. */
export function openModel(
  choice: ModelChoice,
  host: Pick<Host, 'anthropicModel' | 'offlineModel'>,
): Promise<Model> {
  if (choice.kind === 'anthropic') return host.anthropicModel()
  return host.offlineModel(choice.paceMs === undefined ? {} : { paceMs: choice.paceMs })
}

const paceOf = (env: Env): number | undefined =>
  wholeNumberIn(env, 'TROUPE_OFFLINE_PACE_MS', 0, ' of milliseconds')
