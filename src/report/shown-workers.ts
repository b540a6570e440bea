/**
 * Which workers a picture shows when there are too many for it: the slowest, the fastest and some between.
 */

/** At most `max` of `items`, spread evenly over the order of `stepsOf`; all, in their own order, where they fit. */
export function chooseWorkers<T>(items: readonly T[], max: number, stepsOf: (item: T) => number): readonly T[] {
  if (items.length <= max) return items;
  const bySteps = items.toSorted((a, b) => stepsOf(a) - stepsOf(b));
  return Array.from({ length: max }, (_, row) => bySteps[Math.round((row * (bySteps.length - 1)) / (max - 1))] as T);
}
