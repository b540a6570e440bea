import { describe, expect, it } from 'vitest';
import { workerId } from '../base/ids.js';
import { type RunSummary, secondsToTarget } from '../observe/summary.js';
import { describeEnvironment } from './environment.js';
import { renderReport } from './render-report.js';
import type { ReportRun } from './report-input.js';

interface Sample {
  readonly label: string;
  readonly strategy?: string;
  /** Test accuracies, one a second. */
  readonly accuracies?: readonly number[];
  readonly summary?: Partial<RunSummary>;
}

function sampleRun({
  label,
  strategy = 'partial-reduce',
  accuracies = [0.8, 0.9, 0.95],
  summary = {},
}: Sample): ReportRun {
  const evaluations = accuracies.map((accuracy, index) => ({
    timeMs: 1000 * (index + 1),
    samples: 100 * (index + 1),
    accuracy,
    loss: 1 - accuracy,
  }));
  const targetAccuracy = summary.targetAccuracy === undefined ? 0.9 : summary.targetAccuracy;
  return {
    label,
    evaluations,
    workerTimes: [
      { worker: workerId(0), steps: 10, samples: 100, computeMs: 600, waitMs: 300, reduceMs: 100 },
      { worker: workerId(1), steps: 5, samples: 50, computeMs: 1000, waitMs: 0, reduceMs: 0 },
    ],
    summary: {
      strategy,
      workers: 2,
      groupSize: 2,
      weights: null,
      seed: 1,
      targetAccuracy,
      out: null,
      wallSeconds: accuracies.length,
      targetSeconds: secondsToTarget(evaluations, targetAccuracy),
      updates: 10,
      updatesToTarget: 5,
      localSteps: 15,
      samples: 150,
      testAccuracy: accuracies.at(-1) ?? null,
      testLoss: 0.05,
      idleShare: 0.15,
      reduceShare: 0.05,
      stepsPerWorker: [10, 5],
      groups: 10,
      rho: 0,
      maxGroupsToConnect: 1,
      holdShare: 0,
      bytesSent: 1000,
      faults: {},
      ...summary,
    },
  };
}

/** Opening tags without their closing ones, and the other way round. */
function unbalancedTags(page: string): string[] {
  const open: string[] = [];
  const wrong: string[] = [];
  const voidTags = new Set(['meta', 'br']);
  for (const [, close, name = '', selfClosed] of page.matchAll(/<(\/?)([a-zA-Z][\w-]*)(?:"[^"]*"|[^">])*?(\/?)>/g)) {
    if (selfClosed === '/' || voidTags.has(name)) continue;
    if (close === '') open.push(name);
    else if (open.pop() !== name) wrong.push(name);
  }
  return [...wrong, ...open];
}

const comparison = [
  sampleRun({ label: 'partial-reduce:dynamic' }),
  sampleRun({ label: 'all-reduce', strategy: 'all-reduce', accuracies: [0.5, 0.7, 0.8, 0.85, 0.95] }),
];

