/** Keeps the process alive while anything is held: no timer of the engine does, and a reply may be all there is to wait for. */

const MS = 2 ** 31 - 1

export interface KeepAlive {
  /** Holding twice is holding once. */
  hold(what: object): void
  release(what: object): void
}

export function createKeepAlive(): KeepAlive {
  const held = new Set<object>()
  let timer: NodeJS.Timeout | undefined
  return {
    hold: (what) => {
      held.add(what)
      timer ??= setInterval(() => {}, MS)
    },
    release: (what) => {
      held.delete(what)
      if (held.size > 0) return
      clearInterval(timer)
      timer = undefined
    },
  }
}
