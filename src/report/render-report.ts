/**
 * The report: one HTML file about one or several runs, that needs nothing else (no script, no font, no request).
 */
import { assert } from '../base/assert.js';
import type { RunSummary } from '../observe/summary.js';
import { uniformRho } from '../observe/uniform-rho.js';
import { renderComparisonTable } from './comparison-table.js';
import { renderAccuracyChart, renderLossChart, renderValues } from './curves.js';
import { formatPercent } from './format.js';
import { type Html, html, trustedHtml } from './html.js';
import { PAGE_STYLE } from './page-style.js';
import { readResult } from './reading.js';
import {
  groupRuns,
  type ReportFact,
  type ReportGroup,
  type ReportInput,
  type ReportRun,
  type ReportTarget,
  targetOf,
} from './report-input.js';
import { renderStructure } from './structure-sections.js';
import { renderTimeShares } from './time-shares.js';
import { renderTuning } from './tuning-table.js';

/** Nothing may be fetched, whatever a label manages to say. */
const CONTENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/** Renders the page. `input.runs` must not be empty (asserted); every text in it is escaped. */
export function renderReport(input: ReportInput): string {
  assert(input.runs.length > 0, 'a report needs a run');
  const groups = groupRuns(input.runs);
  const target = targetOf(input);
  const { stopAtTarget = false, tuned = null, isSimulated = false, idealSpeedUp = null } = input;
  const title = input.title ?? titleOf(groups, isSimulated);
  const reading = readResult({ groups, target, stopAtTarget, idealSpeedUp });
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${CONTENT_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Preduce</title>
<style>${trustedHtml(PAGE_STYLE)}</style>
</head>
<body>
<main>
<header>
<h1>${title}</h1>
<p class="reading">${reading}</p>
${(input.notes ?? []).map((note) => html`<p class="warning">${note}</p>`)}
</header>
<section aria-labelledby="results"><h2 id="results">Results</h2>
${renderComparisonTable({ groups, target, stopAtTarget, tuned })}
</section>
${renderCurves(groups, { target, isSimulated })}
${renderTuning(tuned ?? [], target)}
<section aria-labelledby="shares"><h2 id="shares">Where the workers' time went</h2>
${renderTimeShares(groups)}
</section>
${renderStructure(groups)}
${renderFacts('settings', 'Settings', settingsOf(input, groups))}
${renderFacts('environment', 'Environment', input.environment ?? [])}
</main>
</body>
</html>
`;
  return page.text;
}

function titleOf(groups: readonly ReportGroup[], isSimulated: boolean): string {
  const names = groups.map((group) => group.label);
  if (names.length === 1) return `${isSimulated ? 'Simulated' : 'Training'} run: ${names[0]}`;
  return `Comparison of ${names.length} ways to train${isSimulated ? ', simulated' : ''}`;
}

function renderCurves(
  groups: readonly ReportGroup[],
  { target, isSimulated }: { readonly target: ReportTarget | null; readonly isSimulated: boolean },
): Html {
  const isEvaluated = groups.some((group) => group.runs.some((run) => run.evaluations.length > 0));
  if (!isEvaluated) return html`<p class="note">No evaluation was made: there is no curve to show.</p>`;
  const accuracyChart = renderAccuracyChart(groups, target);
  const accuracy =
    accuracyChart === null
      ? null
      : html`<section class="chart" aria-labelledby="accuracy-heading"><h2 id="accuracy-heading">Test accuracy against time</h2>
${accuracyChart}
</section>
`;
  const lossTitle = isSimulated ? 'Loss against virtual time' : 'Test loss against time';
  return html`${accuracy}<section class="chart" aria-labelledby="loss-heading"><h2 id="loss-heading">${lossTitle}</h2>
${renderLossChart(groups, lossTitle, target)}
${renderValues(groups)}
</section>`;
}

/** What was asked for, and what the summaries say beside the table. */
function settingsOf(input: ReportInput, groups: readonly ReportGroup[]): readonly ReportFact[] {
  const facts: ReportFact[] = [...(input.settings ?? [])];
  if (input.referenceMs != null) {
    facts.push({ name: 'Reference iteration', value: `${input.referenceMs.toFixed(1)} ms on the reference device` });
  }
  for (const { label, summary, runs } of groups) {
    const details = [
      `${summary.workers} workers`,
      summary.strategy === 'partial-reduce' ? `groups of ${summary.groupSize}` : null,
      summary.weights === null ? null : `${summary.weights} weights`,
      runs.length === 1 ? `seed ${summary.seed}` : `${runs.length} repeats, seeds from ${summary.seed}`,
      rhoOf(summary),
      summary.maxGroupsToConnect === null
        ? null
        : `at most ${summary.maxGroupsToConnect} groups to connect all workers`,
      summary.holdShare > 0 ? `held for connectivity ${formatPercent(summary.holdShare)} of the time` : null,
      overrunOf(runs),
      faultsOf(summary.faults),
    ];
    facts.push({ name: label, value: details.filter((detail) => detail !== null).join(', ') });
  }
  return facts;
}

/** Measured, beside that of groups drawn uniformly. */
function rhoOf(summary: RunSummary): string | null {
  const uniform = uniformRho(summary);
  if (summary.rho === null) return null;
  const theory =
    uniform === null ? '' : ` (uniform groups, (N\u00a0−\u00a0P)/(N\u00a0−\u00a01): ${uniform.toFixed(3)})`;
  return `rho ${summary.rho.toFixed(3)}${theory}`;
}

/** `faults: 2 × death, 1 × transfer`, each on one line; null where there was none. */
function faultsOf(faults: RunSummary['faults']): string | null {
  const kinds = Object.entries(faults).map(([kind, count]) => `${count}\u00a0×\u00a0${kind}`);
  return kinds.length === 0 ? null : `faults:\u00a0${kinds.join(', ')}`;
}

/** How far the emulation can be believed: the worst of the repeats. */
function overrunOf(runs: readonly ReportRun[]): string | null {
  const known = runs.flatMap(({ overrunShare }) => (overrunShare == null ? [] : [overrunShare]));
  if (known.length === 0) return null;
  return `${formatPercent(Math.max(...known))} of the steps took longer than the emulated device allows`;
}

function renderFacts(id: string, heading: string, facts: readonly ReportFact[]): Html | null {
  if (facts.length === 0) return null;
  const rows = facts.map(
    ({ name, value }) => html`<tr><th scope="row">${name}</th><td>${value}</td></tr>
`,
  );
  return html`<section aria-labelledby="${id}"><h2 id="${id}">${heading}</h2>
<table class="facts"><tbody>
${rows}</tbody></table>
</section>`;
}