describe('renderReport', () => {
  it.each<[string, readonly ReportRun[]]>([
    ['one run', [sampleRun({ label: 'alone' })]],
    ['a comparison', comparison],
    ['repeats', [...comparison, ...comparison]],
    ['a run without evaluations', [sampleRun({ label: 'blind', accuracies: [] })]],
    ['a run with one evaluation', [sampleRun({ label: 'short', accuracies: [0.3] })]],
    ['a flat curve', [sampleRun({ label: 'flat', accuracies: [1, 1, 1] })]],
  ])('gives a whole page for %s', (_, runs) => {
    const page = renderReport({ runs });
    expect(unbalancedTags(page)).toEqual([]);
    for (const { label } of runs) expect(page).toContain(`<th scope="row" class="nowrap">${label}</th>`);
    expect(page).not.toMatch(/NaN|Infinity|undefined|\[object/);
    // Placeholders of colours, were they to remain
    expect(page).not.toMatch(/#[ab]0000\d/);
  });

  it('needs no script and nothing from elsewhere', () => {
    const page = renderReport({ runs: comparison });
    expect(page).not.toMatch(/<script|<link|<img|@import|url\((?!#)|\son\w+=|href="(?!#)|src="/i);
    expect(page.match(/https?:\/\/[^\s"<]+/g)?.filter((url) => url !== 'http://www.w3.org/2000/svg')).toEqual([]);
  });

  it('draws every run in both charts, with texts for screen readers', () => {
    const page = renderReport({ runs: comparison });
    const charts = page.match(/<svg viewBox="0 0 900[\s\S]*?<\/svg>/g) ?? [];
    expect(charts.length).toBe(2);
    for (const chart of charts) {
      expect(chart).toMatch(/role="img" aria-labelledby="(\w+)-title \1-description"/);
      expect(chart).toMatch(/<title id="\w+-title">[^<]+<\/title><desc id="\w+-description">[^<]+<\/desc>/);
      for (const colour of [0, 1]) expect(chart).toContain(`stroke="var(--series-${colour})"`);
    }
    expect(charts[0]).toContain('target 90%');
  });

  it('escapes every text that it is given', () => {
    const evil = `<img src=x onerror="alert('1')">&`;
    const page = renderReport({
      title: evil,
      runs: [sampleRun({ label: evil, strategy: evil }), sampleRun({ label: `${evil}2`, strategy: 'all-reduce' })],
      settings: [{ name: evil, value: evil }],
      environment: [{ name: evil, value: evil }],
    });
    expect(page).not.toContain('<img');
    expect(page).not.toContain(`alert('1')`);
    expect(page).toContain('&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;');
    expect(unbalancedTags(page)).toEqual([]);
  });

  it('shows the medians of repeats in one row', () => {
    const repeats = [3, 1, 2].map((seconds) =>
      sampleRun({ label: 'repeated', summary: { targetSeconds: seconds, wallSeconds: 10 * seconds } }),
    );
    const page = renderReport({ runs: repeats });
    expect(page.match(/<th scope="row" class="nowrap">repeated<\/th>/g)?.length).toBe(1);
    expect(page).toContain('2.0 s<span class="spread">1.0–3.0</span></td>');
    expect(page).toContain('20.0 s</td>');
    expect(page).toContain('All numbers are medians of 3 runs.');
  });

  it('tells of a target that not every repeat reached', () => {
    const repeats = [3, null, 2].map((targetSeconds) => sampleRun({ label: 'repeated', summary: { targetSeconds } }));
    expect(renderReport({ runs: repeats })).toContain('3.0 s<span class="spread">2.0–never</span></td>');
  });

  it('says of accuracy that it is that at the target, where runs ended there', () => {
    expect(renderReport({ runs: comparison, stopAtTarget: true })).toContain('>Test accuracy at the target</th>');
    expect(renderReport({ runs: comparison })).toContain('>Test accuracy</th>');
  });

  it('speaks of groups of P, and of their rho in theory, for partial reduce alone', () => {
    const changes = { workers: 8, groupSize: 3, rho: 0.75 };
    const runs = [
      sampleRun({ label: 'ours', strategy: 'partial-reduce', summary: { ...changes, weights: 'dynamic' } }),
      sampleRun({ label: 'pairs', strategy: 'ad-psgd', summary: changes }),
      sampleRun({ label: 'served', strategy: 'ps-asp', summary: { ...changes, rho: null } }),
    ];
    const page = renderReport({ runs });
    expect(page).toContain(
      '8 workers, groups of 3, dynamic weights, seed 1, rho 0.750 (uniform groups, (N\u00a0−\u00a0P)/(N\u00a0−\u00a01): 0.714)',
    );
    expect(page).toContain('<td>8 workers, seed 1, rho 0.750, at most');
    expect(page).toContain('<td>8 workers, seed 1, at most');
  });

  it('shows what tuning found, the chosen rates marked', () => {
    const trial = { updatesToTarget: null, wallSeconds: 9, testAccuracy: null, testLoss: null, failure: null };
    const trials = [
      { ...trial, learningRate: 0.1, targetSeconds: 4.25, testAccuracy: 0.91 },
      { ...trial, learningRate: 0.3, targetSeconds: null, testAccuracy: 0.8123 },
      { ...trial, learningRate: 1, targetSeconds: null, failure: 'diverged' },
    ];
    const page = renderReport({
      runs: comparison,
      tuned: [
        { label: 'partial-reduce', learningRate: 0.1, trials },
        { label: 'all-reduce', learningRate: null, trials: trials.slice(2) },
      ],
    });
    expect(page).toContain(
      '<td>0.1</td><td class="nowrap chosen">4.3 s</td><td class="nowrap">81.23%</td><td class="nowrap">failed</td>',
    );
    expect(page).toContain(
      '<td>none</td><td class="nowrap">—</td><td class="nowrap">—</td><td class="nowrap">failed</td>',
    );
    expect(page).toContain('>Learning rate</th>');
    expect(renderReport({ runs: comparison })).not.toContain('Learning rate');
  });

  it('draws twelve curves in styles of their own, named in the order in which they reached the target', () => {
    const times = [7, 3, null, 5, 1, 9, 2, 8, 4, 6, 11, 10];
    const runs = times.map((targetSeconds, index) => sampleRun({ label: `run ${index}`, summary: { targetSeconds } }));
    const page = renderReport({ runs });
    const legend = /<ul class="legend">(.*?)<\/ul>/s.exec(page)?.[1] ?? '';
    const names = [...legend.matchAll(/<\/svg>(run \d+)/g)].map((match) => Number((match[1] ?? '').slice(4)));
    expect(names).toEqual([4, 6, 1, 8, 3, 9, 0, 7, 5, 11, 10, 2]);
    const samples = [...legend.matchAll(/<svg.*?<\/svg>/g)].map(([svg]) => svg);
    expect(new Set(samples).size).toBe(12);
    expect(unbalancedTags(page)).toEqual([]);
  });

  it('shows runs that have a loss alone', () => {
    const runs = ['partial-reduce', 'all-reduce'].map((label) => {
      const run = sampleRun({ label, strategy: label, summary: { testAccuracy: null, testLoss: 0.0312 } });
      return { ...run, evaluations: run.evaluations.map((point) => ({ ...point, accuracy: null })) };
    });
    const page = renderReport({ runs, targetAccuracy: null, targetLoss: 0.1, isSimulated: true });
    expect(page).toContain('>Time to loss 0.1</th>');
    expect(page).toContain('target 0.1</text>');
    expect(page).toContain('0.0312');
    expect(page).toContain('Loss against virtual time');
    expect(page).not.toContain('Test accuracy against time');
    expect(unbalancedTags(page)).toEqual([]);
  });

  it('leaves the target out where there is none', () => {
    const page = renderReport({
      runs: comparison.map((run) => ({ ...run, summary: { ...run.summary, targetSeconds: null } })),
      targetAccuracy: null,
    });
    expect(page).not.toContain('Time to');
    expect(page).not.toContain('Speed-up');
    expect(page).not.toContain('target ');
  });

  it('shows settings, reference time, environment and faults', () => {
    const page = renderReport({
      runs: [{ ...sampleRun({ label: 'alone', summary: { faults: { death: 2 } } }), overrunShare: 0.0123 }],
      settings: [{ name: 'Batch', value: 64 }],
      referenceMs: 12.345,
      environment: describeEnvironment('1.2.3'),
    });
    for (const text of [
      'Batch',
      '64',
      '12.3 ms',
      '1.2.3',
      process.version,
      '2\u00a0×\u00a0death',
      '1.2% of the steps took',
    ]) {
      expect(page).toContain(text);
    }
  });

  it('tells the worst overrun of the repeats, and none where no device is emulated', () => {
    const [run] = comparison as [ReportRun];
    const page = renderReport({ runs: [0.01, 0.25, null].map((overrunShare) => ({ ...run, overrunShare })) });
    expect(page).toContain('25.0% of the steps took longer than the emulated device allows');
    expect(renderReport({ runs: [run, { ...run, overrunShare: null }] })).not.toContain('took longer');
  });

  it('says how long workers were held for connectivity, where they were', () => {
    const pageOf = (holdShare: number): string =>
      renderReport({ runs: [sampleRun({ label: 'run', summary: { holdShare, maxGroupsToConnect: 7 } })] });
    expect(pageOf(0.125)).toContain('at most 7 groups to connect all workers, held for connectivity 12.5% of the time');
    expect(pageOf(0)).not.toContain('held for connectivity');
  });

  it('shows notes before everything else, escaped', () => {
    const page = renderReport({ runs: comparison, notes: ['cut <off>'] });
    expect(page.indexOf('<p class="warning">cut &lt;off&gt;</p>')).toBeGreaterThan(page.indexOf('<h1>'));
    expect(page.indexOf('cut &lt;off&gt;')).toBeLessThan(page.indexOf('id="results"'));
    expect(renderReport({ runs: comparison })).not.toContain('class="warning"');
  });

  it('asserts that there is a run', () => {
    expect(() => renderReport({ runs: [] })).toThrow('a report needs a run');
  });
});
