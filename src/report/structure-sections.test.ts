import { describe, expect, it } from 'vitest';
import { groupId, workerId } from '../base/ids.js';
import { createRunStructure, type RunStructure } from '../observe/run-structure.js';
import { createSummary } from '../observe/summary.js';
import { formatMeetings } from './meetings-chart.js';
import { groupRuns, type ReportRun } from './report-input.js';
import { chooseWorkers } from './shown-workers.js';
import { binStaleness } from './staleness-chart.js';
import { renderStructure } from './structure-sections.js';

/** A run in which groups of `groupSize` go round the workers; the member at place `i` lies `i` steps behind. */
function structureOf(workers: number, groupSize: number, iterations: number): RunStructure {
  const structure = createRunStructure();
  const all = Array.from({ length: workers }, (_, index) => workerId(index));
  structure.add({ type: 'started', timeMs: 0, workers: all });
  for (let index = 0; index < iterations; index += 1) {
    const at = 10 * index;
    const members = Array.from({ length: groupSize }, (_, member) => workerId((index + member) % workers));
    const group = groupId(1, index);
    for (const worker of members) {
      const step = { k: 1, samples: 1, loss: null, finite: true, computeMs: 0, paddingMs: 0, overrun: false };
      structure.add({ type: 'ready', timeMs: at + 5, worker, ...step });
    }
    const staleness = members.map((_, place) => place);
    const weights = members.map(() => 1 / groupSize);
    structure.add({
      type: 'groupFormed',
      timeMs: at + 6,
      group,
      kind: 'step',
      members,
      weights,
      staleness,
      kMax: index,
    });
    for (const worker of members) {
      structure.add({ type: 'reduced', timeMs: at + 9, group, worker, bytesSent: 1, reduceMs: 3 });
    }
    structure.add({ type: 'groupClosed', timeMs: at + 9, group, kind: 'step', committed: members, aborted: false });
  }
  return structure.result();
}

function runOf(label: string, structure: RunStructure | null, workers = 4): ReportRun {
  const facts = { strategy: label, workers, groupSize: 2, weights: null, seed: 1, targetAccuracy: null, out: null };
  const summary = createSummary(facts).result();
  return { label, summary, evaluations: [], workerTimes: [], ...(structure === null ? {} : { structure }) };
}

function render(...runs: readonly ReportRun[]): string {
  return renderStructure(groupRuns(runs)).text;
}

describe('renderStructure', () => {
  it.each([2, 4, 16, 64])('draws all of a run of %i workers', (workers) => {
    const text = render(runOf('mine', structureOf(workers, 2, 20 * workers), workers));
    expect(text).not.toMatch(/NaN|Infinity|undefined|#[ab]0000\d/);
    expect(text).toContain('id="timeline-0-title"');
    expect(text).toContain('id="staleness-chart-title"');
    // Two workers always meet: there is nothing that a matrix could show.
    expect(text.includes('id="meetings-0-title"')).toBe(workers > 2);
    expect(text.includes('every group held all the workers')).toBe(workers === 2);
    expect(text.includes('from the slowest to the fastest')).toBe(workers > 16);
  });

  it('tells both kinds of numbers of the matrix in words', () => {
    // Of four workers in a ring only neighbours meet: 400 groups, 100 for each of four pairs, none for two.
    const text = render(runOf('ring', structureOf(4, 2, 400)));
    expect(text).toContain('Two workers met 0 to 100 times; drawn by chance they would have met 67 times.');
    expect(text.match(/>100<\/text>/g)?.length).toBe(8);
    expect(text.match(/>67<\/text>/g)?.length).toBe(12);
  });

  it('draws a row of each worker, a bar of each activity and a link of each group', () => {
    const text = render(runOf('mine', structureOf(4, 2, 400)));
    const timeline = text.slice(text.indexOf('id="timeline-0-title"'), text.indexOf('id="meetings"'));
    for (const worker of [0, 1, 2, 3]) expect(timeline).toContain(`>worker ${worker}</text>`);
    for (const activity of ['compute', 'wait', 'reduce']) expect(timeline).toContain(`fill="var(--${activity})"`);
    const dots = timeline.match(/fill="var\(--text\)"/g)?.length ?? 0;
    expect(dots).toBeGreaterThanOrEqual(2 * 20);
    expect(dots % 2).toBe(0);
  });

  it('shows the same span of time of every way to train, and tells them apart by headings', () => {
    const text = render(runOf('short', structureOf(4, 2, 8)), runOf('long', structureOf(4, 2, 800)));
    expect(text).toContain('<h3>short</h3>');
    expect(text).toContain('<h3>long</h3>');
    const spans = [...text.matchAll(/workers did from ([\d.]+) s to ([\d.]+) s/g)].map(
      ([, from, to]) => Number(to) - Number(from),
    );
    expect(spans.length).toBe(2);
    expect(spans[0]).toBeCloseTo(spans[1] as number, 1);
  });

  it('adds up the staleness of repeats', () => {
    const text = render(runOf('a', structureOf(4, 2, 10)), runOf('a', structureOf(4, 4, 10)));
    // 20 members at 0 and 1, 40 at 0 to 3: (10 + 60) / 60
    expect(text).toContain('a (mean 1.17, at most 3)');
  });

  it('escapes labels', () => {
    expect(render(runOf('<b>', structureOf(4, 2, 40)), runOf('<i>', structureOf(2, 2, 9), 2))).not.toMatch(/<[bi]>/);
  });

  it.each<[string, ReportRun]>([
    ['without structure', runOf('a', null)],
    ['that never started', runOf('a', createRunStructure().result())],
  ])('leaves out a run %s', (_, run) => {
    expect(render(run)).toBe('');
  });
});

describe('chooseWorkers', () => {
  it.each<[number[], number, number[]]>([
    [[3, 1, 2], 3, [3, 1, 2]],
    [[5, 4, 3, 2, 1], 3, [1, 3, 5]],
    [[], 3, []],
  ])('of %j at most %i: %j', (items, max, chosen) => {
    expect(chooseWorkers(items, max, (item) => item)).toEqual(chosen);
  });
});

describe('formatMeetings', () => {
  it.each<[number, boolean, string]>([
    [0, false, '0'],
    [999, false, '999'],
    [1234, false, '1.2k'],
    [12_345, false, '12k'],
    [2.345, true, '2.3'],
    [3, true, '3'],
    [38.6, true, '39'],
  ])('%d, expected %s: %s', (count, isExpected, text) => {
    expect(formatMeetings(count, isExpected)).toBe(text);
  });
});

describe('binStaleness', () => {
  const of = (counts: readonly number[], max = counts.length - 1) => ({ counts, mean: 0, max });

  it.each<[string, Parameters<typeof binStaleness>[0], string[], number[][]]>([
    [
      'single iterations',
      [of([3, 1]), of([1])],
      ['0', '1'],
      [
        [0.75, 0.25],
        [1, 0],
      ],
    ],
    ['no members', [of([])], ['0'], [[0]]],
    ['no rows', [], ['0'], []],
  ])('of %s', (_, rows, names, shares) => {
    expect(binStaleness(rows)).toEqual({ names, shares });
  });

  it('joins iterations where there are many, and tells that the last has no end', () => {
    const { names, shares } = binStaleness([
      of(
        Array.from({ length: 1001 }, () => 1),
        5000,
      ),
    ]);
    expect(names.length).toBeLessThanOrEqual(20);
    expect([names[0], names.at(-1)]).toEqual(['0–50', '969+']);
    expect(shares[0]?.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1);
  });
});
