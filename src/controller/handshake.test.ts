import { describe, expect, it } from 'vitest';
import { workerId } from '../base/ids.js';
import { PROTOCOL_VERSION } from '../wire/limits.js';
import type { WorkerMessage } from '../wire/messages.js';
import { checkConnectionCount, checkHello, checkJoin, checkPlace, type Refusal, replicaShape } from './handshake.js';

type Hello = Extract<WorkerMessage, { type: 'hello' }>;
type Join = Extract<WorkerMessage, { type: 'join' }>;

const hello: Hello = { type: 'hello', version: PROTOCOL_VERSION, role: 'worker', token: null };

/** What the text of no refusal matches. */
const NONE = /^$/;

function textOf(refusal: Refusal | null): string {
  return refusal === null ? '' : `${refusal.code}: ${refusal.message}`;
}

const join: Join = {
  type: 'join',
  layout: [{ name: 'w', shape: [2, 3] }],
  exchangeLength: 6,
  stateLength: 6,
  address: { host: '127.0.0.1', port: 1 },
  worker: null,
  pid: 1,
  hostname: 'here',
};

describe('checkHello', () => {
  it.each([
    ['the same version', PROTOCOL_VERSION, null],
    ['a later minor version', { major: PROTOCOL_VERSION.major, minor: 99 }, null],
    ['a later major version', { major: PROTOCOL_VERSION.major + 1, minor: 0 }, 'version-mismatch'],
    ['an earlier major version', { major: PROTOCOL_VERSION.major - 1, minor: 0 }, 'version-mismatch'],
  ])('judges %s', (_name, version, code) => {
    expect(checkHello({ ...hello, version }, null)?.code ?? null).toBe(code);
  });

  it('names both versions', () => {
    const version = { major: 7, minor: 3 };
    expect(checkHello({ ...hello, version }, null)?.message).toMatch(/protocol 1\.\d+, this worker 7\.3: install/);
  });

  it.each([
    ['no token where none is asked for', null, null, NONE],
    ['a token where none is asked for', null, 'abc', NONE],
    ['the right token', 'abc', 'abc', NONE],
    ['no token', 'abc', null, /^refused: .* got none: pass/],
    ['an empty token', 'abc', '', /^refused: .* got another one: pass/],
    ['a wrong token of the same length', 'abc', 'abd', /^refused: .* got another one: pass/],
    ['a beginning of the token', 'abc', 'ab', /^refused: .* got another one: pass/],
    ['more than the token', 'abc', 'abcd', /^refused: .* got another one: pass/],
    ['a token against an empty one', '', 'abc', /^refused: .* got another one: pass/],
    ['another case', 'abc', 'ABC', /^refused: .* got another one: pass/],
  ])('judges %s', (_name, expected, token, says) => {
    expect(textOf(checkHello({ ...hello, token }, expected))).toMatch(says);
  });

  it('does not tell the token', () => {
    expect(checkHello({ ...hello, token: 'guess-1' }, 'secret-2')?.message).not.toMatch(/guess-1|secret-2/);
  });
});

describe('checkJoin', () => {
  const expected = replicaShape(join);

  it.each<[string, Partial<Join>, RegExp]>([
    ['the same layout', {}, NONE],
    [
      'another name',
      { layout: [{ name: 'v', shape: [2, 3] }] },
      /tensor 0 is "v" \[2, 3\] where the run has "w" \[2, 3\]/,
    ],
    [
      'a transposed shape',
      { layout: [{ name: 'w', shape: [3, 2] }] },
      /tensor 0 is "w" \[3, 2\] where .* "w" \[2, 3\]/,
    ],
    ['a tensor too many', { layout: [...join.layout, { name: 'b', shape: [0] }] }, /tensor 1 is "b" \[0\].* no tensor/],
    ['a tensor less', { layout: [], exchangeLength: 6 }, /tensor 0 is no tensor where the run has "w" \[2, 3\]/],
    [
      'more exchanged',
      { exchangeLength: 7, stateLength: 7 },
      /exchanges 6 values \(state 6\), this worker 7 \(state 7\)/,
    ],
    ['more state', { stateLength: 12 }, /exchanges 6 values \(state 6\), this worker 6 \(state 12\)/],
  ])('judges %s', (_name, changes, says) => {
    expect(textOf(checkJoin({ ...join, ...changes }, expected))).toMatch(says);
  });

  it.each<[string, Partial<Join>, RegExp]>([
    ['lengths that fit', { exchangeLength: 8, stateLength: 20 }, NONE],
    ['fewer values exchanged than the layout has', { exchangeLength: 5 }, /exchangeLength >= 6 .* got 5 and 6/],
    ['a state shorter than what is exchanged', { stateLength: 5 }, /stateLength >= exchangeLength, got 6 and 5/],
  ])('judges the first worker with %s', (_name, changes, says) => {
    expect(textOf(checkJoin({ ...join, ...changes }, null))).toMatch(says);
  });
});

describe('limits', () => {
  const tooMany = /^refused: expected at most 4096 workers in a run, got one more: start it with the number/;

  it.each([
    [0, null, NONE],
    [4095, null, NONE],
    [4096, null, tooMany],
    [5000, null, tooMany],
    // A worker that takes the place of a dead one.
    [4096, workerId(17), NONE],
  ])('of numbers: %i given out, %s wanted', (numberCount, requested, says) => {
    expect(textOf(checkPlace(requested, numberCount))).toMatch(says);
  });

  it.each([
    [0, NONE],
    [4095, NONE],
    [4096, /^refused: expected at most 4096 connections that have not joined yet, got one more/],
  ])('of connections: %i wait', (waitingCount, says) => {
    expect(textOf(checkConnectionCount(waitingCount))).toMatch(says);
  });
});
