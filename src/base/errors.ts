/**
 * The one error class for operating failures. `code` is stable and documented in docs/errors.md (a test keeps that
 * page complete); the message is one line that says what was expected, what came and what to do.
 */

/** Every code that a `PreduceError` may carry. */
export const ERROR_CODES = [
  'aborted',
  'another-run',
  'bad-config',
  'bad-data',
  'bad-frame',
  'bad-layout',
  'bad-message',
  'bad-option',
  'connection-lost',
  'controller-lost',
  'controller-unreachable',
  'data-missing',
  'engine-missing',
  'engine-failed',
  'evaluation-failed',
  'not-finite',
  'out-dir-unusable',
  'port-unavailable',
  'protocol-violation',
  'refused',
  'run-ended',
  'state-locked',
  'state-unusable',
  'timeout',
  'untrusted',
  'version-mismatch',
  'worker-failed',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

export interface PreduceErrorOptions {
  /** Whether the same call may succeed later with nothing changed. Default false. */
  readonly retryable?: boolean;
  /** Facts for programs: JSON values only. */
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** An operating failure (bad input, a lost peer, a full disk): expected in operation, to be handled or shown. */
export class PreduceError extends Error {
  override readonly name = 'PreduceError';
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: PreduceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable ?? false;
    this.details = options.details ?? {};
  }
}

/** The message of anything thrown, for logs and for wrapping. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
