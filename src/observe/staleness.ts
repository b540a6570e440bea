/**
 * How stale the replicas were that were averaged: for each member of each group, how many iterations it lay behind the
 * freshest member (kMax - k) when the group was formed.
 */
import type { RunEvent } from './run-events.js';

export interface Staleness {
  /** `counts[s]`: members that lay `s` iterations behind; the last one counts all beyond as well. */
  readonly counts: readonly number[];
  /** Of all members; 0 where there were none. */
  readonly mean: number;
  readonly max: number;
}

export interface StalenessBuilder {
  add(event: RunEvent): void;
  result(): Staleness;
}

/** More iterations behind than this are counted as this many. */
const COUNTED_MAX = 1000;

/** Creates a builder; feed it a run's events. The final average is not counted: no step follows it. */
export function createStaleness(): StalenessBuilder {
  const counts: number[] = [];
  let members = 0;
  let sum = 0;
  let max = 0;
  return {
    add(event) {
      if (event.type !== 'groupFormed' || event.kind !== 'step') return;
      for (const staleness of event.staleness) {
        const index = Math.min(COUNTED_MAX, staleness);
        while (counts.length <= index) counts.push(0);
        counts[index] = (counts[index] as number) + 1;
        members += 1;
        sum += staleness;
        max = Math.max(max, staleness);
      }
    },
    result: () => ({ counts: [...counts], mean: members === 0 ? 0 : sum / members, max }),
  };
}

/** The members of several runs together. */
export function addStaleness(runs: readonly Staleness[]): Staleness {
  const length = Math.max(0, ...runs.map(({ counts }) => counts.length));
  const counts = Array.from({ length }, (_, index) => runs.reduce((sum, run) => sum + (run.counts[index] ?? 0), 0));
  const membersOf = (of: readonly number[]): number => of.reduce((sum, count) => sum + count, 0);
  const members = membersOf(counts);
  const sum = runs.reduce((total, run) => total + run.mean * membersOf(run.counts), 0);
  return { counts, mean: members === 0 ? 0 : sum / members, max: Math.max(0, ...runs.map((run) => run.max)) };
}
