/** Three tools, one for each resume rule, whose bodies tell the record what they do. */
import { z } from 'zod'
import type { ResumeRule, Tool, ToolContext } from '../../src/effects/tools/tool.ts'
import type { BodyEntry, Record } from './record.ts'

/** One process of a session: the first is number 1. */
export interface Life {
  readonly number: number
}

const Input = z.strictObject({
  id: z.string(),
  ms: z.number().optional(),
  beside: z.boolean().optional(),
  how: z.enum(['error', 'throws']).optional(),
})
type Input = z.infer<typeof Input>

/** The tools as one process has them. */
export function matrixTools(life: Life, record: Record): readonly Tool<Input>[] {
  const tool = (name: string, resume: ResumeRule): Tool<Input> => ({
    name,
    description: name,
    inputSchema: Input,
    resume,
    isReadOnly: () => resume === 'repeat',
    isConcurrencySafe: ({ beside }) => beside === true,
    ...(resume === 'keyed' && { intend: async ({ id }: Input) => ({ id }) }),
    run: async ({ id, ms, how }, context) => {
      const { key, isRepeat } = context
      const body = { life: life.number, tool: name, id, key, isRepeat }
      record.note({ kind: 'begun', ...body })
      if (ms !== undefined) await pause(ms, context)
      if (resume !== 'keyed' || !hasDone(record, key)) record.note({ kind: 'done', ...body })
      if (how === 'throws') throw new RangeError(`${name} ${id} is broken`)
      return { content: `${name} ${id} done`, ...(how === 'error' && { isError: true }) }
    },
  })
  return [tool('Look', 'repeat'), tool('Put', 'keyed'), tool('Act', 'interrupt')]
}

/** Whether the work of a key is done: what a keyed body looks for before it works. */
const hasDone = ({ entries }: Record, key: string): boolean =>
  entries.some((entry) => entry.kind === 'done' && entry.key === key)

/** Entries of bodies of one kind. */
export function bodiesIn(record: Pick<Record, 'entries'>, kind: BodyEntry['kind']): readonly BodyEntry[] {
  return record.entries.filter((entry): entry is BodyEntry => entry.kind === kind)
}

function pause(ms: number, { clock, signal }: ToolContext): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = clock.setTimer(ms, () => {
      signal.removeEventListener('abort', onAbort)
      resolve()
    })
    const onAbort = (): void => {
      cancel()
      reject(signal.reason)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
  })
}
