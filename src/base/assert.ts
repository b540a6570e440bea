/**
 * Assertions that stay on in production: a broken invariant is a bug, and a bug stops the process instead of
 * spreading into a model that somebody trusts. Operating failures are `PreduceError`s, never assertions.
 */

/** Thrown by `assert`: a bug in Preduce, not a condition that a caller may handle. */
export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}

/** Throws an `AssertionError` with `message` unless `condition` holds. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(`assertion failed: ${message}`);
}

/** Returns `value`, or throws an `AssertionError` naming `what` where it is null or undefined. */
export function assertPresent<T>(value: T, what: string): NonNullable<T> {
  assert(value !== null && value !== undefined, `${what} is missing`);
  return value;
}
