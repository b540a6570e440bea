/**
 * One number for everything that a simulation decided: two runs with the same number went the same way. FNV-1a over the text
 * of each effect, in two lanes of 32 bits with different offsets; a fingerprint, not for secrets.
 */

export interface TraceHash {
  add(text: string): void;
  /** 16 hexadecimal digits. */
  digest(): string;
}

const FNV_PRIME = 0x01000193;

export function createTraceHash(): TraceHash {
  let low = 0x811c9dc5;
  let high = 0x050c5d1f;
  return {
    add(text) {
      let [a, b] = [low, high];
      for (let i = 0; i < text.length; i += 1) {
        const code = text.charCodeAt(i);
        a = Math.imul(a ^ code, FNV_PRIME);
        // The second lane must not follow from the first.
        b = Math.imul((b ^ code) + (a >>> 15), FNV_PRIME);
      }
      [low, high] = [a, b];
    },
    digest: () => [high, low].map((lane) => (lane >>> 0).toString(16).padStart(8, '0')).join(''),
  };
}
