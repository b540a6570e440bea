/**
 * Links that several collectives share: each serves the bytes given to it one after another (FIFO), at its full rate. A
 * collective's bytes are reserved when it begins, and it ends when the last of its links has served them: no link stands
 * still while there is something for it, and none waits for another.
 */

export interface Link {
  /** Serves so many bytes from this moment on, after all that it was given before. Gives when they are through. */
  reserve(bytes: number, fromMs: number): number;
}

const BITS_PER_BYTE = 8;
const MS_PER_SECOND = 1000;

/** How long so many bytes take on a link. */
export function transferMs(bytes: number, bitsPerSecond: number): number {
  return (BITS_PER_BYTE * MS_PER_SECOND * bytes) / bitsPerSecond;
}

/** Creates a link that is free. `bitsPerSecond` Infinity: it takes no time. */
export function createLink(bitsPerSecond: number): Link {
  let freeMs = 0;
  return {
    reserve(bytes, fromMs) {
      // What does not use the link does not wait for it.
      if (bytes === 0) return fromMs;
      freeMs = Math.max(freeMs, fromMs) + transferMs(bytes, bitsPerSecond);
      return freeMs;
    },
  };
}
