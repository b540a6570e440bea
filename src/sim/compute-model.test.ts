import { describe, expect, it } from 'vitest';
import { parseSlowDown } from '../training/slow-down.js';
import { createComputeClock, parseTrace } from './compute-model.js';

const options = { worker: 1, workerCount: 4, seed: 1 };

function times(clock: () => number, count: number): number[] {
  return Array.from({ length: count }, clock);
}

describe('parseTrace', () => {
  it('reads times of anybody and of workers', () => {
    const trace = parseTrace('# measured\n10\n\n 0,12.5 \n0,.5\n2, 7\r\n', 'a.csv');
    expect(trace.anybody).toEqual([10]);
    expect([...trace.byWorker]).toEqual([
      [0, [12.5, 0.5]],
      [2, [7]],
    ]);
  });

  it.each([
    ['', 'a.csv: expected at least one line'],
    ['# nothing', 'a.csv: expected at least one line'],
    ['10\n-3', 'a.csv, line 2: expected MILLISECONDS or WORKER,MILLISECONDS above 0, got "-3"'],
    ['0', 'got "0"'],
    ['1,2,3', 'got "1,2,3"'],
    ['ten', 'got "ten"'],
  ])('refuses %j', (text, message) => {
    expect(() => parseTrace(text, 'a.csv')).toThrow(message);
  });
});

describe('createComputeClock', () => {
  it('multiplies the reference time', () => {
    const slow = [parseSlowDown('straggler:1,3')];
    expect(times(createComputeClock({ referenceMs: 10, slow, trace: null }, options), 2)).toEqual([30, 30]);
    expect(createComputeClock({ referenceMs: 10, slow, trace: null }, { ...options, worker: 0 })()).toBe(10);
  });

  it('replays own times in a cycle, slowed and with sleeps', () => {
    const trace = parseTrace('1,10\n1,20\n99', 'a');
    const slow = [parseSlowDown('straggler:1,2'), parseSlowDown('random:1,5ms')];
    expect(times(createComputeClock({ referenceMs: 1, slow, trace }, options), 3)).toEqual([25, 45, 25]);
  });

  it('lets workers that share times begin at different ones', () => {
    const trace = parseTrace(Array.from({ length: 100 }, (_, i) => i + 1).join('\n'), 'a');
    const first = [0, 1, 2, 3].map((worker) =>
      createComputeClock({ referenceMs: 1, slow: [], trace }, { ...options, worker })(),
    );
    expect(new Set(first).size).toBeGreaterThan(1);
  });

  it('refuses a trace without times for the worker', () => {
    const trace = parseTrace('0,10', 'a');
    expect(() => createComputeClock({ referenceMs: 1, slow: [], trace }, options)).toThrow(
      'expected times for worker 1',
    );
  });
});
