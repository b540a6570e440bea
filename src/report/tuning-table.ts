/**
 * What tuning found: one row a strategy, one column a learning rate, the chosen ones marked.
 */
import type { Trial, TunedStrategy } from '../observe/tuning-record.js';
import { formatGoal, formatLoss, formatPercent, formatSeconds, UNKNOWN } from './format.js';
import { type Html, html } from './html.js';
import type { ReportTarget } from './report-input.js';

/** Its section of the report; nothing where nothing was tuned. */
export function renderTuning(tuned: readonly TunedStrategy[], target: ReportTarget | null): Html | null {
  if (tuned.length === 0) return null;
  const rates = [...new Set(tuned.flatMap(({ trials }) => trials.map(({ learningRate }) => learningRate)))].toSorted(
    (a, b) => a - b,
  );
  const rows = tuned.map(({ label, learningRate, trials }) => {
    const cells = rates.map((rate) => {
      const trial = trials.find((each) => each.learningRate === rate);
      const isChosen = rate === learningRate;
      return html`<td class="${isChosen ? 'nowrap chosen' : 'nowrap'}">${trial === undefined ? UNKNOWN : describeTrial(trial)}</td>`;
    });
    return html`<tr><th scope="row" class="nowrap">${label}</th><td>${learningRate ?? 'none'}</td>${cells}</tr>
`;
  });
  const headings = rates.map((rate) => html`<th scope="col">${rate}</th>`);
  const what =
    target === null
      ? 'its loss at the end'
      : `its time to ${formatGoal(target)} or, where that was not reached, what it came to`;
  return html`<section aria-labelledby="tuning"><h2 id="tuning">Learning rates</h2>
<p class="explanation">Each strategy was run once with each of these rates, on a seed that is not measured: ${what}. The marked rate was taken for the results above.</p>
<div class="scroll"><table>
<thead><tr><th scope="col">Run</th><th scope="col">Chosen</th>${headings}</tr></thead>
<tbody>${rows}</tbody>
</table></div>
</section>
`;
}

function describeTrial({ targetSeconds, testAccuracy, testLoss }: Trial): string {
  if (targetSeconds !== null) return formatSeconds(targetSeconds);
  if (testAccuracy !== null) return formatPercent(testAccuracy, 2);
  return testLoss === null ? 'failed' : `loss ${formatLoss(testLoss)}`;
}
