/** Doors: a tool that takes as long as a test wants. */
import { z } from 'zod'
import type { Tool } from '../../src/effects/tools/tool.ts'
import { lookingTool } from './tools.ts'

/** Doors that somebody waits at until the test opens them. One that was opened stays open. */
export class Doors {
  readonly #waiting = new Map<string, (() => void)[]>()
  readonly #opened = new Set<string>()
  /** Those that the tool has passed, in order. */
  readonly passed: string[] = []

  readonly tool: Tool<{ door: string }> = lookingTool(
    'Pass',
    z.strictObject({ door: z.string() }),
    async ({ door }, { signal }) => {
      await this.wait(door, signal)
      this.passed.push(door)
      return { content: `passed ${door}` }
    },
  )

  /** Where somebody has come to a closed door, in order. Whoever was called away still counts. */
  get waitedAt(): readonly string[] {
    return [...this.#waiting.keys()]
  }

  /** Resolves when it is open. Rejects with the signal's reason. */
  async wait(door: string, signal?: AbortSignal): Promise<void> {
    if (this.#opened.has(door)) return
    await new Promise<void>((resolve, reject) => {
      this.#waiting.set(door, [...(this.#waiting.get(door) ?? []), resolve])
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
  }

  readonly open = (...doors: readonly string[]): void => {
    for (const door of doors) {
      this.#opened.add(door)
      for (const pass of this.#waiting.get(door) ?? []) pass()
      this.#waiting.delete(door)
    }
  }
}
