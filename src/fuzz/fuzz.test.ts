/**
 * The fuzzer finds what it is there to find, finds it again, and leaves good readers alone; each reader takes some thousand inputs.
 */
import { describe, expect, it } from 'vitest';
import { PreduceError } from '../base/errors.js';
import { type Finding, inputOf, randomOf, type TargetCount, tryInput } from './fuzz.js';
import { bytesOf, type Target, textOf } from './target.js';
import { allTargets } from './targets.js';

function fuzz(
  target: Target,
  inputs: number,
  seed = 1,
): { readonly finding: Finding | null; readonly count: TargetCount } {
  const random = randomOf(allTargets, target, seed);
  const count = { inputs: 0, taken: 0 };
  for (let input = 0; input < inputs; input += 1) {
    const finding = tryInput(target, inputOf(target, random, input), { seed, input }, count);
    if (finding !== null) return { finding, count };
  }
  return { finding: null, count };
}

describe.each(allTargets.map((target) => ({ name: target.name, target })))('$name', ({ target }) => {
  it('takes its examples', () => {
    for (const example of target.examples) {
      const count = { inputs: 0, taken: 0 };
      expect(tryInput(target, example, { seed: 0, input: 0 }, count)).toBeNull();
    }
  });

  it('survives damaged and random input', () => {
    const { finding, count } = fuzz(target, 300);
    expect(finding).toBeNull();
    expect(count.inputs).toBe(300);
    // Some of it is taken, so that more than the first check is tested.
    expect(count.taken).toBeGreaterThan(0);
    expect(count.taken).toBeLessThan(300);
  });
});

describe('a reader with a mistake', () => {
  const example = bytesOf('{"count":3,"values":[1,2,3]}');

  const mistakes: [string, (bytes: Uint8Array) => void][] = [
    [
      'that trusts a type',
      (bytes) => void (parse(bytes) as { values: number[] }).values.map((value) => value.toFixed()),
    ],
    ['that trusts a count', (bytes) => void new Array((parse(bytes) as { count: number }).count)],
    [
      'that looks a name up in an object',
      (bytes) => void ({ '"values"': [1] } as Record<string, number[]>)[nameIn(bytes)]?.at(0),
    ],
    ['that reads on', (bytes) => void new DataView(bytes.buffer).getUint32(20)],
  ];

  it.each(mistakes)('%s is found, and found again', (_, read) => {
    const target: Target = { name: 'mistake', examples: [example], read };
    const { finding } = fuzz(target, 20_000);
    expect(finding).not.toBeNull();
    const { seed = 0, input = 0, bytes } = finding ?? {};
    const again = inputOf(target, randomOf(allTargets, target, seed), input);
    expect(Buffer.from(again).toString('hex')).toBe(bytes);
  });

  it('is told from one that refuses', () => {
    const read = (bytes: Uint8Array): void => {
      if (textOf(bytes) !== textOf(example)) throw new PreduceError('bad-data', 'expected the example');
    };
    const { finding, count } = fuzz({ name: 'strict', examples: [example], read }, 500);
    expect(finding).toBeNull();
    expect(count.taken).toBeGreaterThan(20);
  });
});

/** JSON, or the refusal that a reader should give. */
function parse(bytes: Uint8Array): unknown {
  try {
    const value = JSON.parse(textOf(bytes)) as unknown;
    if (typeof value === 'object' && value !== null && 'values' in value && 'count' in value) return value;
  } catch {
    // Refused below.
  }
  throw new PreduceError('bad-data', 'expected JSON with count and values');
}

function nameIn(bytes: Uint8Array): string {
  return textOf(bytes).split(/["{:,]+/)[1] ?? '';
}
