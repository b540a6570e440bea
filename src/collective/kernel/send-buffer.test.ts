import { expect, it } from 'vitest';
import { createSendBuffer } from './send-buffer.js';

it('adds up until it is taken, and begins anew', () => {
  const buffer = createSendBuffer(2);
  const round = new Float32Array(2);
  buffer.add(Float32Array.of(1, 2));
  buffer.add(Float32Array.of(10, 20));
  buffer.takeInto(round);
  expect([...round]).toEqual([11, 22]);
  // A round that was given up: what it had taken goes into the next.
  buffer.add(round);
  buffer.add(Float32Array.of(1, 1));
  buffer.takeInto(round);
  expect([...round]).toEqual([12, 23]);
  buffer.takeInto(round);
  expect([...round]).toEqual([0, 0]);
});
