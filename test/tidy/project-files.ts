/**
 * The files of the project as they lie in the working directory, what is generated or installed left out.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SourceFile } from './imports.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SKIPPED: ReadonlySet<string> = new Set(['node_modules', 'dist', 'runs', 'coverage']);

function walk(folder: string): readonly string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.name.startsWith('.') || SKIPPED.has(entry.name)) return [];
    return entry.isDirectory() ? walk(path) : entry.isFile() ? [path] : [];
  });
}

/** Whether a path from the repository's root is there. */
export function projectHas(path: string): boolean {
  return existsSync(join(ROOT, path));
}

export function readProjectFile(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** Every file whose path matches, with its text, in sorted order. */
export function projectFiles(pattern: RegExp): readonly SourceFile[] {
  return walk('')
    .filter((path) => pattern.test(path))
    .sort()
    .map((path) => ({ path, text: readProjectFile(path) }));
}
