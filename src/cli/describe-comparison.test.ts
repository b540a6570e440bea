import { describe, expect, it } from 'vitest';
import type { ComparisonEntry, ComparisonResult } from '../launch/comparison-output.js';
import { parseContenders } from '../launch/contenders.js';
import { medianOf } from '../observe/median.js';
import { createSummary, type RunSummary } from '../observe/summary.js';
import type { Trial, TunedStrategy } from '../observe/tuning-record.js';
import { learningRates } from './compare.js';
import { describeComparison, describeTuned } from './describe-comparison.js';

function entryOf(label: string, repeats: readonly Partial<RunSummary>[]): ComparisonEntry {
  const empty = createSummary({
    strategy: label.split(':')[0] ?? '',
    workers: 8,
    groupSize: 3,
    weights: null,
    seed: 1,
    targetAccuracy: 0.96,
    out: null,
  }).result();
  const measured = { wallSeconds: 100, updates: 1000, updatesToTarget: 400, testAccuracy: 0.975, bytesSent: 2e9 };
  return { label, summary: medianOf(repeats.map((changes) => ({ ...empty, ...measured, ...changes }))), tuned: null };
}

function resultOf(entries: readonly ComparisonEntry[], changes: Partial<ComparisonResult> = {}): ComparisonResult {
  return {
    targetAccuracy: 0.96,
    targetLoss: null,
    stopAtTarget: false,
    referenceMs: 10,
    idealSpeedUp: 3.25,
    isSimulated: false,
    entries,
    tuned: null,
    directory: 'out',
    reportFile: 'out/report.html',
    ...changes,
  };
}

const twelve = resultOf(
  parseContenders(['all']).map(({ label }, index) =>
    entryOf(label, [{ targetSeconds: 100 + index }, { targetSeconds: 123456 + index }, { targetSeconds: 50 }]),
  ),
);

const trial: Trial = {
  learningRate: 0.1,
  targetSeconds: null,
  updatesToTarget: null,
  wallSeconds: 1,
  testAccuracy: null,
  testLoss: null,
  failure: null,
};

const tunedStrategy: TunedStrategy = {
  label: 'ps-asp',
  learningRate: 0.1,
  trials: [
    { ...trial, learningRate: 0.03, testAccuracy: 0.9412 },
    { ...trial, learningRate: 0.1, targetSeconds: 12.34, testAccuracy: 0.97 },
    { ...trial, learningRate: 0.3, failure: 'diverged' },
  ],
};

