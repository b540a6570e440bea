import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fingerprint, layoutDifference, layoutLength, layoutOffsets } from './layout.js';
import type { Layout } from './messages.js';

const weight = { name: 'fc.weight', shape: [2, 3] };
const bias = { name: 'fc.bias', shape: [3] };
const scale = { name: 'scale', shape: [] };
const model: Layout = [weight, bias, scale];

describe('layoutLength and layoutOffsets', () => {
  it.each<[string, Layout, number, number[]]>([
    ['nothing', [], 0, []],
    ['a matrix, a vector and a scalar', model, 10, [0, 6, 9]],
    ['an empty tensor', [{ name: 'e', shape: [5, 0] }, bias], 3, [0, 0]],
    ['a vector beyond 32 bits', [{ name: 'big', shape: [65_536, 65_536] }, bias], 2 ** 32 + 3, [0, 2 ** 32]],
  ])('of %s', (_, layout, length, offsets) => {
    expect(layoutLength(layout)).toBe(length);
    expect(layoutOffsets(layout)).toEqual(offsets);
  });
});

/** Layouts that look alike: all of them different. */
const others: readonly (readonly [string, Layout, string])[] = [
  [
    'another name',
    [{ ...weight, name: 'fc.weights' }, bias, scale],
    'tensor 0 is "fc.weights" [2, 3] where the run has "fc.weight" [2, 3] (3 tensors, 10 values against 3, 10)',
  ],
  [
    'another size',
    [weight, { ...bias, shape: [4] }, scale],
    'tensor 1 is "fc.bias" [4] where the run has "fc.bias" [3] (3 tensors, 10 values against 3, 11)',
  ],
  [
    'a transposed shape',
    [{ ...weight, shape: [3, 2] }, bias, scale],
    'tensor 0 is "fc.weight" [3, 2] where the run has "fc.weight" [2, 3] (3 tensors, 10 values against 3, 10)',
  ],
  [
    'one dimension more',
    [weight, { ...bias, shape: [3, 1] }, scale],
    'tensor 1 is "fc.bias" [3, 1] where the run has "fc.bias" [3] (3 tensors, 10 values against 3, 10)',
  ],
  [
    'another order',
    [bias, weight, scale],
    'tensor 0 is "fc.bias" [3] where the run has "fc.weight" [2, 3] (3 tensors, 10 values against 3, 10)',
  ],
  [
    'a tensor missing',
    [weight, bias],
    'tensor 2 is no tensor where the run has "scale" [] (3 tensors, 10 values against 2, 9)',
  ],
  [
    'a tensor more',
    [...model, { name: 'x', shape: [7] }],
    'tensor 3 is "x" [7] where the run has no tensor (3 tensors, 10 values against 4, 17)',
  ],
  ['nothing', [], 'tensor 0 is no tensor where the run has "fc.weight" [2, 3] (3 tensors, 10 values against 0, 0)'],
];

describe('fingerprint', () => {
  it('is 16 hexadecimal digits, the same for the same layout', () => {
    expect(fingerprint(model)).toMatch(/^[0-9a-f]{16}$/);
    expect(fingerprint(structuredClone(model))).toBe(fingerprint(model));
    expect(fingerprint([])).toMatch(/^[0-9a-f]{16}$/);
  });

  it('differs for every layout that differs', () => {
    const all = [model, ...others.map(([, layout]) => layout)];
    expect(new Set(all.map(fingerprint)).size).toBe(all.length);
  });

  it('is not misled by names that look like other tensors', () => {
    const two = [
      { name: 'a', shape: [1] },
      { name: 'b', shape: [2] },
    ];
    for (const name of ['a [1]\nb', '["a",[1]]\n["b"', 'a",[1]]\n["b']) {
      expect(fingerprint([{ name, shape: [2] }]), `a tensor named ${name}`).not.toBe(fingerprint(two));
    }
  });

  it('differs exactly where layoutDifference finds a difference', () => {
    const tensor = fc.record({
      name: fc.string({ maxLength: 2, unit: fc.constantFrom('a', '[', ']', ',', '\n', '"', '1') }),
      shape: fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 2 }),
    });
    const layout = fc.array(tensor, { maxLength: 2 });
    fc.assert(
      fc.property(layout, layout, (a, b) => {
        expect(fingerprint(a) === fingerprint(b)).toBe(layoutDifference(a, b) === null);
        expect(layoutDifference(a, structuredClone(a))).toBeNull();
      }),
      { numRuns: 1000 },
    );
  });
});

describe('layoutDifference', () => {
  it('is null for equal layouts', () => {
    expect(layoutDifference(model, structuredClone(model))).toBeNull();
    expect(layoutDifference([], [])).toBeNull();
  });

  it.each(others)('names what came and what the run has: %s', (_, layout, text) => {
    expect(layoutDifference(model, layout)).toBe(text);
  });

  it('keeps names of others to one short line of plain text', () => {
    const long = `${'n'.repeat(4000)}end`;
    const text = layoutDifference([{ name: long, shape: [1] }], [{ name: 'a\n\u001b[31m\u202eb', shape: [1] }]) ?? '';
    expect(text).toMatch(/^[\x20-\x7e]*$/);
    expect(text).toContain('"a\\n\\u001b[31m\\u202eb" [1]');
    expect(text).toContain(`"${'n'.repeat(80)}..." [1]`);
    expect(text.length).toBeLessThan(300);
  });
});
