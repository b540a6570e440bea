/**
 * Parsers of option values: each throws `bad-option` with what was expected and what came.
 */
import { PreduceError } from '../base/errors.js';
import { unknownNameMessage } from '../base/nearest.js';
import { parseDurationMs } from '../base/units.js';

export function wholeNumber(flag: string): (text: string) => number {
  return (text) => {
    const value = text.trim() === '' ? Number.NaN : Number(text);
    if (!Number.isSafeInteger(value)) {
      throw new PreduceError('bad-option', `${flag}: expected a whole number, got "${text}"`);
    }
    return value;
  };
}

export function realNumber(flag: string): (text: string) => number {
  return (text) => {
    const value = text.trim() === '' ? Number.NaN : Number(text);
    if (!Number.isFinite(value)) throw new PreduceError('bad-option', `${flag}: expected a number, got "${text}"`);
    return value;
  };
}

export function duration(flag: string): (text: string) => number {
  return (text) => {
    try {
      return parseDurationMs(text);
    } catch (error) {
      throw new PreduceError('bad-option', `${flag}: ${(error as Error).message}`);
    }
  };
}

export function oneOf<T extends string>(flag: string, known: readonly T[]): (text: string) => T {
  return (text) => {
    const found = known.find((name) => name === text);
    if (found === undefined) throw new PreduceError('bad-option', unknownNameMessage(`value of ${flag}`, text, known));
    return found;
  };
}

/** For an option that may be repeated. */
export function collect(text: string, previous: readonly string[] | undefined): readonly string[] {
  return [...(previous ?? []), text];
}
