/**
 * What lets one life of a worker come back after its connection was lost, and nobody else in its place. It follows from a key of the
 * run and the life, so that a controller that is started again needs the key only.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Life } from '../core/events.js';

/** The secret of a life, 64 hexadecimal digits. */
export function resumeSecret(key: string, { worker, incarnation }: Life): string {
  return createHmac('sha256', key).update(`preduce resume 1\n${worker} ${incarnation}`).digest('hex');
}

/** Compares in constant time. */
export function isResumeSecret(secret: string, key: string, life: Life): boolean {
  const given = Buffer.from(secret, 'utf8');
  const expected = Buffer.from(resumeSecret(key, life), 'utf8');
  return given.length === expected.length && timingSafeEqual(given, expected);
}
