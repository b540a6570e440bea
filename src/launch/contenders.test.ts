import { describe, expect, it } from 'vitest';
import { type Contender, parseContender, parseContenders } from './contenders.js';
import { STRATEGY_NAMES } from '../core/strategies/strategies.js';

describe('parseContender', () => {
  it.each<[string, Contender]>([
    ['all-reduce', { label: 'all-reduce', options: { strategy: 'all-reduce' } }],
    [
      'partial-reduce',
      { label: 'partial-reduce:dynamic', options: { strategy: 'partial-reduce', weights: 'dynamic' } },
    ],
    [
      'partial-reduce:constant',
      { label: 'partial-reduce:constant', options: { strategy: 'partial-reduce', weights: 'constant' } },
    ],
    ['eager-reduce', { label: 'eager-reduce:majority', options: { strategy: 'eager-reduce', eager: 'majority' } }],
    ['eager-reduce:solo', { label: 'eager-reduce:solo', options: { strategy: 'eager-reduce', eager: 'solo' } }],
    [' ps-ssp ', { label: 'ps-ssp', options: { strategy: 'ps-ssp' } }],
  ])('of "%s"', (text, expected) => {
    expect(parseContender(text)).toEqual(expected);
  });

  it('takes the variant that options ask for where none is named', () => {
    const defaults = { weights: 'constant', eager: 'solo' } as const;
    expect(parseContender('partial-reduce', { defaults }).label).toBe('partial-reduce:constant');
    expect(parseContender('partial-reduce:dynamic', { defaults }).label).toBe('partial-reduce:dynamic');
    expect(parseContender('eager-reduce', { defaults }).label).toBe('eager-reduce:solo');
  });

  it.each([
    ['all-redcue', /unknown strategy "all-redcue" \(did you mean all-reduce\?\)/],
    ['', /unknown strategy ""/],
    ['all-reduce:constant', /--strategies: expected all-reduce, got "all-reduce:constant"/],
    ['partial-reduce:solo', /expected partial-reduce, partial-reduce:dynamic, partial-reduce:constant, got/],
    ['partial-reduce:', /got "partial-reduce:"/],
    ['eager-reduce:solo:solo', /expected eager-reduce, eager-reduce:majority, eager-reduce:solo, got/],
  ])('refuses "%s"', (text, message) => {
    expect(() => parseContender(text)).toThrow(message);
  });
});

describe('parseContenders', () => {
  it('knows all strategies in all variants by "all", in directories of their own', () => {
    const labels = parseContenders(['all']).map(({ label }) => label);
    expect(labels).toEqual(expect.arrayContaining(['partial-reduce:dynamic', 'partial-reduce:constant', 'all-reduce']));
    expect(labels).toEqual(
      expect.arrayContaining(['eager-reduce:majority', 'eager-reduce:solo', 'ps-hete', 'ad-psgd']),
    );
    expect(labels).toHaveLength(STRATEGY_NAMES.length + 2);
    expect(new Set(labels.map((label) => label.replace(':', '-'))).size).toBe(labels.length);
  });

  it('knows of all only those that can be run', () => {
    const labels = parseContenders(['all'], { known: ['all-reduce', 'partial-reduce'] }).map(({ label }) => label);
    expect(labels).toEqual(['all-reduce', 'partial-reduce:dynamic', 'partial-reduce:constant']);
    expect(() => parseContenders(['ps-asp'], { known: ['all-reduce'] })).toThrow(/unknown strategy "ps-asp"/);
  });

  it.each([[['all-reduce', 'all-reduce']], [['partial-reduce', 'partial-reduce:dynamic']], [['all', 'ps-asp']]])(
    'refuses %j, where one is named twice',
    (texts) => {
      expect(() => parseContenders(texts)).toThrow(/--strategies: each can be named once/);
    },
  );
});
