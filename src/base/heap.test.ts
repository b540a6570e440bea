import { describe, expect, it } from 'vitest';
import { createHeap } from './heap.js';
import { createRandom } from './random.js';

describe('createHeap', () => {
  it.each([0, 1, 2, 3, 10, 1000])('gives %i numbers in ascending order', (count) => {
    const random = createRandom(count);
    const numbers = Array.from({ length: count }, () => random.below(50));
    const heap = createHeap<number>((a, b) => a < b);
    for (const number of numbers) heap.put(number);
    expect(heap.size).toBe(count);
    expect(heap.peek()).toBe(numbers.length === 0 ? undefined : Math.min(...numbers));
    const taken = Array.from({ length: count }, () => heap.take());
    expect(taken).toEqual(numbers.toSorted((a, b) => a - b));
    expect(heap.take()).toBeUndefined();
    expect(heap.size).toBe(0);
  });

  it('gives the least where puts and takes alternate', () => {
    const random = createRandom(7);
    const heap = createHeap<number>((a, b) => a < b);
    const oracle: number[] = [];
    const taken: (number | undefined)[] = [];
    const expected: (number | undefined)[] = [];
    for (let i = 0; i < 2000; i += 1) {
      if (random.next() < 0.6) {
        const value = random.below(1000);
        heap.put(value);
        oracle.push(value);
      } else {
        oracle.sort((a, b) => a - b);
        taken.push(heap.take());
        expected.push(oracle.shift());
      }
    }
    expect(taken).toEqual(expected);
  });
});
