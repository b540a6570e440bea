/**
 * A worker's send buffer in eager-reduce (algorithms.md 6): gradients add up in it until a round takes them.
 */

export interface SendBuffer {
  add(values: Float32Array): void;
  /** Writes what has added up, and is empty then. */
  takeInto(values: Float32Array): void;
}

/** Rounds that a worker's computing may be behind: so many sums are kept for it; the next round waits. */
export const MISSED_ROUNDS_MAX = 64;

/** Creates an empty buffer of `length` values. */
export function createSendBuffer(length: number): SendBuffer {
  const buffer = new Float32Array(length);
  return {
    add(values) {
      for (let i = 0; i < length; i += 1) buffer[i] = (buffer[i] as number) + (values[i] as number);
    },
    takeInto(values) {
      values.set(buffer);
      buffer.fill(0);
    },
  };
}
