/**
 * Control messages as text: JSON, validated on arrival.
 */
import type { z } from 'zod';
import { PreduceError } from '../base/errors.js';
import { LIMITS } from './limits.js';
import {
  type ControllerMessage,
  controllerMessageSchema,
  type WorkerMessage,
  workerMessageSchema,
} from './messages.js';

export function encodeControl(message: WorkerMessage | ControllerMessage): string {
  return JSON.stringify(message);
}

/** Throws `bad-message`. */
export function decodeWorkerMessage(text: string): WorkerMessage {
  return decode(text, workerMessageSchema, 'a worker');
}

/** Throws `bad-message`. */
export function decodeControllerMessage(text: string): ControllerMessage {
  return decode(text, controllerMessageSchema, 'the controller');
}

function decode<T>(text: string, schema: z.ZodType<T>, sender: string): T {
  if (text.length > LIMITS.controlMessageBytesMax) {
    throw new PreduceError(
      'bad-message',
      `expected a control message of at most ${LIMITS.controlMessageBytesMax} bytes from ${sender}, got ${text.length}`,
    );
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new PreduceError('bad-message', `expected JSON from ${sender}, got "${text.slice(0, 40)}"`, { cause: error });
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const type = (value as { type?: unknown } | null)?.type;
  throw new PreduceError(
    'bad-message',
    `expected a control message from ${sender}, got type ${JSON.stringify(type)} with "${issue?.path.join('.') ?? ''}": ${issue?.message ?? ''}`,
  );
}
