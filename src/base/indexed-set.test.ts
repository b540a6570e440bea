import { describe, expect, it } from 'vitest';
import { createIndexedSet } from './indexed-set.js';
import { createRandom } from './random.js';

describe('createIndexedSet', () => {
  it('gives the place of a removed item to the last one', () => {
    const set = createIndexedSet<string>();
    for (const item of ['a', 'b', 'c', 'd']) expect(set.add(item)).toBe(true);
    expect(set.add('b')).toBe(false);
    expect(set.delete('b')).toBe(true);
    expect(set.items).toEqual(['a', 'd', 'c']);
    expect(set.delete('c')).toBe(true);
    expect(set.items).toEqual(['a', 'd']);
    expect(set.delete('c')).toBe(false);
  });

  it('holds what a plain set holds, whatever is done', () => {
    const random = createRandom(5);
    const set = createIndexedSet<number>();
    const plain = new Set<number>();
    for (let turn = 0; turn < 2000; turn += 1) {
      const item = random.below(20);
      if (random.next() < 0.5) expect(set.add(item)).toBe(!plain.has(item) && plain.add(item).size > 0);
      else expect(set.delete(item)).toBe(plain.delete(item));
      expect(set.size).toBe(plain.size);
      expect(new Set(set.items)).toEqual(plain);
      expect(set.has(item)).toBe(plain.has(item));
    }
  });
});
