/**
 * What a checkpoint must contain, found anew from events alone (checkpoints.md): the progress and the data of exactly those
 * replicas that are its parts.
 */
import { assert } from '../../base/assert.js';
import type { WorkerId } from '../../base/ids.js';
import type { LedgerConfig } from '../../core/config.js';
import type { Effect } from '../../core/effects.js';
import type { CheckpointPart, WorkerEvent } from '../../core/events.js';
import type { Lease, Progress } from '../../core/group.js';
import { type LeaseBook, placesOf } from './lease-book.js';

type Asked = Extract<Effect, { type: 'askCheckpoint' }>;
type Complete = Extract<Effect, { type: 'checkpoint' }>;
type Answer = Extract<WorkerEvent, { type: 'checkpointed' }>;

export interface CheckpointBook {
  asked(effect: Asked): void;
  answered(event: Answer): void;
  failed(checkpoint: number): void;
  /** Of a worker that lives. */
  ready(worker: WorkerId, samples: number, steps: number): void;
  leaseFinished(worker: WorkerId, lease: Lease): void;
  lifeOver(worker: WorkerId): void;
  check(effect: Complete, progress: Progress): void;
}

interface Collecting {
  readonly number: number;
  /** Who has not answered. */
  readonly pending: Set<WorkerId>;
  readonly parts: Map<WorkerId, CheckpointPart>;
  /** Samples finished by those whose replicas had been kept. */
  readonly later: Set<number>;
  laterSamples: number;
  laterSteps: number;
}

/** `last`: number of the last checkpoint that was asked for before. */
export function createCheckpointBook(ledger: LedgerConfig | null, leases: LeaseBook, last: number): CheckpointBook {
  let number = last;
  let open: Collecting | null = null;

  /** The collection, if what this worker does now is not of it. */
  function laterThan(worker: WorkerId): Collecting | null {
    return open === null || open.pending.has(worker) ? null : open;
  }

  /** Every sample given out must be in a replica that is kept, or be open; not both, not neither. */
  function checkLedger({ ledger: state }: Complete, { parts, later }: Collecting): void {
    assert((state === null) === (ledger === null), 'a checkpoint has the ledger of a run that has none, or none');
    if (state === null || ledger === null) return;
    const kept = new Set([...leases.used].filter((place) => !later.has(place)));
    for (const { worker, lease, processed } of parts.values()) {
      const begun = begunLeases.get(worker);
      if (lease !== null && begun?.id === lease)
        for (const place of placesOf(ledger, begun, processed)) kept.add(place);
    }
    const left = new Set(state.open.flatMap((lease) => placesOf(ledger, lease)));
    const end = state.epoch * ledger.sampleCount + state.start;
    for (let place = 0; place < end; place += 1) {
      const isKept = kept.has(place);
      assert(
        isKept !== left.has(place),
        `sample ${place} is ${isKept ? 'in' : 'neither in'} the checkpoint ${isKept ? 'and' : 'nor'} open`,
      );
    }
    for (const place of kept) assert(place < end, `sample ${place} is in the checkpoint, and will be given out`);
  }

  /** The leases that the parts were begun on: their workers may be gone by now. */
  const begunLeases = new Map<WorkerId, Lease>();

  return {
    asked({ checkpoint, workers }) {
      assert(checkpoint > number, `checkpoint ${checkpoint} is asked for after ${number}`);
      number = checkpoint;
      const pending = new Set(workers.map(({ worker }) => worker));
      open = { number, pending, parts: new Map(), later: new Set(), laterSamples: 0, laterSteps: 0 };
      begunLeases.clear();
    },
    answered({ worker, checkpoint, part }) {
      if (open?.number !== checkpoint || !open.pending.delete(worker)) return;
      open.parts.set(worker, { worker, ...part });
      const lease = leases.heldBy(worker);
      if (lease !== null) begunLeases.set(worker, lease);
    },
    failed(checkpoint) {
      if (open?.number === checkpoint) open = null;
    },
    ready(worker, samples, steps) {
      const later = laterThan(worker);
      if (later === null) return;
      later.laterSamples += samples;
      later.laterSteps += steps;
    },
    leaseFinished(worker, lease) {
      if (ledger === null) return;
      for (const place of placesOf(ledger, lease)) laterThan(worker)?.later.add(place);
    },
    lifeOver: (worker) => void open?.pending.delete(worker),
    check(effect, progress) {
      assert(
        open?.number === effect.checkpoint,
        `checkpoint ${effect.checkpoint} is complete, but not the one asked for`,
      );
      assert(open.pending.size === 0, `checkpoint ${effect.checkpoint} lacks worker ${[...open.pending].join()}`);
      const expected = [...open.parts.keys()].toSorted((a, b) => a - b);
      const found = effect.parts.map(({ worker }) => worker);
      assert(
        found.join() === expected.join(),
        `a checkpoint of worker ${found.join()}, but ${expected.join()} answered`,
      );
      const samples = progress.samples - open.laterSamples;
      const localSteps = progress.localSteps - open.laterSteps;
      const isSame = effect.progress.samples === samples && effect.progress.localSteps === localSteps;
      assert(isSame, `a checkpoint after ${effect.progress.samples} samples, but its replicas contain ${samples}`);
      checkLedger(effect, open);
      open = null;
    },
  };
}
