import { describe, expect, it } from 'vitest';
import { replicaChecksum } from './replica-checksum.js';

describe('replicaChecksum', () => {
  it('is a whole number that tells vectors apart by their bits', () => {
    const values = Float32Array.of(1, 2, 3);
    expect(Number.isSafeInteger(replicaChecksum(values))).toBe(true);
    expect(replicaChecksum(values)).toBe(replicaChecksum(Float32Array.of(0, 1, 2, 3).subarray(1)));
    expect(replicaChecksum(values)).not.toBe(replicaChecksum(Float32Array.of(1, 2, 3.0000002)));
    expect(replicaChecksum(Float32Array.of(0))).not.toBe(replicaChecksum(Float32Array.of(-0)));
  });
});
