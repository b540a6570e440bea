/**
 * The part of the report on how runs went: a window in detail, who averaged with whom, how stale the models were. Each
 * picture begins with a sentence for a reader who does not know the terms.
 */
import { addStaleness } from '../observe/staleness.js';
import type { Timeline } from '../observe/timeline.js';
import { type Html, html, trustedHtml } from './html.js';
import { describeShown, renderMeetingsChart } from './meetings-chart.js';
import type { ReportGroup } from './report-input.js';
import { renderStalenessChart } from './staleness-chart.js';
import { renderTimelineChart, workersOf } from './timeline-chart.js';

/** From this share of groups of everybody on, a matrix would show nothing. */
const WHOLE_SHARE_MIN = 0.9;

/** Nothing of groups whose runs tell nothing of their structure. */
export function renderStructure(groups: readonly ReportGroup[]): Html {
  return html`${renderTimelines(groups)}${renderMeetings(groups)}${renderStaleness(groups)}`;
}

/** A heading per run, where there are several. */
function frame(groups: readonly ReportGroup[], label: string, chart: Html, note: string | null): Html {
  const heading = groups.length === 1 ? null : html`<h3>${label}</h3>`;
  const caption = note === null ? null : html`<figcaption class="note">${note}</figcaption>`;
  return html`<div class="chart">${heading}<figure><div class="scroll">${chart}</div>${caption}</figure></div>
`;
}

const TIMELINE_LEGEND: readonly { readonly name: string; readonly picture: string }[] = [
  { name: 'computing', picture: '<rect x="2" y="2" width="38" height="8" fill="var(--compute)"/>' },
  { name: 'waiting for others', picture: '<rect x="2" y="5" width="38" height="2.5" fill="var(--wait)"/>' },
  { name: 'averaging in a group', picture: '<rect x="2" y="2" width="38" height="8" fill="var(--reduce)"/>' },
  {
    name: 'members of a group',
    picture:
      '<path d="M8 6H34" stroke="var(--text)" stroke-width="1.25"/><circle cx="8" cy="6" r="3" fill="var(--text)"/><circle cx="34" cy="6" r="3" fill="var(--text)"/>',
  },
];

function renderTimelines(groups: readonly ReportGroup[]): Html | null {
  const shown = groups.flatMap(({ label, typical }, index) => {
    const timeline = typical.structure?.timeline ?? null;
    return timeline === null ? [] : [{ label, timeline, index, stepsPerWorker: typical.summary.stepsPerWorker }];
  });
  if (shown.length === 0) return null;
  const spanMs = Math.min(...shown.map(({ timeline }) => lengthOf(timeline)));
  const charts = shown.map(({ label, timeline, index, stepsPerWorker }) => {
    const title = `What each worker of ${label} did`;
    const chart = renderTimelineChart({ id: `timeline-${index}`, title, timeline, spanMs, stepsPerWorker });
    const workers = workersOf({ timeline, stepsPerWorker });
    const left = workers.all.length - workers.shown.length;
    const note =
      left === 0 ? null : `Of ${workers.all.length} workers, ${workers.shown.length} from the slowest to the fastest.`;
    return frame(groups, label, chart, note);
  });
  const legend = TIMELINE_LEGEND.map(
    ({ name, picture }) =>
      html`<li>${trustedHtml(`<svg viewBox="0 0 42 12" aria-hidden="true">${picture}</svg>`)}${name}</li>`,
  );
  return html`<section aria-labelledby="timelines"><h2 id="timelines">What each worker did</h2>
<p class="explanation">${formatSpan(spanMs)} from the middle of the run: each row is a worker, thick bars are work and thin ones idle waiting, and a vertical line joins the workers that average their models with each other at that moment.</p>
<ul class="legend">${legend}</ul>
${charts}</section>
`;
}

function lengthOf({ startMs, endMs }: Timeline): number {
  return endMs - startMs;
}

function formatSpan(spanMs: number): string {
  return spanMs < 1000 ? `${Math.round(spanMs)} milliseconds` : `${(spanMs / 1000).toFixed(1)} seconds`;
}

function renderMeetings(groups: readonly ReportGroup[]): Html | null {
  const known = groups.flatMap(({ label, typical }, index) => {
    const meetings = typical.structure?.meetings;
    return meetings === undefined || meetings.groups === 0 || meetings.workers.length < 2
      ? []
      : [{ label, meetings, index, stepsPerWorker: typical.summary.stepsPerWorker }];
  });
  if (known.length === 0) return null;
  const parts = known.map(({ label, meetings, index, stepsPerWorker }) => {
    const who = groups.length === 1 ? 'Here' : `With ${label}`;
    // At the end of a run some have nothing left to do.
    if (meetings.wholeGroups >= WHOLE_SHARE_MIN * meetings.groups) {
      const often =
        meetings.wholeGroups === meetings.groups
          ? 'every group'
          : `${meetings.wholeGroups} of ${meetings.groups} groups`;
      return html`<p>${who} ${often} held all the workers that were there: everybody met everybody else.</p>
`;
    }
    const title = `How often two workers of ${label} met`;
    const chart = renderMeetingsChart({ id: `meetings-${index}`, title, meetings, stepsPerWorker });
    const { shown, description } = describeShown({ meetings, stepsPerWorker });
    const left = stepsPerWorker.length - shown;
    const many =
      left <= 0 ? '' : ` Of ${stepsPerWorker.length} workers, ${shown} from the slowest to the fastest are shown.`;
    return frame(groups, label, chart, `${description} Workers that take fewer steps meet others less often.${many}`);
  });
  return html`<section aria-labelledby="meetings"><h2 id="meetings">Who averaged with whom</h2>
<p class="explanation">Each number tells how often two workers averaged their models in the same group, beside what pure chance would give: what one worker learns reaches another only by such meetings, so no pair, and no set of workers, should be cut off from the rest.</p>
${parts}</section>
`;
}

function renderStaleness(groups: readonly ReportGroup[]): Html | null {
  const rows = groups.flatMap(({ label, runs }, index) => {
    const known = runs.flatMap(({ structure }) => (structure === undefined ? [] : [structure.staleness]));
    const staleness = addStaleness(known);
    return staleness.counts.length === 0 ? [] : [{ label, staleness, index }];
  });
  if (rows.length === 0) return null;
  const chart = renderStalenessChart('staleness-chart', 'Staleness of the averaged models', rows);
  return html`<section class="chart" aria-labelledby="staleness"><h2 id="staleness">How stale the averaged models were</h2>
<p class="explanation">Whenever workers average their models, some have taken fewer steps than others: the bars tell what share of the models lay how many steps behind the most advanced one of its group (0: not at all).</p>
<figure><div class="scroll">${chart}</div></figure>
</section>
`;
}
