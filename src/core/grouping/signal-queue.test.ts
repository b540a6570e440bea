import { describe, expect, it } from 'vitest';
import { workerId } from '../../base/ids.js';
import { createSignalQueue, type Signal } from './signal-queue.js';

function signal(worker: number, order: number): Signal {
  return { worker: workerId(worker), k: 1, finite: true, order, sinceMs: 0 };
}

describe('signal queue', () => {
  it('keeps the order of arrival', () => {
    const queue = createSignalQueue();
    for (const [worker, order] of [
      [3, 0],
      [1, 1],
      [2, 2],
    ] as const) {
      queue.put(signal(worker, order));
    }
    expect(queue.signals.map(({ worker }) => worker)).toEqual([3, 1, 2]);
  });

  it('gives a signal that comes back its old place', () => {
    const queue = createSignalQueue();
    const first = signal(0, 0);
    queue.put(first);
    queue.put(signal(1, 1));
    queue.put(signal(2, 2));
    const second = queue.remove(workerId(1));
    expect(queue.remove(workerId(0))).toBe(first);
    queue.put(signal(3, 3));
    // In the other order than they were taken in
    queue.put(second as Signal);
    queue.put(first);
    expect(queue.signals.map(({ worker }) => worker)).toEqual([0, 1, 2, 3]);
  });

  it('gives null for a worker that is not queued', () => {
    expect(createSignalQueue().remove(workerId(0))).toBeNull();
  });

  it('refuses a second signal of the same worker', () => {
    const queue = createSignalQueue();
    queue.put(signal(0, 0));
    expect(() => queue.put(signal(0, 1))).toThrow('worker 0 is queued already');
  });
});
