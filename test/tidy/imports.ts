/**
 * The graph of imports between rooms, read from the import lines themselves: a check of the map that shares nothing with
 * the linter's rules, where a pattern that is written wrong passes in silence.
 */
import { posix } from 'node:path';
import { blankProse } from './blank.js';

/** A source file: its path from the repository's root, with slashes, and its text. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

const NETWORKED = ['base', 'core', 'wire', 'collective/plan', 'observe'] as const;
const BELOW_ENDS = [...NETWORKED, 'transport', 'collective'] as const;
const BELOW_TRAINING = [...BELOW_ENDS, 'controller', 'worker', 'engine', 'models', 'data'] as const;

/** What each room may import beside itself. `wire` holds the layout of a replica, which the engine describes too. */
export const ROOMS: Readonly<Record<string, readonly string[]>> = {
  base: [],
  core: ['base'],
  wire: ['base'],
  'collective/plan': ['base'],
  observe: ['base', 'core', 'wire', 'collective/plan'],
  transport: NETWORKED,
  collective: [...NETWORKED, 'transport'],
  controller: BELOW_ENDS,
  worker: BELOW_ENDS,
  engine: ['base', 'wire'],
  models: ['base', 'engine'],
  data: ['base'],
  training: BELOW_TRAINING,
  sim: [...BELOW_TRAINING.filter((room) => room !== 'transport'), 'training'],
  report: ['base', 'observe'],
  security: ['base'],
  dashboard: ['base', 'core', 'wire', 'observe'],
  launch: [...BELOW_TRAINING, 'training', 'report'],
  cli: [...BELOW_TRAINING, 'training', 'sim', 'report', 'security', 'dashboard', 'launch'],
  fuzz: [...BELOW_TRAINING, 'training', 'sim', 'cli'],
};

/** Files that gather what is public: they may import every room, and no room them. */
const SURFACES: readonly string[] = ['src/index.ts', 'src/client.ts'];

/** The room of a file; null outside of src. A file in no known room is in the room of its first folder. */
export function roomOf(path: string): string | null {
  const [src, first = '', second = ''] = path.split('/');
  if (src !== 'src' || !path.includes('/')) return null;
  const inner = `${first}/${second}`;
  return inner in ROOMS ? inner : first;
}

/** Every module that a text imports or re-exports, types too, `import()` too; in their order. */
export function importsOf(text: string): readonly string[] {
  const code = blankProse(text, { keepStrings: true });
  const found = code.matchAll(
    /^\s*(?:import|export)\b(?:[^;'"]*?\bfrom)?\s*['"]([^'"]+)['"]|\bimport\s*\(\s*['"]([^'"]+)['"]/gm,
  );
  return [...found].map(([, line, call]) => line ?? call ?? '');
}

/** The source file that a relative import means. */
function targetOf(path: string, specifier: string): string {
  return posix.join(posix.dirname(path), specifier).replace(/\.js$/, '.ts');
}

/** Imports that go up, to the side, or to a file that is not there. */
export function roomFaults(files: readonly SourceFile[]): readonly string[] {
  const known = new Set(files.map((file) => file.path));
  return files.flatMap(({ path, text }) => {
    const room = roomOf(path);
    if (room === null || SURFACES.includes(path)) return [];
    const allowed = ROOMS[room];
    if (allowed === undefined) return [`${path}: "${room}" is not a room of the map`];
    return importsOf(text)
      .filter((specifier) => specifier.startsWith('.'))
      .flatMap((specifier) => {
        const target = targetOf(path, specifier);
        const other = roomOf(target);
        if (!known.has(target)) return [`${path}: imports ${target}, which is not there`];
        if (other === null || SURFACES.includes(target)) return [`${path}: imports ${target}, which is not of a room`];
        return other === room || allowed.includes(other) ? [] : [`${path}: ${room} imports ${other} (${target})`];
      });
  });
}

/** Files and packages that `entry` reaches, however far, and must not: those whose room or name is in `forbidden`. */
export function reachFaults(
  files: readonly SourceFile[],
  entry: string,
  forbidden: readonly string[],
): readonly string[] {
  const texts = new Map(files.map((file) => [file.path, file.text]));
  const seen = new Set([entry]);
  const faults: string[] = [];
  for (const path of seen) {
    const text = texts.get(path);
    if (text === undefined) faults.push(`${entry} reaches ${path}, which is not there`);
    for (const specifier of importsOf(text ?? '')) {
      const target = specifier.startsWith('.') ? targetOf(path, specifier) : specifier;
      if (forbidden.includes(roomOf(target) ?? target)) faults.push(`${entry} reaches ${target} through ${path}`);
      else if (specifier.startsWith('.')) seen.add(target);
    }
  }
  return faults;
}
