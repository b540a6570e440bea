/**
 * Writes the loss against time of simulated runs as one SVG, a panel for each number of workers. Part of simulated-tables.mjs.
 */
import { writeFileSync } from 'node:fs';

const PANEL = { width: 420, height: 270, left: 52, right: 14, top: 34, bottom: 40 };
const COLUMNS = 2;
const LEGEND_HEIGHT = 34;
const TICKS = 5;
/** Distinguishable by people who see few colours (Okabe and Ito), partial reduce in the darkest. */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#8a6d00'];
const DASHES = ['', '6 3', '2 3', '8 3 2 3', '1 2'];

function escapeXml(content) {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** 1, 2 or 5 times a power of ten, so that some five steps of it are `span`. */
function tickStep(span) {
  const power = 10 ** Math.floor(Math.log10(span / TICKS));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => span / step <= TICKS + 1);
}

function text(x, y, content, { anchor = 'middle', size = 12, weight = 'normal' } = {}) {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" font-size="${size}" font-weight="${weight}">${escapeXml(content)}</text>`;
}

/** Log-scaled loss over seconds, up to three times the time that the first curve took. */
function drawPanel({ title, curves }, [offsetX, offsetY], colourOf) {
  const { width, height, left, right, top, bottom } = PANEL;
  const endOf = ({ points }) => points.at(-1)?.[0] ?? 0;
  const xMax = Math.min(Math.max(...curves.map(endOf)), 3 * endOf(curves[0]));
  const losses = curves.flatMap(({ points }) => points.filter(([time]) => time <= xMax).map(([, loss]) => loss));
  const [yMin, yMax] = [Math.min(...losses), Math.max(...losses)].map(Math.log);
  const x = (seconds) => offsetX + left + (seconds / xMax) * (width - left - right);
  const y = (loss) => offsetY + top + ((yMax - Math.log(loss)) / (yMax - yMin)) * (height - top - bottom);
  const parts = [text(offsetX + left, offsetY + 20, title, { anchor: 'start', size: 14, weight: 'bold' })];
  const step = tickStep(xMax);
  for (let tick = 0; tick <= xMax; tick += step) {
    parts.push(text(x(tick), offsetY + height - bottom + 16, String(Number(tick.toPrecision(6)))));
  }
  parts.push(text(offsetX + (left + width - right) / 2, offsetY + height - 8, 'seconds of virtual time'));
  for (const loss of [0.25, 0.35, 0.5, 0.7, 1, 1.5, 2, 3, 5].filter(
    (each) => Math.log(each) >= yMin && Math.log(each) <= yMax,
  )) {
    parts.push(
      `<line x1="${x(0)}" x2="${x(xMax)}" y1="${y(loss).toFixed(1)}" y2="${y(loss).toFixed(1)}" stroke="#ddd"/>`,
      text(offsetX + left - 6, y(loss) + 4, String(loss), { anchor: 'end' }),
    );
  }
  for (const { name, points } of curves) {
    const { colour, dash } = colourOf(name);
    const path = points
      .filter(([time]) => time <= xMax)
      .map(([time, loss]) => `${x(time).toFixed(1)},${y(loss).toFixed(1)}`);
    parts.push(
      `<polyline points="${path.join(' ')}" fill="none" stroke="${colour}" stroke-width="1.8" stroke-dasharray="${dash}"/>`,
    );
  }
  return parts.join('\n');
}

/**
 * @param {URL} file
 * @param {{ title: string, curves: { name: string, points: [seconds: number, loss: number][] }[] }[]} panels The first curve of
 *   each is partial reduce, the others have the same names in all.
 */
export function writeCurves(file, panels) {
  const names = ['partial-reduce', ...panels[0].curves.slice(1).map(({ name }) => name)];
  const colourOf = (name) => {
    const i = names.indexOf(name.startsWith('partial-reduce') ? 'partial-reduce' : name);
    return { colour: COLOURS[i % COLOURS.length], dash: DASHES[i % DASHES.length] };
  };
  const width = PANEL.width * Math.min(COLUMNS, panels.length);
  const height = LEGEND_HEIGHT + PANEL.height * Math.ceil(panels.length / COLUMNS);
  const legend = names.map((name, i) => {
    const x = 52 + (i * (width - 60)) / names.length;
    const { colour, dash } = colourOf(name);
    return `<line x1="${x}" x2="${x + 26}" y1="18" y2="18" stroke="${colour}" stroke-width="2.5" stroke-dasharray="${dash}"/>
${text(x + 32, 22, name, { anchor: 'start' })}`;
  });
  const drawn = panels.map((panel, i) => {
    const place = [PANEL.width * (i % COLUMNS), LEGEND_HEIGHT + PANEL.height * Math.floor(i / COLUMNS)];
    const [ours] = panel.curves;
    const title = `${panel.title} (partial-reduce: ${ours.name.replace('partial-reduce, ', '')})`;
    return drawPanel({ ...panel, title }, place, colourOf);
  });
  writeFileSync(
    file,
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" fill="#222">
<title>Loss against time in virtual time</title>
<rect width="${width}" height="${height}" fill="#fff"/>
${legend.join('\n')}
${drawn.join('\n')}
</svg>
`,
  );
}
