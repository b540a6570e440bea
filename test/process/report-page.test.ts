/**
 * The report of a real comparison in a real browser: it fetches nothing, complains about nothing, and fits narrow and wide
 * windows, light and dark. Needs Chromium (Debian's package `chromium`, or CHROMIUM naming the program).
 */
import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWorkplace, type Workplace, writeTinyDigits } from './cli-run.js';

const PROGRAM = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
/** No sandbox: CI runs as root. The rest keeps the browser from calling home. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
const LEAST_CONTRAST = 0.5;

describe.runIf(existsSync(PROGRAM))('the report in Chromium', () => {
  let place: Workplace;
  let browser: Browser;
  let address = '';

  beforeAll(async () => {
    place = await openWorkplace();
    await writeTinyDigits(place.path('digits'), { train: 800, test: 100 });
    const sizes = ['--workers', '3', '--batch-size', '20', '--epochs', '1', '--target-accuracy', '.5'];
    const args = [
      'compare',
      '--data',
      'digits',
      '--strategies',
      'partial-reduce,all-reduce',
      '--quiet',
      '--out',
      'run',
    ];
    const { code, stderr } = await place.run([...args, ...sizes]);
    if (code !== 0) throw new Error(`the comparison to report on failed: ${stderr}`);
    address = pathToFileURL(place.path('run/report.html')).href;
    browser = await chromium.launch({ executablePath: PROGRAM, args: FLAGS });
  });

  afterAll(async () => {
    await browser.close();
    await place.close();
  });

  const cases = [380, 800, 1400].flatMap((width) => (['light', 'dark'] as const).map((scheme) => ({ width, scheme })));

  it.each(cases)('fits $width pixels, $scheme', async ({ width, scheme }) => {
    const page = await browser.newPage({ colorScheme: scheme, viewport: { width, height: 900 } });
    const said: string[] = [];
    const requested: string[] = [];
    page.on('console', (message) => said.push(message.text()));
    page.on('pageerror', (error) => said.push(error.message));
    page.on('request', (request) => requested.push(request.url()));
    await page.goto(address);
    expect(said).toEqual([]);
    expect(requested).toEqual([address]);
    // Wide tables and charts may scroll within themselves, the page may not.
    const overflow = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
    expect(overflow).toBe(0);
    const [text, background] = await page.evaluate<[number, number]>(`(() => {
      const brightness = (rgb) => rgb.match(/[\\d.]+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 765;
      const { color, backgroundColor } = getComputedStyle(document.body);
      return [brightness(color), brightness(backgroundColor)];
    })()`);
    expect(scheme === 'dark' ? text - background : background - text).toBeGreaterThan(LEAST_CONTRAST);
    expect(await page.locator('svg').count()).toBeGreaterThan(4);
    await page.close();
  });
});
