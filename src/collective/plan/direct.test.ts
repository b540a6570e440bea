/**
 * The direct plan: steps and bytes of every rank, what one sends another receives, and the sum that comes out.
 */
import { describe, expect, it } from 'vitest';
import { planDirect, splitParts } from './direct.js';
import { bytesOfPlan, formatPlan, type Plan, type Step, type Transfer } from './plan.js';

const COUNTS = Array.from({ length: 16 }, (_, i) => i + 1);
const LENGTHS = [0, 1, 2, 15, 16, 17, 7919, 100_003];
const CASES = COUNTS.flatMap((count) => LENGTHS.map((length) => ({ count, length })));

function plansOf(count: number, length: number): Plan[] {
  return Array.from({ length: count }, (_, rank) => planDirect(rank, count, length));
}

function stepsOf(plan: Plan, kind: Step['kind']): Step[] {
  return plan.rounds.flat().filter((step) => step.kind === kind);
}

function isTransfer(step: Step): step is Transfer {
  return step.kind !== 'reduce';
}

/** Runs all members' plans on plain arrays, in lockstep; members' parts of the sum are numbers, summed in float64. */
function execute(plans: readonly Plan[], inputs: readonly number[][]): (number | undefined)[][] {
  const outputs = inputs.map((input) => input.map((): number | undefined => undefined));
  const slices = plans.map((plan) => new Map([[plan.rank, inputs[plan.rank]]]));
  for (const [round] of plans[0]?.rounds.entries() ?? []) {
    // A reduce comes before the transfers of its round.
    for (const { rank, parts, rounds } of plans) {
      for (const step of rounds[round] ?? []) {
        if (step.kind !== 'reduce') continue;
        const part = parts[step.part] as { start: number; end: number };
        for (let i = part.start; i < part.end; i += 1) {
          const held = [...(slices[rank]?.values() ?? [])];
          (outputs[rank] as (number | undefined)[])[i] = held.reduce((sum, from) => sum + (from?.[i] as number), 0);
        }
      }
    }
    for (const { rank, parts, rounds } of plans) {
      for (const step of (rounds[round] ?? []).filter(isTransfer)) {
        if (step.kind !== 'receive') continue;
        const { start, end } = parts[step.part] as { start: number; end: number };
        if (step.phase === 'reduce') slices[rank]?.set(step.peer, inputs[step.peer]);
        else outputs[rank]?.splice(start, end - start, ...(outputs[step.peer]?.slice(start, end) ?? []));
      }
    }
  }
  return outputs;
}

describe('the direct plan', () => {
  it.each(CASES)('of $count members and $length values has the documented steps and bytes', ({ count, length }) => {
    const plans = plansOf(count, length);
    for (const plan of plans) {
      expect(plan.rounds.length).toBe(2);
      for (const kind of ['send', 'receive'] as const) expect(stepsOf(plan, kind).length).toBe(2 * (count - 1));
      expect(stepsOf(plan, 'reduce').length).toBe(1);
      // All but its own part once, its own part count - 1 times.
      const own = Math.floor(length / count) + (plan.rank < length % count ? 1 : 0);
      const bytes = 4 * (length - own + (count - 1) * own);
      expect(bytesOfPlan(plan)).toEqual({ sent: bytes, received: bytes });
    }
    const total = plans.reduce((sum, plan) => sum + bytesOfPlan(plan).sent, 0);
    expect(total).toBe(4 * 2 * (count - 1) * length);
  });

  it.each(CASES)('of $count members and $length values: what one sends is what another receives', (each) => {
    const describeTransfer = (from: number, to: number, { phase, part, bytes }: Transfer): string =>
      `${phase} ${part} ${from}>${to} ${bytes}`;
    for (const round of [0, 1]) {
      const sent: string[] = [];
      const received: string[] = [];
      for (const { rank, rounds } of plansOf(each.count, each.length)) {
        for (const step of (rounds[round] ?? []).filter(isTransfer)) {
          if (step.kind === 'send') sent.push(describeTransfer(rank, step.peer, step));
          else received.push(describeTransfer(step.peer, rank, step));
        }
      }
      expect(received.sort()).toEqual(sent.sort());
      expect(new Set(sent).size).toBe(sent.length);
    }
  });

  it.each(COUNTS)('of %i members leaves the sum with everybody', (count) => {
    for (const length of [0, 1, 17, 50]) {
      const inputs = Array.from({ length: count }, (_, rank) => Array.from({ length }, (_v, i) => 100 * rank + i));
      const sum = Array.from({ length }, (_, i) => inputs.reduce((total, input) => total + (input[i] as number), 0));
      expect(execute(plansOf(count, length), inputs)).toEqual(inputs.map(() => sum));
    }
  });

  it('is readable', () => {
    expect(formatPlan(planDirect(1, 3, 7))).toBe(
      [
        'direct, rank 1 of 3',
        '  1 send reduce part 2 [5, 7) to 2, 8 bytes',
        '  1 send reduce part 0 [0, 3) to 0, 12 bytes',
        '  1 receive reduce part 1 [3, 5) from 2, 8 bytes',
        '  1 receive reduce part 1 [3, 5) from 0, 8 bytes',
        '  2 reduce part 1 [3, 5), 8 bytes',
        '  2 send gather part 1 [3, 5) to 2, 8 bytes',
        '  2 send gather part 1 [3, 5) to 0, 8 bytes',
        '  2 receive gather part 2 [5, 7) from 2, 8 bytes',
        '  2 receive gather part 0 [0, 3) from 0, 12 bytes',
      ].join('\n'),
    );
  });

  it.each([
    [-1, 2],
    [2, 2],
    [0, 0],
  ])('has no rank %i of %i', (rank, count) => {
    expect(() => planDirect(rank, count, 10)).toThrow('assertion failed');
  });
});

describe('splitParts', () => {
  it.each(CASES)('cuts $length values for $count members without a gap, evenly', ({ count, length }) => {
    const parts = splitParts(length, count);
    expect(parts.length).toBe(count);
    expect(parts[0]?.start).toBe(0);
    expect(parts.at(-1)?.end).toBe(length);
    parts.slice(1).forEach((part, i) => expect(part.start).toBe(parts[i]?.end));
    const sizes = parts.map(({ start, end }) => end - start);
    expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
  });
});
