import { describe, expect, it } from 'vitest';
import { medianOf } from '../observe/median.js';
import { createSummary } from '../observe/summary.js';
import { readResult } from './reading.js';
import type { ReportGroup } from './report-input.js';

interface Row {
  readonly label: string;
  readonly targetSeconds: number | null;
  readonly testAccuracy?: number | null;
  readonly testLoss?: number | null;
  readonly idleShare?: number;
}

function groups(rows: readonly Row[]): ReportGroup[] {
  return rows.map(({ label, targetSeconds, testAccuracy = 0.97, testLoss = null, idleShare = 0.1 }) => {
    const empty = createSummary({
      strategy: label,
      workers: 4,
      groupSize: 2,
      weights: null,
      seed: 1,
      targetAccuracy: 0.95,
      out: null,
    }).result();
    const summary = { ...empty, targetSeconds, testAccuracy, testLoss, idleShare };
    const run = { label, summary, evaluations: [], workerTimes: [] };
    return { label, summary: medianOf([summary]), runs: [run], typical: run };
  });
}

const target = { measure: 'accuracy', value: 0.95 } as const;

describe('readResult', () => {
  it.each<[string, readonly Row[], readonly RegExp[]]>([
    [
      'a gain',
      [
        { label: 'partial-reduce', targetSeconds: 10 },
        { label: 'all-reduce', targetSeconds: 25, testAccuracy: 0.972, idleShare: 0.55 },
      ],
      [
        /^partial-reduce reached 95% test accuracy after 10\.0 s, 2\.50 times as fast as all-reduce \(25\.0 s\)\./,
        /partial-reduce spent 10% of their time waiting for others, those of all-reduce 55%\./,
        /the gain would be 3\.25 times/,
        /97\.00% to 97\.20%/,
      ],
    ],
    [
      'no gain',
      [
        { label: 'partial-reduce', targetSeconds: 30 },
        { label: 'all-reduce', targetSeconds: 25 },
      ],
      [/^all-reduce was the first to reach 95% test accuracy, after 25\.0 s: nothing was gained/, /All final models/],
    ],
    [
      'a baseline that did not arrive',
      [
        { label: 'partial-reduce', targetSeconds: 30 },
        { label: 'all-reduce', targetSeconds: null },
      ],
      [/^partial-reduce reached 95% test accuracy after 30\.0 s\. all-reduce did not reach it\./],
    ],
    [
      'nobody arriving',
      [
        { label: 'partial-reduce', targetSeconds: null },
        { label: 'all-reduce', targetSeconds: null },
      ],
      [/^No run reached 95% test accuracy\./],
    ],
    [
      'a comparison without all-reduce',
      [
        { label: 'a', targetSeconds: 3 },
        { label: 'b', targetSeconds: null },
        { label: 'c', targetSeconds: null },
      ],
      [/^a was the first to reach 95% test accuracy, after 3\.0 s\. b and c did not reach it\./],
    ],
    [
      'one run',
      [{ label: 'a', targetSeconds: 3 }],
      [/^The run reached 95% .* 3\.0 s\. Its workers spent 10%/, /The final model has/],
    ],
    ['one run that missed', [{ label: 'a', targetSeconds: null }], [/^The run did not reach 95% test accuracy\./]],
    ['no evaluation', [{ label: 'a', targetSeconds: null, testAccuracy: null }], [/No model was evaluated\./]],
  ])('tells of %s', (_, rows, expected) => {
    const text = readResult({ groups: groups(rows), target, stopAtTarget: false, idealSpeedUp: 3.25 });
    for (const pattern of expected) expect(text).toMatch(pattern);
  });

  it('does not say that no run arrived where single repeats did', () => {
    const [one, two] = groups([
      { label: 'a', targetSeconds: null },
      { label: 'a', targetSeconds: 7 },
    ]) as [ReportGroup, ReportGroup];
    const repeats = { ...one, runs: [...one.runs, ...two.runs] };
    const text = readResult({ groups: [repeats], target, stopAtTarget: false, idealSpeedUp: null });
    expect(text).toMatch(/^Only 1 of 2 runs reached 95% test accuracy, too few for a median time\./);
  });

  it('does not call the accuracy at the target the final one', () => {
    const rows = groups([
      { label: 'a', targetSeconds: 7 },
      { label: 'all-reduce', targetSeconds: 9 },
    ]);
    const text = readResult({ groups: rows, target, stopAtTarget: true, idealSpeedUp: null });
    expect(text).toMatch(/Runs ended at the target\.$/);
    expect(text).not.toMatch(/final/);
  });

  it('tells of a loss where that is the target', () => {
    const rows = groups([
      { label: 'a', targetSeconds: 7, testAccuracy: null, testLoss: 0.04 },
      { label: 'all-reduce', targetSeconds: 14, testAccuracy: null, testLoss: 0.05 },
    ]);
    const text = readResult({
      groups: rows,
      target: { measure: 'loss', value: 0.1 },
      stopAtTarget: false,
      idealSpeedUp: null,
    });
    expect(text).toMatch(/^a reached loss 0\.1 after 7\.0 s, 2\.00 times as fast as all-reduce \(14\.0 s\)\./);
    expect(text).toMatch(/The loss at the end is 0\.04 to 0\.05\.$/);
  });

  it('says nothing of a target that nobody set', () => {
    const text = readResult({
      groups: groups([{ label: 'a', targetSeconds: null }]),
      target: null,
      stopAtTarget: false,
      idealSpeedUp: null,
    });
    expect(text).toBe(
      'Its workers spent 10% of their time waiting for others. The final model has a test accuracy of 97.00%.',
    );
  });
});
