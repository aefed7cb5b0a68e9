/** Whether what a model gave as its message is one: a host's model may give anything, and a log takes only replies. */
import { Reply } from '../../machines/agent/messages.ts'
import { ModelError } from './model.ts'

/** The reply itself. Throws a {@link ModelError} (`internal`, not retried) that says what is wrong with it. */
export function checkedReply(reply: Reply): Reply {
  // The schema costs more than all the rest of a scripted request; a plain reply is told by looking.
  if (isPlainReply(reply)) return reply
  const parsed = Reply.safeParse(reply)
  if (parsed.success) return reply
  const issue = parsed.error.issues[0]
  const where = issue === undefined ? '' : ` (${issue.path.join('.')}: ${issue.message})`
  throw new ModelError('internal', `the model gave something that is no reply${where}`, {
    retryable: false,
    cause: parsed.error,
  })
}

/** Takes nothing that the schema would not take. */
function isPlainReply(reply: unknown): boolean {
  if (!isRecord(reply) || !isRecord(reply['usage']) || !Array.isArray(reply['content'])) return false
  const { usage } = reply
  return (
    typeof reply['id'] === 'string' &&
    reply['type'] === 'message' &&
    reply['role'] === 'assistant' &&
    typeof reply['model'] === 'string' &&
    typeof reply['stop_reason'] === 'string' &&
    (reply['stop_sequence'] === null || typeof reply['stop_sequence'] === 'string') &&
    COUNTS.every((key) => isCount(usage[key]) || (usage[key] === undefined && !REQUIRED.has(key))) &&
    reply['content'].every((block: unknown) => isRecord(block) && typeof block['type'] === 'string')
  )
}

const COUNTS = [
  'input_tokens',
  'output_tokens',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
] as const
const REQUIRED: ReadonlySet<string> = new Set(['input_tokens', 'output_tokens'])

const isCount = (value: unknown): boolean => Number.isSafeInteger(value)
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
