/**
 * Flags that were not given are absent, so that the defaults of what they are handed to hold.
 */

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** The values that are there. */
export function defined<T extends object>(values: T): Defined<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Defined<T>;
}
