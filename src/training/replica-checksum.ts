/**
 * A replica in one number, so that a run's record shows whether replicas that should be the same were.
 */
import { createHash } from 'node:crypto';

/** Bytes of a whole number that a float64 holds exactly. */
const CHECKSUM_BYTES = 6;

/** Equal for vectors with equal bits, and for others practically never. */
export function replicaChecksum({ buffer, byteOffset, byteLength }: Float32Array): number {
  const digest = createHash('sha256')
    .update(new Uint8Array(buffer, byteOffset, byteLength))
    .digest();
  return digest.readUIntBE(0, CHECKSUM_BYTES);
}
