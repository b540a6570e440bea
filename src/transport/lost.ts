/**
 * The error of a connection that is gone, or was not to be had, on any transport.
 */
import { messageOf, PreduceError } from '../base/errors.js';

export function lost(remote: string, cause: unknown): PreduceError {
  return new PreduceError('connection-lost', `the connection to ${remote} is lost: ${messageOf(cause)}`, {
    retryable: true,
    cause,
  });
}
