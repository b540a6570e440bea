/**
 * What people are told of a broken rule: which seed, which rule, what led to it, and how to see it again.
 */
import type { Played } from './fleet.js';

const LINES = 80;

/** `lines`: how many of those that tell what happened before; default the last 80, null: all. */
export function describeFailure(
  played: Played,
  { lines = LINES }: { readonly lines?: number | null } = {},
): readonly string[] {
  const { scenario, failure, steps, endMs, trace } = played;
  const all = trace.lines();
  const last = lines === null ? all : all.slice(Math.max(0, all.length - lines));
  return [
    `seed ${scenario.seed} breaks a rule after ${steps} events, at ${endMs.toFixed(2)} ms:`,
    `  ${failure}`,
    '',
    `scenario: ${JSON.stringify(scenario)}`,
    '',
    last.length < all.length ? `the last ${last.length} of ${all.length} lines of what happened:` : 'what happened:',
    ...last,
    '',
    `to see it again: npm run fuzz -- --seed ${scenario.seed}`,
  ];
}
