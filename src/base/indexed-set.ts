/**
 * A set whose items have positions: adding, removing and picking one by its position cost the same however many there are. The
 * order is that of adding, but the last item takes the place of a removed one; the same calls give the same order.
 */

export interface IndexedSet<T> {
  readonly size: number;
  /** In the order of their positions; follows the set. */
  readonly items: readonly T[];
  has(item: T): boolean;
  /** Gives whether it was not there. */
  add(item: T): boolean;
  /** Gives whether it was there. */
  delete(item: T): boolean;
}

export function createIndexedSet<T>(): IndexedSet<T> {
  const items: T[] = [];
  const positions = new Map<T, number>();
  return {
    get size() {
      return items.length;
    },
    items,
    has: (item) => positions.has(item),
    add(item) {
      if (positions.has(item)) return false;
      positions.set(item, items.length);
      items.push(item);
      return true;
    },
    delete(item) {
      const position = positions.get(item);
      if (position === undefined) return false;
      positions.delete(item);
      const last = items.pop() as T;
      if (position < items.length) {
        items[position] = last;
        positions.set(last, position);
      }
      return true;
    },
  };
}
