/**
 * What every plan must do, whatever its steps: what one member sends the next receives, the bytes are the least possible,
 * and carried out on plain arrays it leaves the sum with everybody.
 */
import { describe, expect, it } from 'vitest';
import { type Plan, type PlanName, type Step, type Transfer } from '../../src/collective/plan/plan.js';
import { planCollective } from '../../src/collective/plan/plans.js';

export const PLAN_COUNTS: readonly number[] = Array.from({ length: 16 }, (_, i) => i + 1);
export const PLAN_CASES = PLAN_COUNTS.flatMap((count) =>
  [0, 1, 2, 15, 16, 17, 7919, 100_003].map((length) => ({ count, length })),
);

/** The plans of all members. */
export function plansOf(name: PlanName, count: number, length: number): readonly Plan[] {
  return Array.from({ length: count }, (_, rank) => planCollective(name, rank, count, length));
}

/** All steps of one kind. */
export function stepsOf<K extends Step['kind']>(plan: Plan, kind: K): Extract<Step, { kind: K }>[] {
  return plan.rounds.flat().filter((step): step is Extract<Step, { kind: K }> => step.kind === kind);
}

/** Bytes of the part at `index`, counted round. */
export function bytesOfPart({ parts, count }: Plan, index: number): number {
  const { start, end } = parts[(index + count) % count] as Plan['parts'][number];
  return 4 * (end - start);
}

/** Values that one member holds of a part, and how many members are in them. */
interface Held {
  readonly values: readonly number[];
  readonly terms: number;
}

interface Machine {
  readonly plan: Plan;
  readonly input: readonly number[];
  /** By part: what it would send. */
  readonly held: Map<number, Held>;
  /** By sender and part: what came to be summed. */
  readonly came: Map<string, Held>;
}

function own({ plan, input }: Machine, part: number): Held {
  const { start, end } = plan.parts[part] as Plan['parts'][number];
  return { values: input.slice(start, end), terms: 1 };
}

function reduce(machine: Machine, { part, sources, terms }: Extract<Step, { kind: 'reduce' }>): void {
  const summands = sources.map((source) =>
    source === machine.plan.rank ? own(machine, part) : (machine.came.get(`${source} ${part}`) as Held),
  );
  expect(summands.reduce((sum, each) => sum + each.terms, 0)).toBe(terms);
  const values = own(machine, part).values.map((_, i) =>
    summands.reduce((sum, each) => sum + (each.values[i] as number), 0),
  );
  machine.held.set(part, { values, terms });
}

/** Carries all members' plans out, round by round; gives what each member holds in the end. */
function execute(plans: readonly Plan[], inputs: readonly (readonly number[])[]): (readonly number[])[] {
  const machines = plans.map(
    (plan, rank): Machine => ({
      plan,
      input: inputs[rank] as readonly number[],
      held: new Map(),
      came: new Map(),
    }),
  );
  plans[0]?.rounds.forEach((_, round) => {
    const wire = new Map<string, Held>();
    for (const machine of machines) {
      for (const step of machine.plan.rounds[round] ?? []) {
        if (step.kind === 'reduce') reduce(machine, step);
        if (step.kind !== 'send') continue;
        const sent = machine.held.get(step.part) ?? own(machine, step.part);
        expect(sent.terms).toBe(step.terms);
        wire.set(`${machine.plan.rank}>${step.peer} ${step.phase} ${step.part}`, sent);
      }
    }
    for (const { plan, held, came } of machines) {
      for (const step of plan.rounds[round] ?? []) {
        if (step.kind !== 'receive') continue;
        const received = wire.get(`${step.peer}>${plan.rank} ${step.phase} ${step.part}`) as Held;
        expect(received.terms).toBe(step.terms);
        if (step.phase === 'gather') held.set(step.part, received);
        else came.set(`${step.peer} ${step.part}`, received);
      }
    }
  });
  return machines.map(({ plan, held }) => plan.parts.flatMap((_, part) => (held.get(part) as Held).values));
}

function describeTransfer(from: number, to: number, { phase, part, terms, bytes }: Transfer): string {
  return `${phase} ${part} of ${terms} ${from}>${to} ${bytes}`;
}

/** The suite for one plan; its steps and each member's bytes are for its own test. */
export function describePlan(name: PlanName): void {
  describe(`the ${name} plan`, () => {
    it.each(PLAN_CASES)('of $count members and $length values: what one sends is what another receives', (each) => {
      const plans = plansOf(name, each.count, each.length);
      for (const round of plans[0]?.rounds.keys() ?? []) {
        const sent: string[] = [];
        const received: string[] = [];
        for (const { rank, rounds } of plans) {
          for (const step of rounds[round] ?? []) {
            if (step.kind === 'send') sent.push(describeTransfer(rank, step.peer, step));
            if (step.kind === 'receive') received.push(describeTransfer(step.peer, rank, step));
          }
        }
        expect(received.sort()).toEqual(sent.sort());
        expect(new Set(sent).size).toBe(sent.length);
      }
    });

    it.each(PLAN_CASES)(
      'of $count members and $length values sends the least that is possible',
      ({ count, length }) => {
        const sends = plansOf(name, count, length).flatMap((plan) => stepsOf(plan, 'send'));
        expect(sends.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(4 * 2 * (count - 1) * length);
      },
    );

    it.each(PLAN_COUNTS)('of %i members leaves the sum with everybody', (count) => {
      for (const length of [0, 1, 17, 50, 7919]) {
        const inputs = Array.from({ length: count }, (_, rank) => Array.from({ length }, (_v, i) => 10_000 * rank + i));
        const sum = Array.from({ length }, (_, i) => inputs.reduce((total, input) => total + (input[i] as number), 0));
        expect(execute(plansOf(name, count, length), inputs)).toEqual(inputs.map(() => sum));
      }
    });

    it.each([
      [-1, 2],
      [2, 2],
      [0, 0],
    ])('has no rank %i of %i', (rank, count) => {
      expect(() => planCollective(name, rank, count, 10)).toThrow('assertion failed');
    });
  });
}
