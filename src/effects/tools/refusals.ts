/**
 * Between throwing and answering: `intend` throws a {@link ToolRefusal}, `run` answers with an error result.
 */
import type { ToolOutput } from './tool.ts'
import { ToolRefusal } from './tool-refusal.ts'

/** An error result. */
export const failure = (message: string): ToolOutput => ({ content: message, isError: true })

/** Runs a body. Refusals and failures of the file system become error results; anything else is a defect and thrown. */
export async function refusalsAsResults(body: () => Promise<ToolOutput>): Promise<ToolOutput> {
  try {
    return await body()
  } catch (error) {
    const refusal = asRefusal(error)
    if (refusal) return failure(refusal.message)
    throw error
  }
}

/** Runs a body. Failures of the file system are thrown as refusals. */
export async function failuresAsRefusals<T>(body: () => Promise<T>): Promise<T> {
  try {
    return await body()
  } catch (error) {
    throw asRefusal(error) ?? error
  }
}

/** The code of a failed system call (`ENOENT`), or undefined for any other error. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return undefined
  return /^E[A-Z0-9]+$/.test(error.code) ? error.code : undefined
}

const EXPLANATIONS: Readonly<Record<string, string>> = {
  EACCES: 'This user has no permission for it.',
  EPERM: 'This user has no permission for it.',
  EROFS: 'The file system is read-only.',
  ENOSPC: 'The disk is full.',
  EDQUOT: 'The disk quota is used up.',
  ENAMETOOLONG: 'The name is too long for the file system.',
  ENOTDIR: 'A part of the path is a file, not a folder.',
  ELOOP: 'A symbolic link stands where a file was expected.',
  EISDIR: 'It is a folder.',
  EMFILE: 'Too many files are open; try again.',
  ENOENT: 'It is not there any more.',
}

function asRefusal(error: unknown): ToolRefusal | undefined {
  if (ToolRefusal.is(error)) return error
  const code = systemCode(error)
  if (code === undefined || !(error instanceof Error)) return undefined
  const explanation = EXPLANATIONS[code]
  const message = explanation ? `${explanation} (${error.message})` : error.message
  return new ToolRefusal(message, { cause: error })
}
