/**
 * A collective as data: what one member sends, receives and sums, with byte counts. The communicator executes it, the
 * simulator prices it, and tests assert its steps and bytes, as gloo documents its algorithms.
 */

/** Positions [start, end) of the vector, in values. */
export interface Part {
  readonly start: number;
  readonly end: number;
}

/** Which of the plans it is; the group message says it. */
export type PlanName = 'direct' | 'ring';

/** Whether a part travels on its way to the finished sum, or as that. */
export type Phase = 'reduce' | 'gather';

/** A part on its way from or to the member at rank `peer`. A transfer of 0 bytes puts nothing on the wire. */
export interface Transfer {
  readonly kind: 'send' | 'receive';
  readonly phase: Phase;
  readonly peer: number;
  /** Index in the plan's `parts`. */
  readonly part: number;
  /** Members in it: of one the values are as they are, of several they are a weighted sum. */
  readonly terms: number;
  readonly bytes: number;
}

/** The weighted sum of a part, over all members or those before this one. */
export interface Reduce {
  readonly kind: 'reduce';
  readonly part: number;
  /** Ranks that the summands come from, in the order of the sum; the own rank stands for the own values. */
  readonly sources: readonly number[];
  /** Members in the sum; with all of them it is the result. */
  readonly terms: number;
  /** Bytes read of each source, and written. */
  readonly bytes: number;
}

export type Step = Transfer | Reduce;

/** The steps of one round may run at the same time, a reduce before the transfers. */
export type Round = readonly Step[];

/**
 * One member's part in a collective. Each step uses what the steps before it left; the executor does so value by value, so
 * that rounds overlap: a segment is summed and passed on as soon as it is there.
 */
export interface Plan {
  readonly name: PlanName | 'server';
  readonly rank: number;
  /** Members whose vectors are summed. */
  readonly count: number;
  readonly parts: readonly Part[];
  readonly rounds: readonly Round[];
}

/** Bytes of payload that the member sends, and receives, over the whole plan. */
export function bytesOfPlan({ rounds }: Plan): { readonly sent: number; readonly received: number } {
  const total = (kind: Transfer['kind']) =>
    rounds.flat().reduce((sum, step) => sum + (step.kind === kind ? step.bytes : 0), 0);
  return { sent: total('send'), received: total('receive') };
}

/** The plan as text, one line a step, for people. */
export function formatPlan({ name, rank, count, parts, rounds }: Plan): string {
  const spanOf = (part: number): string => `part ${part} [${parts[part]?.start}, ${parts[part]?.end})`;
  const lines = rounds.flatMap((round, index) =>
    round.map((step) => {
      const what = step.kind === 'reduce' ? step.kind : `${step.kind} ${step.phase}`;
      const peer = step.kind === 'reduce' ? '' : ` ${step.kind === 'send' ? 'to' : 'from'} ${step.peer}`;
      return `  ${index + 1} ${what} ${spanOf(step.part)}${peer}, ${step.bytes} bytes`;
    }),
  );
  return [`${name}, rank ${rank} of ${count}`, ...lines].join('\n');
}
