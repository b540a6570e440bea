/**
 * Writes what core says belongs to a checkpoint, one after another, while the run goes on. What a checkpoint looks like on the
 * disk is for whoever started the controller to say; parameters never pass here.
 */
import { messageOf } from '../base/errors.js';
import type { Effect } from '../core/effects.js';
import type { RunStory } from './run-story.js';

type CheckpointEffect = Extract<Effect, { type: 'checkpoint' }>;

/** A checkpoint whose parts the workers have written. */
export interface CheckpointCut extends Omit<CheckpointEffect, 'type'> {
  /** On the run's clock. */
  readonly timeMs: number;
  /** Fingerprint of the replica's layout. */
  readonly layout: string;
}

/** Makes it a whole one. What it throws is a fault of the run, which goes on. */
export type SaveCheckpoint = (cut: CheckpointCut) => Promise<void>;

export interface Checkpoints {
  write(effect: CheckpointEffect): void;
  /** Resolves when all that were begun are written, or failed. */
  written(): Promise<void>;
}

export interface CheckpointsDependencies {
  readonly story: RunStory;
  /** Null: the run keeps none. */
  readonly save: SaveCheckpoint | null;
  readonly layout: () => string;
}

export function createCheckpoints({ story, save, layout }: CheckpointsDependencies): Checkpoints {
  let last: Promise<void> = Promise.resolve();

  async function writeOne(cut: CheckpointCut): Promise<void> {
    const { checkpoint } = cut;
    try {
      await save?.(cut);
      story.tell({ type: 'checkpointed', checkpoint });
    } catch (error) {
      const message = `checkpoint ${checkpoint}: ${messageOf(error)}`;
      story.tell({ type: 'fault', kind: 'checkpoint', worker: null, message });
    }
  }

  return {
    write({ checkpoint, parts, progress, ledger }) {
      const cut = { checkpoint, parts, progress, ledger, timeMs: story.nowMs(), layout: layout() };
      const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
      story.tell({ type: 'checkpointCut', checkpoint, ...progress, bytes }, cut.timeMs);
      last = last.then(() => writeOne(cut));
    },
    written: () => last,
  };
}
