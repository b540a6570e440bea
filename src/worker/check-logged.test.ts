import { describe, expect, it } from 'vitest';
import { encodeControl, decodeWorkerMessage } from '../wire/control.js';
import { checkLogged } from './check-logged.js';

describe('checkLogged', () => {
  it.each<[string, Record<string, number>]>([
    ['nothing', {}],
    ['numbers', { loss: 0.5, step: 3 }],
    ['numbers that are not finite', { a: Number.NaN, b: Number.POSITIVE_INFINITY }],
    ['the longest name', { ['n'.repeat(256)]: 1 }],
    ['no name', { '': 1 }],
  ])('takes %s, as the controller does', (_name, values) => {
    expect(() => checkLogged(values)).not.toThrow();
    expect(decodeWorkerMessage(encodeControl({ type: 'log', values }))).toMatchObject({ type: 'log' });
  });

  it.each<[string, Record<string, unknown>, RegExp]>([
    ['a name too long', { ['n'.repeat(257)]: 1 }, /names of at most 256 characters, got 257: "n+/],
    ['a text', { loss: '0.5' }, /a number for "loss", got a string/],
    ['nothing under a name', { loss: undefined }, /a number for "loss", got a undefined/],
  ])('refuses %s', (_name, values, message) => {
    const log = (): void => checkLogged(values as Record<string, number>);
    expect(log).toThrow(expect.objectContaining({ code: 'bad-option', message: expect.stringMatching(message) }));
  });
});
