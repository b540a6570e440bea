import { describe, expect, it } from 'vitest';
import { PreduceError } from '../base/errors.js';
import { address, fromController, fromWorker, group, layout, member } from '../fuzz/example-messages.js';
import { decodeControllerMessage, decodeWorkerMessage, encodeControl } from './control.js';
import { LIMITS } from './limits.js';
import {
  type ControllerMessage,
  controllerMessageSchema,
  type WorkerMessage,
  workerMessageSchema,
} from './messages.js';

interface Direction {
  readonly from: string;
  readonly examples: readonly (WorkerMessage | ControllerMessage)[];
  readonly types: readonly string[];
  decode(text: string): WorkerMessage | ControllerMessage;
}

const directions: readonly Direction[] = [
  {
    from: 'a worker',
    examples: fromWorker,
    types: workerMessageSchema.options.map((option) => option.shape.type.value),
    decode: decodeWorkerMessage,
  },
  {
    from: 'the controller',
    examples: fromController,
    types: controllerMessageSchema.options.map((option) => option.shape.type.value),
    decode: decodeControllerMessage,
  },
];

type Json = Readonly<Record<string, unknown>>;

/** Paths of every field, those of nested objects and of the first element of arrays too. */
function pathsOf(value: unknown): (readonly (string | number)[])[] {
  if (Array.isArray(value)) return value.length === 0 ? [] : [[0], ...pathsOf(value[0]).map((path) => [0, ...path])];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [[key], ...pathsOf(inner).map((path) => [key, ...path])]);
}

/** A copy of `message` with what is at `path` replaced; undefined takes it out. */
function changed(message: object, path: readonly (string | number)[], value: unknown): string {
  const copy = structuredClone(message);
  const parent = path
    .slice(0, -1)
    .reduce<Record<string | number, unknown>>(
      (at, key) => at[key] as Record<string | number, unknown>,
      copy as Record<string, unknown>,
    );
  parent[path.at(-1) as string] = value;
  return JSON.stringify(copy);
}

/** Free-form values: anything goes in a run's configuration, any name in a log. */
function isFree(path: readonly (string | number)[]): boolean {
  return path.length > 1 && (path[0] === 'config' || path[0] === 'values');
}

/** The message of the refusal, with its code before it; `accepted` where there was none. */
function refusalOf(decode: Direction['decode'], text: string): string {
  try {
    decode(text);
  } catch (error) {
    return error instanceof PreduceError ? `${error.code}: ${error.message}` : `not a PreduceError: ${String(error)}`;
  }
  return 'accepted';
}

function repeated<T>(count: number, value: T): T[] {
  return Array.from({ length: count }, () => value);
}

