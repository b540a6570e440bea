/**
 * The limits of a run with every place taken: more connections than a test should open, so that their far ends are
 * lists of what they were sent. All else is the real controller.
 */
import { describe, expect, it } from 'vitest';
import { HELLO, JOIN } from '../../test/support/control-client.js';
import { workerId } from '../base/ids.js';
import { createDetachedRun } from '../fuzz/detached-run.js';
import { LIMITS } from '../wire/limits.js';
import type { ControllerMessage } from '../wire/messages.js';
import { acceptConnection } from './connections.js';
import type { ControlPeerHandlers } from './control-server.js';

interface FarEnd extends ControlPeerHandlers {
  readonly sent: readonly ControllerMessage[];
  readonly isClosed: () => boolean;
}

/** `given`: worker numbers given out before, to workers that are gone. */
function createRun(given: number): { connect(): FarEnd } {
  const { run } = createDetachedRun({ minWorkers: LIMITS.workersMax });
  const { sessions } = run;
  for (let number = 0; number < given; number += 1) {
    const session = sessions.open({
      remote: 'gone',
      send: () => undefined,
      prove: () => undefined,
      close: () => undefined,
    });
    session.join = JOIN;
    sessions.admit(session.ticket, { worker: workerId(number), incarnation: 1 });
    sessions.remove(session);
  }
  return {
    connect() {
      const sent: ControllerMessage[] = [];
      let closed = false;
      const handlers = acceptConnection(run, {
        remote: 'far end',
        send: (message) => void sent.push(message),
        prove: () => undefined,
        close: () => {
          closed = true;
        },
      });
      return { ...handlers, sent, isClosed: () => closed };
    },
  };
}

describe('a full run', () => {
  function join(run: { connect(): FarEnd }, worker: number | null): FarEnd {
    const end = run.connect();
    end.onMessage(HELLO);
    end.onMessage({ ...JOIN, worker });
    return end;
  }

  it('refuses one worker more', () => {
    const refused = join(createRun(LIMITS.workersMax), null);
    expect(refused.sent.slice(1)).toEqual([
      {
        type: 'refused',
        code: 'refused',
        message: expect.stringContaining('at most 4096 workers in a run, got one more'),
      },
    ]);
    expect(refused.isClosed()).toBe(true);
    // What it still says has no effect.
    refused.onMessage(JOIN);
    refused.onClose(null);
    expect(refused.sent).toHaveLength(2);
  });

  it('takes the last worker, and whoever asks for the number of one that is gone', () => {
    expect(join(createRun(LIMITS.workersMax - 1), null).sent[1]).toMatchObject({ type: 'joined' });
    expect(join(createRun(LIMITS.workersMax), 7).sent[1]).toMatchObject({ type: 'joined', worker: 7 });
  });

  it('refuses connections that wait beyond the limit, until one has gone', () => {
    const { connect } = createRun(0);
    const waiting = Array.from({ length: LIMITS.workersMax }, () => connect());
    expect(waiting.flatMap((end) => end.sent)).toEqual([]);
    const refused = connect();
    expect(refused.sent).toEqual([
      { type: 'refused', code: 'refused', message: expect.stringContaining('at most 4096 connections') },
    ]);
    expect(refused.isClosed()).toBe(true);
    waiting[0]?.onClose(null);
    expect(connect().sent).toEqual([]);
  });
});
