/**
 * A binary heap: the least of its items first. Cost: O(log n) for each put and take. Items of which neither comes before the
 * other leave it in no order to rely on; give them a number of their own where that matters.
 */

export interface Heap<T> {
  readonly size: number;
  put(item: T): void;
  /** The least item, left where it is; undefined when empty. */
  peek(): T | undefined;
  /** The least item, taken out; undefined when empty. */
  take(): T | undefined;
}

/** Creates an empty heap; `isBefore` is a strict order. */
export function createHeap<T>(isBefore: (a: T, b: T) => boolean): Heap<T> {
  const items: T[] = [];

  function rise(item: T, from: number): void {
    let position = from;
    while (position > 0) {
      const above = (position - 1) >> 1;
      const parent = items[above] as T;
      if (!isBefore(item, parent)) break;
      items[position] = parent;
      position = above;
    }
    items[position] = item;
  }

  function sink(item: T): void {
    let position = 0;
    for (;;) {
      let below = 2 * position + 1;
      if (below >= items.length) break;
      if (below + 1 < items.length && isBefore(items[below + 1] as T, items[below] as T)) below += 1;
      const child = items[below] as T;
      if (!isBefore(child, item)) break;
      items[position] = child;
      position = below;
    }
    items[position] = item;
  }

  return {
    get size() {
      return items.length;
    },
    put(item) {
      items.push(item);
      rise(item, items.length - 1);
    },
    peek: () => items[0],
    take() {
      const first = items[0];
      const last = items.pop();
      if (items.length > 0) sink(last as T);
      return first;
    },
  };
}