describe('describeComparison', () => {
  it('has all columns in a file, with the ends of the repeats', () => {
    const text = describeComparison(twelve);
    expect(text).toMatch(
      /^strategy +to 96\.0 % +from-to +speed-up +updates +ms\/update +accuracy +from-to +sent +idle +total$/m,
    );
    expect(text).toMatch(
      /^partial-reduce:dynamic +100\.0 s +50\.0-123456\.0 +1\.02x +400 +100\.0 +97\.50 % .* 2\.00 GB +0 % +100\.0 s$/m,
    );
    expect(text).toContain('(medians of 3 runs, updates up to the target)');
  });

  it.each([200, 100, 80])('of twelve strategies fits %d columns', (width) => {
    const lines = describeComparison({ ...twelve, tuned: [tunedStrategy] }, width).split('\n');
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(width);
  });

  it.each([60, 40])('has a table of every strategy in %d columns', (width) => {
    const lines = describeComparison(twelve, width).split('\n');
    const start = lines.findIndex((line) => line.startsWith('strategy'));
    const table = lines.slice(start, lines.indexOf('', start) - 1);
    expect(table).toHaveLength(2 + twelve.entries.length);
    for (const line of table) expect(line.length).toBeLessThanOrEqual(width);
  });

  it('keeps in 80 columns what a paper would show', () => {
    const lines = describeComparison(twelve, 80).split('\n');
    expect(lines).toContainEqual(
      expect.stringMatching(/^strategy +to 96\.0 % +speed-up +updates +ms\/update +accuracy +/),
    );
  });

  it('tells of targets that were not reached, by some or most of the repeats', () => {
    const some = entryOf('ps-asp', [{ targetSeconds: 3 }, { targetSeconds: null }, { targetSeconds: 2 }]);
    const most = entryOf('ps-ssp', [{ targetSeconds: 3 }, { targetSeconds: null }, { targetSeconds: null }]);
    const none = entryOf('ps-bsp', [{ targetSeconds: null, updatesToTarget: null }]);
    const text = describeComparison(resultOf([some, most, none]));
    expect(text).toMatch(/^ps-asp +3\.0 s +2\.0-never +- /m);
    expect(text).toMatch(/^ps-ssp +never +3\.0-never +- /m);
    expect(text).toMatch(/^ps-bsp +never +- +- +- +100\.0 /m);
  });

  it('says in one sentence who was first, and by how much', () => {
    const entries = [entryOf('ps-asp', [{ targetSeconds: 4 }]), entryOf('all-reduce', [{ targetSeconds: 10 }])];
    expect(describeComparison(resultOf(entries))).toMatch(
      /\nps-asp reached 96\.0 % 2\.50x as fast as all-reduce\n\(if nobody ever waited: 3\.25x\)\n/,
    );
  });

  it('calls the accuracy that at the target where runs ended there', () => {
    const text = describeComparison(resultOf([entryOf('all-reduce', [{ targetSeconds: 5 }])], { stopAtTarget: true }));
    expect(text).toMatch(/^strategy .* at target +/m);
    expect(text).toContain('(updates up to the target, runs ended there)');
  });

  it('shows losses where there is no accuracy', () => {
    const entries = [entryOf('all-reduce', [{ targetSeconds: 5, testAccuracy: null, testLoss: 0.01234 }])];
    const text = describeComparison(resultOf(entries, { targetAccuracy: null, targetLoss: 0.1 }));
    expect(text).toMatch(/^strategy +to loss 0\.1 +speed-up +updates +ms\/update +loss +sent /m);
    expect(text).toMatch(/ 0\.0123 /);
  });

  it('leaves time and speed-up out where there is no target', () => {
    const entries = [entryOf('all-reduce', [{ testAccuracy: null, testLoss: 0.5 }])];
    const text = describeComparison(resultOf(entries, { targetAccuracy: null }));
    expect(text).toMatch(/^strategy +updates +ms\/update +loss +sent +idle +total$/m);
    expect(text).toMatch(/^all-reduce +1000 +100\.0 /m);
  });

  it('shows what tuning found: a star at what was chosen', () => {
    const text = describeComparison(resultOf([entryOf('ps-asp', [{ targetSeconds: 5 }])], { tuned: [tunedStrategy] }));
    expect(text).toMatch(/^tuning +chosen +lr 0\.03 +lr 0\.1 +lr 0\.3$/m);
    expect(text).toMatch(/^ps-asp +0\.1 +94\.12 % +12\.3 s \* +failed *$/m);
    expect(text).not.toContain('a rate beyond');
    const [first] = tunedStrategy.trials as [Trial];
    const edge = { ...tunedStrategy, learningRate: 0.03, trials: [first, { ...first, learningRate: 0.1 }] };
    expect(describeComparison(resultOf([entryOf('ps-asp', [{}])], { tuned: [edge] }))).toContain(
      '(chosen at an end of the grid by 1: a rate beyond may be better)',
    );
  });
});

describe('describeTuned', () => {
  it.each<[string, TunedStrategy, string]>([
    ['a rate that reached the target', tunedStrategy, 'ps-asp: learning rate 0.1 (target after 12.3 s)'],
    [
      'one that did not',
      { ...tunedStrategy, learningRate: 0.03 },
      'ps-asp: learning rate 0.03 (target not reached, 94.12 %)',
    ],
    ['none', { ...tunedStrategy, learningRate: null }, 'ps-asp: no learning rate gave a model, it is left out'],
  ])('tells of %s', (_, tuned, expected) => {
    expect(describeTuned(tuned)).toBe(expected);
  });
});

describe('learningRates', () => {
  it('reads a grid', () => {
    expect(learningRates('lr=.01,.03,0.1, 1')).toEqual([0.01, 0.03, 0.1, 1]);
  });

  it.each(['', 'lr=', '.1,.2', 'lr=.1,,.2', 'lr=.1,two', 'momentum=.9,.5'])('refuses "%s"', (text) => {
    expect(() => learningRates(text)).toThrow(/^--tune: expected learning rates like lr=\.01,\.03,\.1, got /);
  });
});