describe.each(directions)('control messages of $from', ({ from, examples, types, decode }) => {
  it('have one example here for each type', () => {
    expect(examples.map((message) => message.type).sort()).toEqual([...types].sort());
  });

  it.each(examples)('$type comes back as it was sent', (message) => {
    expect(decode(encodeControl(message))).toEqual(message);
  });

  const fields = examples.flatMap((message) =>
    pathsOf(message)
      .filter((path) => path[0] !== 'type' && !isFree(path))
      .map((path) => [message.type, path.join('.'), message, path] as const),
  );

  it.each(fields.filter(([, , , path]) => typeof path.at(-1) === 'string'))(
    '%s without %s is refused by name',
    (type, name, message, path) => {
      const refusal = refusalOf(decode, changed(message, path, undefined));
      expect(refusal).toContain(
        `bad-message: expected a control message from ${from}, got "${type}" with field "${name}" wrong`,
      );
    },
  );

  it.each(fields)('%s with %s of another type is refused by name', (type, name, message, path) => {
    // No field takes an object of unknown keys; the free-form ones must not be lists.
    const wrong = name === 'config' || name === 'values' ? [] : { unexpected: 1 };
    const refusal = refusalOf(decode, changed(message, path, wrong));
    expect(refusal).toMatch(/^bad-message: /);
    expect(refusal).toContain(`got "${type}" with field "${name}`);
  });

  it.each(examples)('$type with fields of a later minor version loses just these', (message) => {
    expect(decode(JSON.stringify({ ...message, later: { any: ['thing'] } }))).toEqual(message);
  });

  it.each<[string, string, string]>([
    [
      'a type of a later version',
      '{"type":"teleport"}',
      `expected a control message from ${from}, got "teleport" with field "type" wrong`,
    ],
    ['no type', '{"k":1}', `got no message type with field "type" wrong`],
    ['a type that is no text', '{"type":7}', 'got a type that is no text'],
    ['a type nested too deep to print', `{"type":${'['.repeat(1e6)}${']'.repeat(1e6)}}`, 'got a type that is no text'],
    ['a type inherited from Object', '{"type":"toString"}', 'got "toString" with field "type" wrong'],
    ['null', 'null', 'expected object, received null'],
    ['a list', '[{"type":"heartbeat"}]', 'expected object, received array'],
    ['a number', '3', 'expected object, received number'],
    ['nothing', '', `expected JSON from ${from}, got ""`],
    ['half a message', '{"type":"heart', `expected JSON from ${from}, got "{\\"type\\":\\"heart"`],
    ['a page', '<!doctype html>', `expected JSON from ${from}, got "<!doctype html>"`],
    ['two messages', '{"type":"leave"}{"type":"leave"}', `expected JSON from ${from}`],
  ])('%s: refused', (_, text, refusal) => {
    expect(refusalOf(decode, text)).toContain(refusal);
  });

  it('lists the known types where one is unknown', () => {
    const refusal = refusalOf(decode, '{"type":"teleport"}');
    for (const type of types) expect(refusal).toContain(`'${type}'`);
  });

  it('refuses what is too long, counted in bytes, before reading it', () => {
    const bytes = (text: string): string => refusalOf(decode, text);
    const limit = LIMITS.controlMessageBytesMax;
    expect(bytes(' '.repeat(limit))).toContain('expected JSON');
    expect(bytes(' '.repeat(limit + 1))).toContain(`at most ${limit} bytes, got ${limit + 1}`);
    expect(bytes('\u20ac'.repeat(limit / 2))).toContain(`at most ${limit} bytes, got ${1.5 * limit}`);
  });

  it('says what is wrong in one short line of plain text, whatever came', () => {
    const long = 'x'.repeat(100_000);
    const controls = '\u001b[2J\r\n\u0000\u202e\u20ac'.repeat(20);
    for (const foreign of [long, controls]) {
      for (const text of [
        foreign,
        JSON.stringify({ type: foreign }),
        JSON.stringify({ type: types[0], [foreign]: 1 }),
      ]) {
        const refusal = refusalOf(decode, text);
        expect(refusal).toMatch(/^[\x20-\x7e]+$/);
        expect(refusal.length).toBeLessThan(1000);
      }
    }
    const refusal = refusalOf(decodeWorkerMessage, JSON.stringify({ type: 'log', values: { [controls]: 'x' } }));
    expect(refusal).toMatch(/^[\x20-\x7e]+$/);
  });
});

