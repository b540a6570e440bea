import { describe, expect, it } from 'vitest';
import { workerId } from '../base/ids.js';
import { isResumeSecret, resumeSecret } from './resume-secret.js';

const LIFE = { worker: workerId(3), incarnation: 2 };

describe('the secret of a life', () => {
  const secret = resumeSecret('key', LIFE);

  it('is the same whenever it is asked for', () => {
    expect(isResumeSecret(secret, 'key', LIFE)).toBe(true);
    expect(resumeSecret('key', LIFE)).toBe(secret);
  });

  it.each([
    ['of another worker', resumeSecret('key', { ...LIFE, worker: workerId(2) })],
    ['of another incarnation', resumeSecret('key', { ...LIFE, incarnation: 1 })],
    // Both written one after the other without a gap would be alike.
    ['of worker 32 in its life 0', resumeSecret('key', { worker: workerId(32), incarnation: 0 })],
    ['of another run', resumeSecret('another key', LIFE)],
    ['that is cut', secret.slice(1)],
    ['that is empty', ''],
    ['with letters beyond ASCII', 'ä'.repeat(secret.length / 2)],
  ])('is not one %s', (_, other) => {
    expect(isResumeSecret(other, 'key', LIFE)).toBe(false);
  });
});
