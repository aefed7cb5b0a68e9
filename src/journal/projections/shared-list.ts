/**
 * An append-only list whose prefixes can be shared.
 *
 * A fork holds a pointer to the list that it began in and how much of it counts: making one costs nothing, and as
 * no list ever changes what it has, neither sees what the other appends. A fork keeps its origin alive as a whole.
 */

export interface SharedList<T> {
  readonly length: number
  /** Amortised O(1). */
  push(item: T): void
  /** O(1), plus one step per fork between this list and the one that holds the item. */
  at(index: number): T | undefined
  /** The items from `start` on, live: what is appended meanwhile is reached too. */
  items(start?: number): Iterable<T>
  /** A list of its own that begins with the first `length` items. O(1). Throws a RangeError when there are fewer. */
  fork(length: number): SharedList<T>
}

export function createSharedList<T>(): SharedList<T> {
  return listAfter<T>(undefined, 0)
}

function listAfter<T>(origin: SharedList<T> | undefined, shared: number): SharedList<T> {
  const own: T[] = []
  const list: SharedList<T> = {
    get length() {
      return shared + own.length
    },
    push: (item) => {
      own.push(item)
    },
    at: (index) => (index < shared ? origin?.at(index) : own[index - shared]),
    *items(start = 0) {
      for (let index = start; index < list.length; index++) {
        // In range, so it is a T; `undefined` may be one.
        yield list.at(index) as T
      }
    },
    fork: (length) => {
      if (!Number.isInteger(length) || length < 0 || length > list.length) {
        throw new RangeError(`cannot share the first ${length} items of a list that has ${list.length}`)
      }
      // Nothing of this list's own is wanted: ask the one before, so that chains of forks stay short.
      return origin !== undefined && length <= shared ? origin.fork(length) : listAfter(list, length)
    },
  }
  return list
}
