/**
 * Durations and sizes as people type and read them: `250ms`, `5s`, `2m`, `45MB`.
 */
import { PreduceError } from './errors.js';

const DURATION_UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const SIZE_UNITS_BYTES: Readonly<Record<string, number>> = { B: 1, kB: 1e3, KB: 1e3, MB: 1e6, GB: 1e9 };

function parseQuantity(text: string, units: Readonly<Record<string, number>>, fallbackUnit: string): number | null {
  const match = /^(\d+(?:\.\d+)?|\.\d+)\s*([a-zA-Z]*)$/.exec(text.trim());
  if (match === null) return null;
  const factor = units[match[2] === '' ? fallbackUnit : (match[2] as string)];
  return factor === undefined ? null : Number(match[1]) * factor;
}

/** Milliseconds of `5s`, `250ms`, `2m`, `1h` or a bare number of seconds. Throws `bad-option`. */
export function parseDurationMs(text: string): number {
  const value = parseQuantity(text, DURATION_UNITS_MS, 's');
  if (value === null) {
    throw new PreduceError('bad-option', `expected a duration like 250ms, 5s or 2m, got "${text}"`);
  }
  return value;
}

/** Bytes of `45MB`, `64kB`, `1GB` (decimal) or a bare number of bytes. Throws `bad-option`. */
export function parseBytes(text: string): number {
  const value = parseQuantity(text, SIZE_UNITS_BYTES, 'B');
  if (value === null) throw new PreduceError('bad-option', `expected a size like 64kB or 45MB, got "${text}"`);
  return Math.round(value);
}

/** `0.42 s`, `12.3 s`, `3 min 20 s`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 100) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

/** `512 B`, `1.2 MB`, `3.4 GB` (decimal). */
export function formatBytes(bytes: number): string {
  if (bytes < 1e3) return `${bytes} B`;
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(1)} kB`;
  if (bytes < 1e9) return `${(bytes / 1e6).toFixed(1)} MB`;
  return `${(bytes / 1e9).toFixed(2)} GB`;
}