describe('values out of range', () => {
  const byType = (type: string): Json => {
    const found = [...fromWorker, ...fromController].find((message) => message.type === type);
    expect(found, `an example of ${type}`).toBeDefined();
    return found as unknown as Json;
  };
  const tooMany = LIMITS.workersMax + 1;

  it.each<[string, string, unknown]>([
    ['ready', 'k', -1],
    ['ready', 'k', 1.5],
    ['ready', 'k', 2 ** 32],
    ['ready', 'samples', 2 ** 53],
    ['ready', 'computeMs', -0.1],
    ['ready', 'finite', 1],
    ['ready', 'loss', 'NaN'],
    ['hello', 'role', 'spectator'],
    ['hello', 'token', 'x'.repeat(LIMITS.textCharsMax + 1)],
    ['join', 'worker', LIMITS.workersMax],
    ['join', 'exchangeLength', LIMITS.parametersMax + 1],
    ['join', 'stateLength', LIMITS.parametersMax + 1],
    ['join', 'address.host', ''],
    ['join', 'address.host', 'a b'],
    ['join', 'address.host', 'x'.repeat(LIMITS.hostCharsMax + 1)],
    ['join', 'address.port', 0],
    ['join', 'address.port', 65_536],
    ['join', 'layout', repeated(LIMITS.tensorsMax + 1, layout[1])],
    ['join', 'layout.0.shape', repeated(LIMITS.dimensionsMax + 1, 1)],
    ['join', 'layout.0.shape.0', -1],
    ['join', 'layout.0.shape.0', 2 ** 31],
    ['join', 'layout.0.name', 'x'.repeat(LIMITS.textCharsMax + 1)],
    ['done', 'group', 2 ** 53],
    ['done', 'group', -1],
    ['evaluated', 'accuracy', 1.01],
    ['log', 'values', { ['x'.repeat(LIMITS.keyCharsMax + 1)]: 1 }],
    ['joined', 'incarnation', 2 ** 32],
    ['group', 'members', []],
    ['group', 'members', repeated(tooMany, member)],
    ['group', 'members.0.weight', 1.5],
    ['group', 'members.0.weight', -0.1],
    ['group', 'kind', 'last'],
    ['lease', 'lease.count', 0],
    ['welcome', 'heartbeatMs', 0],
    ['welcome', 'heartbeatMs', LIMITS.heartbeatMsMax + 1],
    ['evaluate', 'stateLength', LIMITS.parametersMax + 1],
    ['evaluate', 'peers', repeated(tooMany, { worker: 0, incarnation: 1, address })],
  ])('%s with a wrong %s (case %$)', (type, name, value) => {
    const decode = fromWorker.some((message) => message.type === type) ? decodeWorkerMessage : decodeControllerMessage;
    const path = name.split('.').map((key) => (/^\d+$/.test(key) ? Number(key) : key));
    expect(refusalOf(decode, changed(byType(type), path, value))).toContain(`got "${type}" with field "${name}`);
  });

  it('are not the greatest ones that are allowed', () => {
    const ready = { ...byType('ready'), k: 2 ** 32 - 1, loss: null };
    expect(decodeWorkerMessage(JSON.stringify(ready))).toEqual(ready);
    const shape = repeated(LIMITS.dimensionsMax, LIMITS.parametersMax);
    const join = {
      ...byType('join'),
      layout: [{ name: '', shape }],
      exchangeLength: LIMITS.parametersMax,
      worker: null,
    };
    expect(decodeWorkerMessage(JSON.stringify(join))).toEqual(join);
    const many = {
      ...byType('group'),
      members: repeated(LIMITS.workersMax, { ...member, address: { ...address, host: 'h'.repeat(255) } }),
    };
    expect(decodeControllerMessage(encodeControl(many as unknown as ControllerMessage))).toEqual(many);
  });
});

describe('encodeControl', () => {
  it('carries values that JSON has not as null, so that logging a NaN does not end the connection', () => {
    const text = encodeControl({ type: 'log', values: { loss: Number.NaN, rate: Number.POSITIVE_INFINITY, ok: 1 } });
    expect(JSON.parse(text)).toEqual({ type: 'log', values: { loss: null, rate: null, ok: 1 } });
    expect(decodeWorkerMessage(text)).toEqual({ type: 'log', values: { loss: Number.NaN, rate: Number.NaN, ok: 1 } });
  });

  it('cuts a reason that the other end would refuse as too long', () => {
    const long = 'r'.repeat(LIMITS.textCharsMax + 1);
    const short = `${'r'.repeat(LIMITS.textCharsMax - 3)}...`;
    expect(decodeWorkerMessage(encodeControl({ type: 'aborted', group, reason: long }))).toHaveProperty(
      'reason',
      short,
    );
    const refused = encodeControl({ type: 'refused', code: 'bad-layout', message: long });
    expect(decodeControllerMessage(refused)).toHaveProperty('message', short);
    const fits = 'r'.repeat(LIMITS.textCharsMax);
    expect(decodeControllerMessage(encodeControl({ type: 'finish', reason: fits }))).toHaveProperty('reason', fits);
  });

  it('refuses to send what is longer than a control message may be', () => {
    const config = { note: 'n'.repeat(LIMITS.controlMessageBytesMax) };
    const welcome = { ...fromController[0], config } as ControllerMessage;
    expect(() => encodeControl(welcome)).toThrow(
      /^expected to send "welcome" in a control message of at most 4194304 bytes, got 4194\d+$/,
    );
  });
});
