/**
 * What is fuzzed: a reader of bytes that others may have written.
 */

export interface Target {
  readonly name: string;
  /** Inputs that it takes; others are made from them. */
  readonly examples: readonly Uint8Array[];
  /** Reads one input, or throws a `PreduceError`. Anything else that it throws is a mistake of ours. */
  read(bytes: Uint8Array): void;
}

export function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text));
}

/** As text comes from a file or a WebSocket: what is not UTF-8 is replaced. */
export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8');
}
