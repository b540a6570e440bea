/**
 * The report's style sheet. Colours are variables: light by default (and always on paper), dark where the reader's
 * system is. The series colours are those of Okabe and Ito (2008), which colour-blind readers can tell apart, darkened
 * or lightened for contrast with the page.
 */
export const PAGE_STYLE = `
:root {
  color-scheme: light dark;
  --page: #ffffff; --panel: #f5f6f8; --text: #1c1f24; --text-soft: #555c66; --rule: #d8dce2;
  --grid: #e6e9ee; --axis: #9aa1ab; --accent: #0b5cad;
  --series-0: #0072b2; --series-1: #c14a00; --series-2: #00805e; --series-3: #a8478a; --series-4: #8a6d00; --series-5: #3b3f46;
  --compute: #4a9fd8; --wait: #c98a00; --wait-back: #fdf0c8; --reduce: #00573f; --heat: #0b5cad;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --page: #14171c; --panel: #1d2128; --text: #e8eaed; --text-soft: #a7aeb9; --rule: #353b45;
    --grid: #2a2f38; --axis: #646c78; --accent: #7cb8f2;
    --series-0: #56b4e9; --series-1: #ff8a4c; --series-2: #35c79b; --series-3: #e39ace; --series-4: #e6c229; --series-5: #c9ced6;
    --compute: #3a7fb5; --wait: #d6a21e; --wait-back: #40340f; --reduce: #7ee0bd; --heat: #5aa9f0;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 66rem;
  background: var(--page); color: var(--text);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
}
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .75rem; }
h3 { font-size: 1rem; margin: 1.25rem 0 .35rem; }
p { margin: 0 0 .75rem; }
.reading { font-size: 1.1rem; max-width: 48rem; margin-top: .75rem; }
.explanation { max-width: 48rem; }
.warning { border-left: 3px solid var(--wait); padding-left: .75rem; max-width: 48rem; }
.note { color: var(--text-soft); font-size: .9rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .93rem; }
caption { caption-side: bottom; text-align: left; color: var(--text-soft); font-size: .9rem; padding-top: .4rem; }
th, td { text-align: right; padding: .45rem .6rem; border-bottom: 1px solid var(--rule); vertical-align: top; }
thead th { color: var(--text-soft); font-weight: 600; vertical-align: bottom; line-height: 1.3; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
th:last-child, td:last-child { padding-right: 0; }
tbody th { font-weight: 600; }
tbody tr.best td.goal { font-weight: 700; color: var(--accent); }
td .spread { display: block; color: var(--text-soft); font-size: .85em; font-weight: 400; }
td.chosen { font-weight: 700; color: var(--accent); }
.left { text-align: left; }
.nowrap { white-space: nowrap; }
.facts th { width: 14rem; font-weight: 400; color: var(--text-soft); }
.facts td { text-align: left; overflow-wrap: anywhere; }
figure { margin: 0; }
figure svg { display: block; width: 100%; min-width: 34rem; height: auto; font-family: inherit; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; margin: 0 0 .5rem; padding: 0; font-size: .93rem; }
.legend svg { width: 2.6rem; height: .8rem; min-width: 0; display: inline-block; vertical-align: middle; margin-right: .5rem; }
.swatch { display: inline-block; width: .85rem; height: .85rem; border-radius: 2px; margin-right: .5rem; vertical-align: -.08rem; }
.bar { display: flex; height: 1.1rem; min-width: 12rem; border-radius: 3px; overflow: hidden; background: var(--panel); }
.shares td.wide { width: 45%; }
.compute { background: var(--compute); }
.wait { background: repeating-linear-gradient(45deg, var(--wait-back) 0 4px, var(--wait) 4px 6px); }
.reduce { background: var(--reduce); }
.bar span, .swatch { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
.run th { padding-top: 1rem; }
details { margin-top: .5rem; }
summary { cursor: pointer; color: var(--accent); font-size: .93rem; }
details table { margin-top: .5rem; }
@media print {
  @page { margin: 15mm; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  h2, h3, .explanation, .legend { break-after: avoid; }
  tbody th.nowrap { white-space: normal; overflow-wrap: anywhere; min-width: 11.5rem; }
  .run { break-after: avoid; }
  p, figure, tr, .legend, .chart { break-inside: avoid; }
  figure svg { min-width: 0; }
  .scroll { overflow: visible; }
  details:not([open]) { display: none; }
}
`;
