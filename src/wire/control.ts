/**
 * Control messages as text: JSON, validated on arrival. Fields that a schema does not know are dropped, so that a peer of a
 * later minor version may add some; a type that it does not know is refused.
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
import { quoted } from './quoted.js';

/**
 * The message as JSON text. A `reason` or `message` longer than the limit is cut, as the other end would refuse it and the
 * user never see it. Throws `bad-message` when the whole is longer than a control message may be.
 */
export function encodeControl(message: WorkerMessage | ControllerMessage): string {
  const text = JSON.stringify(withShortText(message));
  checkLength(text, `to send "${message.type}"`);
  return text;
}

/** Throws `bad-message`. */
export function decodeWorkerMessage(text: string): WorkerMessage {
  return decode(text, workerMessageSchema, 'a worker');
}

/** Throws `bad-message`. */
export function decodeControllerMessage(text: string): ControllerMessage {
  return decode(text, controllerMessageSchema, 'the controller');
}

function cut(text: string): string {
  return text.length > LIMITS.textCharsMax ? `${text.slice(0, LIMITS.textCharsMax - 3)}...` : text;
}

function withShortText(message: WorkerMessage | ControllerMessage): WorkerMessage | ControllerMessage {
  if ('reason' in message) return { ...message, reason: cut(message.reason) };
  if ('message' in message) return { ...message, message: cut(message.message) };
  return message;
}

function checkLength(text: string, where: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes <= LIMITS.controlMessageBytesMax) return;
  throw new PreduceError(
    'bad-message',
    `expected ${where} in a control message of at most ${LIMITS.controlMessageBytesMax} bytes, got ${bytes}`,
  );
}

function decode<T>(text: string, schema: z.ZodType<T>, sender: string): T {
  checkLength(text, `what ${sender} says`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new PreduceError('bad-message', `expected JSON from ${sender}, got ${quoted(text)}`, { cause: error });
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = issue?.path.join('.') ?? '';
  const where = path === '' ? '' : ` with field ${quoted(path)} wrong`;
  throw new PreduceError(
    'bad-message',
    `expected a control message from ${sender}, got ${nameOf(value)}${where}: ${issue?.message ?? ''}`,
  );
}

/** What a value that is no message may be called. Its `type` may be anything, even nested too deep to be printed. */
function nameOf(value: unknown): string {
  const type = (value as { type?: unknown } | null)?.type;
  if (typeof type === 'string') return quoted(type);
  return type === undefined ? 'no message type' : 'a type that is no text';
}
