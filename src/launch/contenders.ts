/**
 * What `--strategies` names: strategies, some in variants (`partial-reduce:constant`, `eager-reduce:solo`), or `all` of them.
 */
import { PreduceError } from '../base/errors.js';
import { unknownNameMessage } from '../base/nearest.js';
import { EAGER_RULES, type StrategyName } from '../core/config.js';
import { STRATEGY_NAMES } from '../core/strategies/strategies.js';
import type { RunOptions } from './run-options.js';

type ContenderOptions = Pick<RunOptions, 'strategy' | 'weights' | 'eager'>;

/** One row of a comparison. */
export interface Contender {
  readonly label: string;
  readonly options: ContenderOptions;
}

export interface ContenderChoice {
  /** Strategies that can be run here; default: every one. */
  readonly known?: readonly StrategyName[];
  /** What a strategy is in whose name no variant stands; default: the first of its variants. */
  readonly defaults?: Pick<ContenderOptions, 'weights' | 'eager'>;
}

interface Variants {
  readonly option: 'weights' | 'eager';
  readonly names: readonly string[];
}

const VARIANTS: Partial<Record<StrategyName, Variants>> = {
  'partial-reduce': { option: 'weights', names: ['dynamic', 'constant'] },
  'eager-reduce': { option: 'eager', names: EAGER_RULES },
};

/** Stands for every strategy in every variant. */
const ALL = 'all';

/** What is compared where nothing is named. */
export const DEFAULT_STRATEGIES: readonly string[] = ['partial-reduce', 'partial-reduce:constant', 'all-reduce'];

/** Parses `NAME` or `NAME:VARIANT`. Throws `bad-option`. */
export function parseContender(
  text: string,
  { known = STRATEGY_NAMES, defaults = {} }: ContenderChoice = {},
): Contender {
  const [name = '', ...rest] = text.trim().split(':');
  const strategy = known.find((each) => each === name);
  if (strategy === undefined) {
    throw new PreduceError('bad-option', unknownNameMessage('strategy', name, [...known, ALL]));
  }
  const variants = VARIANTS[strategy];
  const variant = rest.length === 0 ? undefined : rest.join(':');
  if (variants === undefined && variant === undefined) return { label: strategy, options: { strategy } };
  const chosen = variant ?? (variants === undefined ? undefined : (defaults[variants.option] ?? variants.names[0]));
  if (variants === undefined || chosen === undefined || !variants.names.includes(chosen)) {
    const expected = [strategy, ...(variants?.names ?? []).map((each) => `${strategy}:${each}`)].join(', ');
    throw new PreduceError('bad-option', `--strategies: expected ${expected}, got "${text.trim()}"`);
  }
  return { label: `${strategy}:${chosen}`, options: { strategy, [variants.option]: chosen } };
}

/** Parses a list; `all` in it stands for every strategy in every variant. Throws `bad-option`, also where one is named twice. */
export function parseContenders(texts: readonly string[], choice: ContenderChoice = {}): readonly Contender[] {
  const contenders = texts.flatMap((text) =>
    text.trim() === ALL ? everyContender(choice) : parseContender(text, choice),
  );
  if (new Set(contenders.map(({ label }) => label)).size < contenders.length) {
    throw new PreduceError('bad-option', `--strategies: each can be named once, got ${texts.join(',')}`);
  }
  return contenders;
}

function everyContender(choice: ContenderChoice): readonly Contender[] {
  return (choice.known ?? STRATEGY_NAMES).flatMap((strategy) =>
    (VARIANTS[strategy]?.names ?? ['']).map((name) =>
      parseContender(name === '' ? strategy : `${strategy}:${name}`, choice),
    ),
  );
}
