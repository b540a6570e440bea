/**
 * Entry of the comm thread: a worker_threads thread, because the engine's run call blocks the training thread's event
 * loop while heartbeats and peers' traffic must go on.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { assertPresent } from '../base/assert.js';
import { type CommSession, startCommSession } from './comm-session.js';
import { failedMessage } from './failure.js';
import type { CommThreadOptions, FromCommThread, ToCommThread } from './thread-messages.js';

const port = assertPresent(parentPort, 'the parent thread');
const post = (message: FromCommThread): void => port.postMessage(message);

const session: Promise<CommSession | null> = startCommSession(workerData as CommThreadOptions, post, () =>
  port.close(),
).catch((error: unknown) => {
  post(failedMessage(error));
  port.close();
  return null;
});

port.on('message', (message: ToCommThread) => {
  void session.then((open) => open?.accept(message));
});
