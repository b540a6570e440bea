/**
 * An error's way from the comm thread to the training thread: a class does not survive it, its facts do.
 */
import { messageOf, PreduceError } from '../base/errors.js';
import type { FromCommThread } from './thread-messages.js';

type Failed = Extract<FromCommThread, { type: 'failed' }>;

/** What is not a `PreduceError` gets the code `worker-failed`. */
export function failedMessage(error: unknown): Failed {
  const known = error instanceof PreduceError ? error : new PreduceError('worker-failed', messageOf(error));
  const { code, message, retryable, details } = known;
  return { type: 'failed', code, message, retryable, details };
}

export function errorOf({ code, message, retryable, details }: Failed): PreduceError {
  return new PreduceError(code, message, { retryable, details });
}
