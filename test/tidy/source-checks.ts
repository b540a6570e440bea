/**
 * Checks of one source file by itself. Each returns what is wrong, in words that begin with the path; none reads a file.
 */
import { isBuiltin } from 'node:module';
import { blankProse } from './blank.js';
import { importsOf, roomOf, type SourceFile } from './imports.js';

export const LINES_MAX = 600;

/** Rooms whose code a seed must reproduce bit for bit. */
const PURE_ROOMS: readonly (string | null)[] = ['core', 'wire', 'collective/plan', 'sim'];

/** Engine workloads in virtual time: the engine runs in a thread, and its gradients are as deterministic as the engine is. */
const ENGINE_IN_SIM = 'src/sim/workload/';

const IMPURE = /\b(?:Date|performance|setTimeout|setInterval|setImmediate|process|Math\s*\.\s*random)\b/g;

function lineOf(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}

/** Every match in the code (comments and literals left out), as `path:line: word, why`. */
function findWords({ path, text }: SourceFile, words: RegExp, why: string): readonly string[] {
  const code = blankProse(text);
  return [...code.matchAll(words)].map((match) => `${path}:${lineOf(code, match.index)}: ${match[0].trim()}, ${why}`);
}

export function lengthFaults({ path, text }: SourceFile): readonly string[] {
  const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
  return lines > LINES_MAX ? [`${path}: ${lines} lines, at most ${LINES_MAX} are allowed`] : [];
}

/** A file begins with a doc comment of at least one word; a line for the shell may come first. */
export function headerFaults({ path, text }: SourceFile): readonly string[] {
  const header = /^(?:#![^\n]*\n)?\/\*\*(.*?)\*\//s.exec(text)?.[1] ?? '';
  return /\w{2}/.test(header) ? [] : [`${path}: begins without a header comment`];
}

export function anyFaults(file: SourceFile): readonly string[] {
  // A word that stands alone in code is the type; `Promise.any(` and a property `any:` are not.
  return findWords(file, /(?<![.\w$])any\b(?!\s*[(?:])/g, 'use unknown');
}

export function defaultExportFaults(file: SourceFile): readonly string[] {
  return findWords(file, /\bexport\s+default\b|\bas\s+default\b/g, 'export by name');
}

/** Clocks, timers, chance and the system, in a room that may know none of them. */
export function pureFaults(file: SourceFile): readonly string[] {
  if (!PURE_ROOMS.includes(roomOf(file.path)) || file.path.startsWith(ENGINE_IN_SIM)) return [];
  const modules = importsOf(file.text).filter((specifier) => isBuiltin(specifier) || specifier === 'ws');
  return [
    ...modules.map((specifier) => `${file.path}: imports ${specifier} into a pure room`),
    ...findWords(file, IMPURE, 'in a pure room'),
  ];
}
