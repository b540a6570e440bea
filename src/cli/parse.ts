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

/** A TCP port; 0 stands for any free one. */
export function port(flag: string): (text: string) => number {
  return (text) => {
    const value = wholeNumber(flag)(text);
    if (value < 0 || value > 65_535) {
      throw new PreduceError('bad-option', `${flag}: expected a port from 0 to 65535, got ${value}`);
    }
    return value;
  };
}

/** A worker's number. */
export function workerNumber(flag: string): (text: string) => number {
  return (text) => {
    const value = wholeNumber(flag)(text);
    if (value < 0) throw new PreduceError('bad-option', `${flag}: expected a number from 0, got ${value}`);
    return value;
  };
}

/** A path; an empty one (an unset variable of a script) is not taken for the current directory. */
export function path(flag: string): (text: string) => string {
  return (text) => {
    if (text === '') throw new PreduceError('bad-option', `${flag}: expected a path, got nothing`);
    return text;
  };
}

/** Address of a controller. */
export function controllerUrl(flag: string): (text: string) => string {
  return (text) => {
    if (!URL.canParse(text) || !['ws:', 'wss:'].includes(new URL(text).protocol)) {
      throw new PreduceError('bad-option', `${flag}: expected an address like ws://host:29400, got "${text}"`);
    }
    return text;
  };
}

/** A whole number, or `auto`. */
export function wholeNumberOrAuto(flag: string): (text: string) => number | 'auto' {
  return (text) => (text === 'auto' ? text : wholeNumber(flag)(text));
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

/** A time with its unit, or `never`. */
export function durationOrNever(flag: string): (text: string) => number | 'never' {
  return (text) => (text === 'never' ? text : duration(flag)(text));
}

/** Samples, or a time with its unit. */
export function samplesOrTime(
  flag: string,
): (text: string) => { readonly samples: number } | { readonly milliseconds: number } {
  return (text) => {
    if (/^\d+$/.test(text.trim())) return { samples: wholeNumber(flag)(text) };
    if (!/[a-z]\s*$/i.test(text)) {
      throw new PreduceError('bad-option', `${flag}: expected samples like 50000 or a time like 5m, got "${text}"`);
    }
    return { milliseconds: duration(flag)(text) };
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
