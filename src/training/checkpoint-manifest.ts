/**
 * A checkpoint's manifest: what belongs to it and everything of the run that is no replica. A line of text with the digest of
 * what follows, then JSON. A checkpoint without a whole manifest does not exist, so it is written last.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { messageOf, PreduceError } from '../base/errors.js';

/** Raise it when a reader of today would misunderstand; readers refuse what is newer. */
export const CHECKPOINT_FORMAT = 1;

const MAGIC = 'preduce-checkpoint';

const count = z.number().int().nonnegative();
const lease = z.object({ id: count, epoch: count, start: count, count: z.number().int().positive() });

const partSchema = z.object({
  worker: count,
  /** Its replica's iteration number. */
  k: count,
  /** The lease that it had begun, and how many of its samples are in the replica. */
  lease: count.nullable(),
  processed: count,
  /** Of its file. */
  bytes: count,
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

const manifestSchema = z.object({
  format: count,
  /** Number of the checkpoint within its run, from 1. */
  checkpoint: z.number().int().positive(),
  /** When it was written, and at which time on the run's clock. */
  savedAt: z.string(),
  timeMs: z.number().nonnegative(),
  /** Of the controller that wrote it; the next one takes a higher. */
  term: z.number().int().positive(),
  /** Of all workers together, as far as the parts contain it. */
  progress: z.object({ samples: count, localSteps: count }),
  ledger: z.object({ nextId: count, epoch: count, start: count, open: z.array(lease) }).nullable(),
  parts: z.array(partSchema).min(1),
  /** Fingerprint of the replica's layout. */
  layout: z.string(),
  label: z.string(),
  /** What the user asked for, and what became of it: seeds, schedule, strategy … */
  options: z.record(z.string(), z.unknown()),
  core: z.record(z.string(), z.unknown()),
  training: z.record(z.string(), z.unknown()),
});

export type Manifest = z.infer<typeof manifestSchema>;
export type ManifestPart = Manifest['parts'][number];

/** What `format` is filled in for. */
export function encodeManifest(manifest: Omit<Manifest, 'format'>): Uint8Array {
  const body = `${JSON.stringify({ format: CHECKPOINT_FORMAT, ...manifest }, null, 2)}\n`;
  return Buffer.from(`${MAGIC} ${digestOf(body)}\n${body}`);
}

function digestOf(body: string | Uint8Array): string {
  return createHash('sha256').update(body).digest('hex');
}

/**
 * Throws `bad-data` where the bytes are not what was written, `version-mismatch` where a newer Preduce wrote them. `source` is
 * what errors call them.
 */
export function decodeManifest(bytes: Uint8Array, source: string): Manifest {
  const fail = (found: string, cause?: unknown): never => {
    throw new PreduceError('bad-data', `expected ${source} to be the manifest of a checkpoint, got ${found}`, {
      cause,
    });
  };
  const lineEnd = bytes.indexOf(0x0a);
  const line = lineEnd < 0 ? '' : Buffer.from(bytes.subarray(0, lineEnd)).toString('latin1');
  const body = bytes.subarray(lineEnd + 1);
  if (line !== `${MAGIC} ${digestOf(body)}`) fail('a file that is truncated or damaged');
  let parsed: unknown;
  try {
    parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (error) {
    return fail(`no JSON (${messageOf(error)})`, error);
  }
  const { format } = z.object({ format: count }).catch({ format: 0 }).parse(parsed);
  if (format > CHECKPOINT_FORMAT) {
    throw new PreduceError(
      'version-mismatch',
      `expected a checkpoint of format ${CHECKPOINT_FORMAT} or older, got format ${format} in ${source}: a newer Preduce wrote it, resume with that`,
    );
  }
  const checked = manifestSchema.safeParse(parsed);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  return fail(`something else at "${issue?.path.join('.') ?? ''}": ${issue?.message ?? ''}`);
}
