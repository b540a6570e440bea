/**
 * What happened in a simulated run, kept as it came and put into words only where somebody reads it.
 */
import { splitGroupId } from '../../base/ids.js';
import type { Effect } from '../../core/effects.js';
import type { ControllerEvent } from '../../core/events.js';
import type { RunFacts } from '../../core/facts.js';
import type { Group } from '../../core/group.js';
import { createTraceHash } from '../trace-hash.js';

/** One step of the controller, or something that befell the fleet. */
export type TraceEntry =
  | { readonly event: ControllerEvent; readonly effects: readonly Effect[] }
  | { readonly nowMs: number; readonly note: string };

export interface Trace {
  step(event: ControllerEvent, effects: readonly Effect[]): void;
  note(nowMs: number, note: string): void;
  /** Lines for people. */
  lines(): readonly string[];
  /** A number for all of it: equal runs have equal ones. */
  fingerprint(): string;
}

export function createTrace(): Trace {
  const entries: TraceEntry[] = [];
  return {
    step: (event, effects) => void entries.push({ event, effects }),
    note: (nowMs, note) => void entries.push({ nowMs, note }),
    lines: () => entries.flatMap(linesOf),
    fingerprint() {
      const hash = createTraceHash();
      for (const entry of entries) hash.add(JSON.stringify(entry));
      return hash.digest();
    },
  };
}

function linesOf(entry: TraceEntry): readonly string[] {
  if ('note' in entry) return [`${timeOf(entry.nowMs)}  * ${entry.note}`];
  const { nowMs, ...event } = entry.event;
  return [
    `${timeOf(nowMs)}  ${describe(event)}`,
    ...entry.effects.map((effect) => `${' '.repeat(14)}-> ${describe(effect)}`),
  ];
}

function timeOf(nowMs: number): string {
  return `${nowMs.toFixed(2).padStart(9)} ms`;
}

/** `type worker/incarnation key=value ...` */
function describe(told: object): string {
  const { type, worker, incarnation, ...rest } = told as Record<string, unknown>;
  const life =
    worker === undefined
      ? []
      : [incarnation === undefined ? `worker ${String(worker)}` : `worker ${String(worker)}/${String(incarnation)}`];
  const details = Object.entries(rest).map(([key, value]) => `${key}=${wordOf(key, value)}`);
  return [String(type), ...life, ...details].join(' ');
}

function wordOf(key: string, value: unknown): string {
  if (key === 'group' && typeof value === 'number') return groupName(value);
  if (key === 'group') return describeGroup(value as Group);
  if (key === 'facts') return `of ${(value as RunFacts).members.length} workers`;
  return typeof value === 'string' ? `"${value}"` : JSON.stringify(value);
}

function groupName(id: number): string {
  const { term, sequence } = splitGroupId(id as Group['id']);
  return `#${term}.${sequence}`;
}

function describeGroup({ id, kind, kMax, finite, members }: Group): string {
  const words = members.map(({ worker, incarnation, k, weight, passive = false }) => {
    return `${worker}/${incarnation} k${k} w${weight.toFixed(3)}${passive ? ' passive' : ''}`;
  });
  return `${groupName(id)} ${kind} kMax ${kMax}${finite ? '' : ' not finite'} [${words.join(', ')}]`;
}
