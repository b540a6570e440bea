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
      const isThere = plain.has(item);
      const adds = random.next() < 0.5;
      if (adds) plain.add(item);
      else plain.delete(item);
      expect(adds ? set.add(item) : set.delete(item)).toBe(adds ? !isThere : isThere);
      expect(set.size).toBe(plain.size);
      expect(new Set(set.items)).toEqual(plain);
      expect(set.has(item)).toBe(plain.has(item));
    }
  });
});
