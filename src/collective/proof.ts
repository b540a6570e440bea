/**
 * Proofs that both ends of a data connection know the run's key, without saying it: HMAC-SHA-256 over fresh nonces of both
 * (challenge and response as in ISO/IEC 9798-4, mutual), who they are and what the connection is for. So neither a proof heard
 * before nor one of the other direction is worth anything. docs/protocol.md 4.4 has the bytes.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

export const NONCE_BYTES = 32;
export const PROOF_BYTES = 32;

/** What both ends have said when one of them proves that it knows the key. */
export interface Exchange {
  /** The dialling end: its `hello`. */
  readonly dialler: ProofParty;
  readonly part: number;
  /** The listening end: its `challenge`. */
  readonly listener: ProofParty;
}

export interface ProofParty {
  readonly sender: number;
  readonly incarnation: number;
  readonly nonce: Uint8Array;
}

export function createNonce(): Uint8Array {
  return Uint8Array.from(randomBytes(NONCE_BYTES));
}

/** The proof of one end. */
export function proofOf(runKey: string, prover: 'dialler' | 'listener', exchange: Exchange): Uint8Array {
  const { dialler, listener, part } = exchange;
  const numbers = new DataView(new ArrayBuffer(20));
  const fields = [dialler.sender, dialler.incarnation, part, listener.sender, listener.incarnation];
  for (const [i, value] of fields.entries()) numbers.setUint32(4 * i, value, true);
  const mac = createHmac('sha256', runKey).update(`preduce data 1 ${prover}\n`);
  mac.update(new Uint8Array(numbers.buffer)).update(dialler.nonce).update(listener.nonce);
  return Uint8Array.from(mac.digest());
}

/** In constant time. */
export function isProof(given: Uint8Array, expected: Uint8Array): boolean {
  return given.byteLength === expected.byteLength && timingSafeEqual(given, expected);
}
