/**
 * Numbers as the report shows them; an em dash stands for what is not known.
 */
import type { Spread } from '../observe/median.js';
import type { ReportTarget } from './report-input.js';

export const UNKNOWN = '—';

const STEPS_LISTED_MAX = 4;

/** `97.12%` of a share from 0 to 1. */
export function formatPercent(share: number | null, digits = 1): string {
  return share === null ? UNKNOWN : `${(100 * share).toFixed(digits)}%`;
}

/** `95%`, `97.5%`: an accuracy that somebody asked for, without needless zeros. */
export function formatTarget(share: number): string {
  return `${Number((100 * share).toFixed(2))}%`;
}

/** `95%`, or `loss 0.1`. */
export function formatGoal({ measure, value }: ReportTarget): string {
  return measure === 'accuracy' ? formatTarget(value) : `loss ${formatLoss(value)}`;
}

/** `0.0512`, without needless zeros. */
export function formatLoss(loss: number | null): string {
  return loss === null ? UNKNOWN : String(Number(loss.toPrecision(3)));
}

/** `9.61–10.4`: the ends of what repeats gave; null where there are none. */
export function formatSpread(spread: Spread | null, format: (value: number) => string): string | null {
  if (spread === null) return null;
  return `${format(spread.least)}\u2013${spread.most === null ? 'never' : format(spread.most)}`;
}

/** `0.42 s`, `12.3 s`, `312 s`. */
export function formatSeconds(seconds: number | null): string {
  if (seconds === null) return UNKNOWN;
  return `${seconds.toFixed(seconds < 1 ? 2 : seconds < 100 ? 1 : 0)} s`;
}

/** `2.35×`. */
export function formatFactor(factor: number | null): string {
  return factor === null ? UNKNOWN : `${factor.toFixed(2)}×`;
}

/** `12,345`. */
export function formatCount(count: number): string {
  return Math.round(count).toLocaleString('en-US');
}

/** Steps of each worker; the range where there are too many to list in a row of a table. */
export function formatSteps(steps: readonly number[]): string {
  if (steps.length === 0) return UNKNOWN;
  const least = formatCount(Math.min(...steps));
  const most = formatCount(Math.max(...steps));
  if (least === most) return `${most} each`;
  return steps.length <= STEPS_LISTED_MAX ? steps.map(formatCount).join(' · ') : `${least} to ${most}`;
}
